"""What is wrong with a query, in words for the person who wrote it: where, what, and what to do."""

import re

from gossamer.extract.vocabularies.relations import bundled

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_UNKNOWN_PREFIX = re.compile(r"([A-Za-z][\w.-]*|):[\w.-]*$")
LONGEST_EXCERPT = 40


def explained(query: str, trouble: str) -> str:
    """`trouble` is what the engine said; it names the place, and everything that could have stood there."""
    found = _PLACE.match(trouble)
    if found is None:
        return f"The query cannot be read: {trouble}"
    line, column, expected = int(found[1]), int(found[2]), found[3]
    lines = query.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    before, after = text[: column - 1], text[column - 1 :].strip()
    return f"The query cannot be read at line {line}, column {column}. {_reason(query, before, after, expected)}"


def _reason(query: str, before: str, after: str, expected: str) -> str:
    if "Prefix not found" in expected and (name := _UNKNOWN_PREFIX.search(before)):
        return _undeclared(name[1])
    if "variable that is unbound" in expected:
        return "With GROUP BY, SELECT may name only what is grouped by, or put it in COUNT(), SAMPLE() and the like."
    if "IRI parsing failed" in expected:
        return "What stands between < and > there is not a whole address: it needs a scheme, and no spaces."
    opened, closed = query.count("{"), query.count("}")
    if not after and opened > closed:
        return f"It ends too soon: {opened - closed} of its {{ are not closed."
    if after.startswith("}") or (not after and before.rstrip().endswith("}")):
        return "Something before the } is not whole: a fact to look for has three parts, subject, property and value."
    if not after:
        return "It ends too soon: something is missing there."
    excerpt = after if len(after) <= LONGEST_EXCERPT else after[:LONGEST_EXCERPT] + "…"
    return f"This cannot stand there, or something is missing before it: {excerpt}"


def _undeclared(prefix: str) -> str:
    namespace = bundled().expanded(prefix + ":") or "http://example.org/"
    return f"The prefix {prefix}: is not declared. Put this line first: PREFIX {prefix}: <{namespace}>"
