"""`gossamer links`: the links of one page, where each leads, and whether a crawl would follow it."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.cli.flags import NO_FETCH_FLAGS, FetchFlags, Json, PageSource
from gossamer.cli.output import console, table
from gossamer.collection.directory import existing
from gossamer.collection.page_links import LinkTold, archived, judged, links_in
from gossamer.collection.single_page import page_of
from gossamer.values.format import as_json, counted, harmless


def links(
    page: PageSource,
    *,
    base: Annotated[str | None, Parameter(help="The page's URL, for a file: links are relative to it.")] = None,
    dir: Annotated[
        Path | None, Parameter(help="A collection: the page is read from its archive, and its rules decide.")
    ] = None,
    json: Json = False,
    web: FetchFlags = NO_FETCH_FLAGS,
) -> int:
    outside = real_outside()
    directory = existing(dir) if dir is not None else None
    if directory is not None and "://" in page:
        one = archived(page, directory, outside)
    else:
        one = page_of(page, base, None, web.settings)
    found, rels = links_in(one)
    told = judged(found, rels, directory, outside)
    if json:
        print(as_json(told))
    else:
        show(told)
    return 0 if told else 1


def show(told: list[LinkTold]) -> None:
    drawn = table("link", "text", "rel", "followed", "why")
    for column in drawn.columns:
        column.overflow = "fold"
    words = {True: "yes", False: "no", None: "unknown"}
    for one in told:
        why = f"{one.rule}: {one.says}" if one.rule else one.says
        drawn.add_row(harmless(one.url), harmless(one.text), " ".join(one.rel), words[one.is_followed], why)
    console().print(drawn)
    followed = sum(one.is_followed is True for one in told)
    print(f"{counted(len(told), 'link')}, {followed:,} followed")
