"""The patterns of a robots.txt: one normal form for them and for addresses, and a match in linear time."""

import re

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^!#&-)+-;=?-Z_a-z~%]|%")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def matches(pattern: str, target: str) -> bool:
    """Whether the pattern matches from the start of the target; both in normal form.

    Each part between stars is looked for once, after the part before it: linear, whatever the pattern.
    """
    end = len(pattern) - (pattern[-1:] == "$")
    star = pattern.find("*", 0, end)
    if star < 0:
        return target == pattern[:end] if end < len(pattern) else target.startswith(pattern)
    if not target.startswith(pattern[:star]):
        return False
    at = star
    while (following := pattern.find("*", star + 1, end)) >= 0:
        part = pattern[star + 1 : following]
        found = target.find(part, at)
        if found < 0:
            return False
        at, star = found + len(part), following
    last = pattern[star + 1 : end]
    if end < len(pattern):
        return len(target) - len(last) >= at and target.endswith(last)
    return target.find(last, at) >= 0


def normal_pattern(pattern: str) -> str:
    """Stars stay what they are, and so does a `$` at the end; any other `$` is a plain character."""
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    parts = [normal_target(part) for part in pattern.split("*")]
    return "*".join(parts) + ("$" if anchored else "")


def normal_target(text: str) -> str:
    """RFC 9309, 2.2.2: escapes of unreserved characters undone, all others in capitals; what may not stand in an
    address escaped, and `*` and `$` too, which mean something else in a pattern."""
    return _ESCAPE.sub(_escaped, text) if _ESCAPE.search(text) else text


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] == "%" and len(found) == 3:
        character = chr(int(found[1:], 16))
        return character if character in _UNRESERVED else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "replace"))
