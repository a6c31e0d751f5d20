"""Secrets in the URLs of services: references to environment variables and to files.

`https://spider:${WORDS_PASSWORD}@search.example/` takes the password from a variable, `${file:/run/secrets/words}` from
a file. References are replaced right before a connection is opened, so that settings, databases, logs and messages
hold no secret.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from gossamer.base.errors import ConfigError

REFERENCE = re.compile(r"\$\{(file:)?([^{}]+)\}")
LONGEST = 64 * 1024


def in_url(secret: str) -> str:
    """As a part of a URL."""
    return quote(secret, safe="")


def in_conninfo(secret: str) -> str:
    """As a value of a PostgreSQL connection string in its `name=value` form."""
    escaped = secret.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def revealed(text: str, variables: Mapping[str, str], quoted: Callable[[str], str] = in_url) -> str:
    """The text with its references replaced. Raises ConfigError naming a reference that leads nowhere."""

    def secret(reference: re.Match[str]) -> str:
        is_file, name = reference.groups()
        if not is_file:
            if (value := variables.get(name)) is None:
                raise ConfigError(f"the environment variable {name}, which holds a secret of {text}, is not set")
            return quoted(value)
        try:
            with Path(name).open("rb") as file:
                return quoted(file.read(LONGEST).decode().rstrip("\r\n"))
        except (OSError, UnicodeDecodeError) as trouble:
            why = trouble.strerror if isinstance(trouble, OSError) else "it is not UTF-8"
            raise ConfigError(f"the file {name}, which holds a secret of {text}, cannot be read: {why}") from None

    return REFERENCE.sub(secret, text)
