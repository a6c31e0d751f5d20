"""`gossamer rules`: see, add, remove and try out the rules of a crawl, also while it runs."""

import json as json_format
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.base.clock import Clock
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.tell import silent
from gossamer.cli.flags import Dir, Json
from gossamer.collection.directory import existing
from gossamer.collection.state import RulesPreview, rules_effect
from gossamer.crawler.rules_file import RulesFile, checked
from gossamer.rules.scope import Reach
from gossamer.rules.user.rulebook import NO_RULES, Problems, RuleBook, load_rules
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.given import stored_seeds
from gossamer.store.state import open_state


def rules(
    action: Annotated[
        Literal["list", "add", "remove", "preview"], Parameter(help="The action; list if not given.")
    ] = "list",
    rule: Annotated[str | None, Parameter(help="The rule, in quotes; remove also accepts its line number.")] = None,
    *,
    dir: Dir = DEFAULT,
    seconds: Annotated[float, Parameter(help="Time limit of preview, in seconds.")] = 20.0,
    json: Json = False,
) -> int:
    outside = real_outside()
    match action:
        case "list":
            return listed(_there(dir, outside), json)
        case "add":
            outside.files.make_folder(dir)
            return added(RulesFile(outside.files, dir, silent), _named(rule, "add"), json)
        case "remove":
            return removed(_there(dir, outside), _named(rule, "remove"), json)
        case "preview":
            return previewed(existing(dir), RulesFile(outside.files, dir, silent), rule, seconds, outside.clock, json)


def _there(root: Path, outside: Outside) -> RulesFile:
    if not root.is_dir():
        raise DirectoryUnusable(
            f"there is no collection in {root}. Create one with `gossamer crawl URL --dir {root}`, "
            "or name another directory with --dir."
        )
    return RulesFile(outside.files, root, silent)


def _named(rule: str | None, action: str) -> str:
    if rule is None:
        raise ConfigError(f"which rule? gossamer rules {action} 'exclude path ~ \"/calendar/\"'")
    return rule


def listed(file: RulesFile, as_json: bool) -> int:
    book = file.book()
    if as_json:
        shown = [{"line": one.line, "kind": one.kind.value, "rule": one.text} for one in book.rules]
        print(json_format.dumps({"rules": shown}))
    elif not book.rules:
        print("no rules: everything in scope is crawled")
    else:
        print("\n".join(f"{one.line:4}  {one.text}" for one in book.rules))
    return 0


def added(file: RulesFile, rule: str, as_json: bool) -> int:
    file.book()  # a file that cannot be read is mended first
    line = file.add(rule)
    said = f"added as rule {line}; a running crawl applies it within seconds"
    print(json_format.dumps({"added": checked(rule), "line": line}) if as_json else said)
    return 0


def removed(file: RulesFile, which: str, as_json: bool) -> int:
    gone = file.remove(which)
    print(json_format.dumps({"removed": gone}) if as_json else f"removed: {gone}")
    return 0


def previewed(
    directory: Directory, file: RulesFile, rule: str | None, seconds: float, clock: Clock, as_json: bool
) -> int:
    now = file.book() if rule is not None else NO_RULES
    then = _with(file, rule)
    with closing(open_state(directory)) as state:
        known = [(url, Reach(reach)) for url, reach in stored_seeds(state)]
        found = _last(rules_effect(state, now.for_seeds(known), then.for_seeds(known), seconds, clock), as_json)
    if as_json:
        shown = {"queued": found.queued, "looked_at": found.looked_at, "would_go": found.would_go}
        print(
            json_format.dumps(
                {
                    **shown,
                    "is_whole": found.is_whole,
                    "examples": [{"url": url, "rule": why} for url, why in found.examples],
                }
            )
        )
    else:
        print(in_words(found))
    return 0


def _with(file: RulesFile, rule: str | None) -> RuleBook:
    """The rules with this one added; without one, as they stand."""
    text = file.text() + (f"\n{checked(rule)}\n" if rule is not None else "")
    found = load_rules(text)
    if isinstance(found, Problems):
        raise ConfigError(found.in_words)
    return found


def _last(previews: Iterator[RulesPreview], as_json: bool) -> RulesPreview:
    """The answer; on the way a person at a terminal sees how far it is."""
    is_shown = sys.stderr.isatty() and not as_json
    found = RulesPreview(0)
    for found in previews:
        if is_shown and not found.is_whole:
            print(f"\r{found.looked_at:,} of {found.queued:,} checked", end="", file=sys.stderr, flush=True)
    if is_shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return found


def in_words(found: RulesPreview) -> str:
    first = f"{found.would_go:,} of {found.queued:,} waiting URLs would be excluded"
    if not found.is_whole:
        first = f"at least {first}; {found.looked_at:,} were checked, give more --seconds for the others"
    return "\n".join([first, *(f"  {url}" for url, _ in found.examples)])
