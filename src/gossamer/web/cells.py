"""CSV (RFC 4180) that no spreadsheet mistakes for commands (FAULTS W17)."""

import csv
from collections.abc import Iterable
from io import StringIO

from gossamer.values.spreadsheet import harmless


def csv_line(cells: Iterable[object]) -> bytes:
    """One line. Texts come from the web: one that looks like a formula gets an apostrophe before it, which
    spreadsheets do not show. Numbers stay as they are."""
    line = StringIO()
    csv.writer(line).writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode("utf-8", "replace")
