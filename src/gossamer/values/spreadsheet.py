"""What a spreadsheet would calculate, and how to keep it from doing so (OWASP, CSV injection; FAULTS W17, X15)."""

import csv
import re
from collections.abc import Iterable
from io import StringIO

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


def csv_line(cells: Iterable[object]) -> bytes:
    """One line. Texts come from the web: one that looks like a formula gets an apostrophe before it, which
    spreadsheets do not show. Numbers stay as they are."""
    line = StringIO()
    csv.writer(line).writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode("utf-8", "replace")
