"""CSV (RFC 4180) that no spreadsheet mistakes for commands (FAULTS W17)."""

import csv
from collections.abc import Iterable
from io import StringIO

_COMMANDS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet would calculate; OWASP, CSV injection."""


def csv_line(cells: Iterable[object]) -> bytes:
    """One line. Texts come from the web: one that looks like a formula gets an apostrophe before it, which
    spreadsheets do not show. Our own numbers stay as they are."""
    line = StringIO()
    csv.writer(line).writerow([_harmless(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode("utf-8", "replace")


def _harmless(text: str) -> str:
    plain = text.replace("\0", "")
    return f"'{plain}" if plain.startswith(_COMMANDS) else plain
