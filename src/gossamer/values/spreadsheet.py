"""What a spreadsheet would calculate, and how to keep it from doing so (OWASP, CSV injection; FAULTS W17, X15)."""

import re

COMMANDS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How such a cell begins; the last four are the full-width forms, which some spreadsheets read alike."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?INF", re.ASCII)


def is_command(text: str) -> bool:
    """A number with a sign is none: -5 stays -5."""
    return text.startswith(COMMANDS) and _NUMBER.fullmatch(text) is None


def harmless(text: str) -> str:
    """With an apostrophe before it, which spreadsheets do not show. NUL is left out: many programs end a text there."""
    plain = text.replace("\0", "")
    return f"'{plain}" if is_command(plain) else plain
