"""SQL lives in `.sql` files next to the code that runs it; each statement has a name and a sentence.

-- first_due: The page of a lane that is visited next.
SELECT ...;
"""

import re
from importlib import resources

_NAMED = re.compile(r"^-- ([a-z][a-z_0-9]*): \S.*$")


def load(package: str, file: str = "statements.sql") -> dict[str, str]:
    """The statements of `package`'s SQL file by name. Raises ValueError for a file that breaks the form."""
    return parse((resources.files(package) / file).read_text("utf-8"))


def parse(text: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if named := _NAMED.match(line):
            if named[1] in found:
                raise ValueError(f"two statements are named {named[1]}")
            current = found[named[1]] = []
        elif line.strip() and not line.startswith("--"):
            if current is None:
                raise ValueError(f"a statement without a name: {line.strip()}")
            current.append(line)
    if empty := [name for name, lines in found.items() if not lines]:
        raise ValueError(f"names without a statement: {', '.join(empty)}")
    return {name: "\n".join(lines).rstrip("; \n") for name, lines in found.items()}
