"""`gossamer links`: the links of one page, where each leads, and what the rules of a crawl say of it."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.environment import real_outside
from gossamer.collection.directory import existing
from gossamer.collection.page_links import LinkTold, archived, judged, links_in
from gossamer.collection.single_page import (
    AllowAddress,
    Config,
    Contact,
    Delay,
    Manners,
    page_of,
)
from gossamer.values.format import as_json, counted, harmless

NOTHING = 1


def links(
    page: Annotated[str, Parameter(allow_leading_hyphen=True, help="A file, a URL, or - for standard input.")],
    *,
    base: Annotated[str | None, Parameter(help="The page's URL, for a file: links are relative to it.")] = None,
    dir: Annotated[
        Path | None, Parameter(help="A collection: the page is read from its archive, and its rules decide.")
    ] = None,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
    contact: Contact = None,
    allow_address: AllowAddress = (),
    delay: Delay = None,
    config: Config = None,
) -> int:
    outside = real_outside()
    directory = existing(dir) if dir is not None else None
    if directory is not None and "://" in page:
        one = archived(page, directory, outside)
    else:
        one = page_of(page, base, None, Manners(contact, allow_address, delay, config))
    found, rels = links_in(one)
    told = judged(found, rels, directory, outside)
    if json:
        print(as_json(told))
    else:
        show(told, Console())
    return 0 if told else NOTHING


def show(told: list[LinkTold], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("link", "text", "rel", "followed", "why"):
        table.add_column(name, overflow="fold")
    words = {True: "yes", False: "no", None: "unknown"}
    for one in told:
        why = f"{one.rule}: {one.says}" if one.rule else one.says
        table.add_row(
            Text(harmless(one.url)), Text(harmless(one.text)), " ".join(one.rel), words[one.is_followed], Text(why)
        )
    console.print(table, highlight=False)
    followed = sum(one.is_followed is True for one in told)
    console.print(f"{counted(len(told), 'link')}, {followed:,} followed", highlight=False)
