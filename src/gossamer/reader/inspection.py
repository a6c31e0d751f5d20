"""What there is to say to the author of a page: its entities, and the errors in its markup."""

from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.extract.entities import Thing
from gossamer.extract.rdfa.reader import ROLE as ROLE_TERM
from gossamer.reader.extraction import Remark, extract

ROLE = ROLE_TERM[1:-1]

# What a flag means to an author, where no notice says it better: its level and a sentence.
FLAGS_MEAN = {
    "not-markup": ("error", "This is not markup; if it is, say so with --type."),
    "charset-conflict": ("warning", "Two declarations of the charset disagree; the stronger one was used."),
    "base-unusable": ("error", "The URL of the page, or its base, cannot be used in facts."),
    "unparsable": ("error", "The page cannot be parsed at all."),
    "jsonld-broken": ("error", "A JSON-LD script is invalid; the readable parts were used."),
    "jsonld-repaired": (
        "warning",
        "A JSON-LD script is not valid JSON; it was repaired, which other readers may not do.",
    ),
    "jsonld-unknown-context": (
        "warning",
        "A JSON-LD script names a context that is not available here; see --contexts.",
    ),
    "jsonld-too-large": ("error", "A JSON-LD script is too large to be read."),
    "jsonld-too-deep": ("error", "A JSON-LD script is nested too deeply to be read."),
    "jsonld-too-complex": ("error", "A JSON-LD script has too many contexts to be read."),
    "microdata-loop": ("warning", "An item is inside itself by way of itemref; the cycle was cut."),
    "microdata-too-deep": ("warning", "Items are nested too deeply; the inner ones were skipped."),
    "literal-too-long": ("warning", "A text was too long to be a fact, and was skipped."),
    "name-too-long": ("warning", "A name or a language is too long; facts with it were skipped."),
    "too-many-prefixes": ("warning", "Too many prefixes are declared; names with the excess ones were skipped."),
    "too-many-facts": ("warning", "The page has more facts than are read from one page."),
    "truncated": ("warning", "The page is too large; its end was not read."),
    "too-deep": ("warning", "Elements are nested so deeply that some were flattened."),
    "not-well-formed": ("error", "The page says it is XML but is not well-formed; it was read as HTML."),
}

SAID_BY = {"not-well-formed": "document-error"}
"""Flags that have a notice of another name."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What there is to say about one page."""

    name: str
    address: str
    facts: int
    facts_by_syntax: dict[str, int]
    items: list[Thing]
    notices: tuple[Remark, ...]
    unread: str = ""
    """Why it could not be read."""
    charset: str = ""
    charset_from: str = ""
    """The encoding it was read in, and what told it."""

    def count(self, level: str) -> int:
        return sum(1 for notice in self.notices if notice.level == level)


def inspected(name: str, body: bytes, address: str, media_type: str) -> Inspected:
    found = extract(body, address, media_type)
    notices = (*found.notices, *unsaid(found.flags, found.notices))
    things = [thing for thing in found.items() if not is_furniture(thing)]
    return Inspected(
        name,
        found.address,
        len(found),
        dict(found.facts_by_syntax),
        things,
        in_order(notices),
        charset=found.charset,
        charset_from=found.charset_from,
    )


def is_furniture(thing: Thing) -> bool:
    """Of which only its @role is told: every other element of the web has one, for screen readers (ARIA)."""
    return not thing["type"] and thing["properties"].keys() == {ROLE}


def unsaid(flags: tuple[str, ...], notices: tuple[Remark, ...]) -> Iterator[Remark]:
    kinds = {notice.kind for notice in notices}
    for flag in flags:
        if flag not in kinds and SAID_BY.get(flag) not in kinds:
            level, says = FLAGS_MEAN.get(flag, ("warning", f"Unexpected markup on this page: {flag}."))
            yield Remark(level, flag, says)


def in_order(notices: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """From top to bottom; what has no place comes first."""
    return tuple(sorted(notices, key=lambda notice: (notice.line or 0, notice.column or 0)))
