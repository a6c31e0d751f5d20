"""`gossamer inspect`: what a page says to machines, and what is wrong with it, for whoever writes the markup."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec
from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.inspection import Going, Inspected, show, summarised
from gossamer.collection.single_page import (
    BY_SUFFIX,
    NOWHERE,
    AllowAddress,
    Config,
    Contact,
    ContextFolder,
    Delay,
    Manners,
    NotRead,
    OnePage,
    own_contexts,
    page_in,
    page_of,
)
from gossamer.extract.entities import Thing
from gossamer.extract.jsonld.contexts import hold
from gossamer.extract.rdfa.reader import ROLE as ROLE_TERM
from gossamer.reader.extraction import Remark, extract

FINE, FAULTY, UNREAD = 0, 1, 2
MOST_FILES = 100_000
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


def inspect(
    page: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A file, a directory, a URL, or - for standard input.")
    ],
    *,
    base: Annotated[str | None, Parameter(help="The page's URL; for a directory, the URL of its root.")] = None,
    type: Annotated[str | None, Parameter(help="Its media type; detected if not given.")] = None,
    strict: Annotated[bool, Parameter(help="Warnings also give exit code 1.")] = False,
    items: Annotated[bool, Parameter(help="Also show the entities of every file of a directory.")] = False,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
    contexts: ContextFolder = None,
    contact: Contact = None,
    allow_address: AllowAddress = (),
    delay: Delay = None,
    config: Config = None,
) -> int:
    outside, console = real_outside(), Console()
    if contexts is not None:
        hold(own_contexts(contexts))
    if is_directory := Path(page).is_dir():
        found = list(in_directory(Path(page), base or NOWHERE, type, outside))
    else:
        found = [one(page, base, type, Manners(contact, allow_address, delay, config))]
    if json:
        print(msgspec.json.format(msgspec.json.encode(as_json(found))).decode())
    else:
        for each in found:
            if not is_directory or items or each.notices or each.unread:
                show(each, console, with_items=items or not is_directory)
        if is_directory:
            console.print(summarised(found))
    return exit_code(found, strict)


def one(target: str, base: str | None, media_type: str | None, manners: Manners) -> Inspected:
    """REQUIRES: `target` is no directory."""
    try:
        return inspected(page_of(target, base, media_type, manners))
    except ConfigError:
        raise  # the command line is wrong: that ends with 2 as well, and says what to do
    except GossamerError as trouble:
        return Inspected(target, base or "", 0, {}, [], (), unread=str(trouble))


def in_directory(top: Path, base: str, media_type: str | None, outside: Outside) -> Iterator[Inspected]:
    names = files_below(top)
    with Going(len(names), outside.clock) as going:
        for path in names:
            below = path.relative_to(top)
            address = base.rstrip("/") + "/" + quote(below.as_posix())
            try:
                found = inspected(page_in(path, outside, address, media_type))
            except NotRead as trouble:
                found = Inspected(str(path), address, 0, {}, [], (), unread=str(trouble))
            yield replace(found, name=below.as_posix())
            going.on(below.as_posix())


def files_below(top: Path) -> list[Path]:
    """Pages by their endings, in order of their names; links to directories are not followed."""
    found = sorted(path for path in top.rglob("*") if path.suffix.lower() in BY_SUFFIX and path.is_file())
    if not found:
        raise ConfigError(
            f"there are no pages in {top}: files with these suffixes are searched: {', '.join(BY_SUFFIX)}"
        )
    if len(found) > MOST_FILES:
        raise ConfigError(f"there are more than {MOST_FILES:,} pages in {top}; choose a subdirectory")
    return found


def inspected(page: OnePage) -> Inspected:
    found = extract(page.body, page.address, page.media_type)
    notices = (*found.notices, *unsaid(found.flags, found.notices))
    things = [thing for thing in found.items() if not is_furniture(thing)]
    return Inspected(
        page.name,
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


def exit_code(found: list[Inspected], strict: bool) -> int:
    if any(each.unread for each in found):
        return UNREAD
    faults = sum(each.count("error") + (each.count("warning") if strict else 0) for each in found)
    return FAULTY if faults else FINE


def as_json(found: list[Inspected]) -> dict[str, object]:
    return {
        "errors": sum(each.count("error") for each in found),
        "warnings": sum(each.count("warning") for each in found),
        "unread": sum(1 for each in found if each.unread),
        "pages": [
            {
                "name": each.name,
                "address": each.address,
                "charset": each.charset or None,
                "charset_from": each.charset_from or None,
                "facts": each.facts,
                "facts_by_syntax": each.facts_by_syntax,
                "items": each.items,
                "notices": [notice._asdict() for notice in each.notices],
                "unread": each.unread or None,
            }
            for each in found
        ],
    }
