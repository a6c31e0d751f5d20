"""`gossamer retry`: queues URLs again that failed or were refused, after a preview."""

import asyncio
import sys
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir
from gossamer.collection.changes import groups_in, queue_again
from gossamer.collection.directory import existing
from gossamer.crawler.seeds import checked_seeds
from gossamer.rules.canonical import stripped
from gossamer.store.directory import DEFAULT
from gossamer.values.format import as_json, counted
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.visit import EndedGroup, Selection

NOT_RETRIED = frozenset({Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED, Reason.FORGOTTEN})
"""Outcomes that are neither failures nor refusals, or are permanent; `gossamer crawl --again` fetches pages again."""


def retry(
    *,
    reason: Annotated[tuple[str, ...], Parameter(help="Only this outcome: a reason code of `gossamer status`.")] = (),
    host: Annotated[str, Parameter(help="Only URLs of this host.")] = "",
    url: Annotated[tuple[str, ...], Parameter(help="Only this URL.")] = (),
    yes: Annotated[bool, Parameter(help="Do it without asking.", negative=())] = False,
    dir: Dir = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON: what would be queued, and with --yes how many are.")] = False,
) -> int:
    directory, outside = existing(dir), real_outside()
    selection = selected(reason, host, url)
    found = groups_in(directory, selection)
    many = sum(one.urls for one in found)
    is_wanted = many > 0 and (yes or (not json and _is_agreed(found)))
    moved = asyncio.run(queue_again(directory, outside, selection)) if is_wanted else 0
    if json:
        print(as_json({"groups": found, "urls": many, "waiting": moved if is_wanted else None}))
    elif not many:
        print("No failed or refused URL matches.")
    elif is_wanted:
        print(f"{counted(moved, 'URL')} queued again: a crawl fetches them, politely.")
    else:
        print("Nothing was changed; use --yes to do it.")
    return 0 if many else 1


def selected(reasons: tuple[str, ...], host: str, urls: tuple[str, ...]) -> Selection:
    """Raises ConfigError for an unknown reason, or if nothing is selected."""
    if not (reasons or host or urls):
        raise ConfigError(
            "select the URLs: gossamer retry --reason timeout, --host example.org, or --url https://example.org/a"
        )
    known = {one.value for one in Reason} - {one.value for one in NOT_RETRIED}
    if wrong := [one for one in reasons if one not in known]:
        raise ConfigError(f"{wrong[0]!r} is not an outcome that can be retried; those are: {', '.join(sorted(known))}")
    chosen = frozenset(map(Reason, reasons)) or frozenset(Reason) - NOT_RETRIED
    name = checked_seeds([host])[0].host.name if host else ""
    return Selection(chosen, name, tuple([stripped(one) for one in checked_seeds(urls)]))


def _is_agreed(found: list[EndedGroup]) -> bool:
    for one in found:
        print(f"{one.urls:>9,}  {one.reason}: {IN_WORDS[one.reason]}")
        for text in one.examples:
            print(f"{'':>11}{text}")
    if not sys.stdin.isatty():
        return False
    return input("Queue these again? [y/N] ").strip().lower() in ("y", "yes")
