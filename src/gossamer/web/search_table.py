"""Results as CSV (RFC 4180). A cell that a spreadsheet would take for a formula is made a text (FAULTS W17)."""

import csv
import io
from collections.abc import Iterable

from gossamer.clock import in_words
from gossamer.search.answer import Hit

COLUMNS = (
    "url", "title", "site", "language", "fetched_at", "types", "syntaxes", "facts", "copies", "linked_from", "score",
    "snippet",
)  # fmt: skip
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(hits: Iterable[Hit]) -> str:
    """Several types or syntaxes stand in one cell, a space between them: no IRI holds one."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    table.writerows(map(cells, hits))
    return text.getvalue()


def cells(hit: Hit) -> list[str | int]:
    texts = (hit.url, hit.title, hit.site, hit.language, in_words(hit.fetched_at))
    numbers = (hit.fact_count, hit.copies, hit.linked_from)
    lists = (" ".join(hit.types), " ".join(hit.syntaxes))
    snippet = "".join(piece.text for piece in hit.snippet)
    return [*map(harmless, texts), *map(harmless, lists), *numbers, f"{hit.score:.4f}", harmless(snippet)]


def harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULAS) else cell
