"""Results as CSV (RFC 4180). A cell that a spreadsheet would take for a formula is made a text (FAULTS W17)."""

from collections.abc import Iterable

from gossamer.base.clock import in_words
from gossamer.search.answer import Hit
from gossamer.web.cells import csv_line

COLUMNS = (
    "url", "title", "site", "language", "fetched_at", "types", "syntaxes", "facts", "copies", "linked_from", "score",
    "snippet",
)  # fmt: skip
HEAD = csv_line(COLUMNS)


def as_csv(hits: Iterable[Hit]) -> bytes:
    """Several types or syntaxes stand in one cell, a space between them: no IRI holds one."""
    return b"".join([HEAD, *[csv_line(cells(hit)) for hit in hits]])


def cut_line(rows: int, why: str) -> bytes:
    """The last line of a table that is not whole: no address, and why in the place of the title."""
    return csv_line(["", f"cut after {rows:,} results: {why}", *[""] * (len(COLUMNS) - 2)])


def cells(hit: Hit) -> list[str | int]:
    texts = (hit.url, hit.title, hit.site, hit.language, in_words(hit.fetched_at))
    numbers = (hit.fact_count, hit.copies, hit.linked_from)
    lists = (" ".join(hit.types), " ".join(hit.syntaxes))
    return [*texts, *lists, *numbers, f"{hit.score:.4f}", "".join(piece.text for piece in hit.snippet)]
