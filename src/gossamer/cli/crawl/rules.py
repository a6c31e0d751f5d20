"""`gossamer rules`: list, add, remove or preview the rules of a crawl, also while it runs."""

import sys
from collections.abc import Iterator
from typing import Annotated, Literal

from cyclopts import Parameter
from msgspec import structs

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.tell import silent
from gossamer.cli.flags import Dir, Json
from gossamer.collection.directory import existing
from gossamer.collection.state import CollectionState, RulesPreview
from gossamer.crawler.rules_file import RulesFile, checked
from gossamer.rules.user.rulebook import NO_RULES, Problems, RuleBook, load_rules
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.state import is_cluster
from gossamer.values.format import json_bytes


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
    directory = Directory(dir)
    if is_cluster(directory):
        existing(dir)
    files = with_archive(directory, real_outside()).files  # those of a cluster are in its database
    if action == "preview":
        return previewed(CollectionState.open(dir), rule, seconds, json)
    if action != "add" and not dir.is_dir():
        raise DirectoryUnusable(
            f"there is no collection in {dir}. Make one with `gossamer crawl URL --dir {dir}`, "
            "or name another directory with --dir."
        )
    file = RulesFile(files, dir, silent)
    if action == "list":
        return listed(file, json)
    if rule is None:
        raise ConfigError(f"which rule? gossamer rules {action} 'exclude path ~ \"/calendar/\"'")
    if action == "remove":
        gone = file.remove(rule)
        print(json_line({"removed": gone}) if json else f"removed: {gone}")
        return 0
    file.book()  # a file with errors has to be corrected first
    added = checked(rule)
    files.make_folder(dir)
    line = file.add(rule)
    words = f"added as rule {line}; a running crawl applies it within seconds"
    print(json_line({"added": added, "line": line}) if json else words)
    return 0


def json_line(value: object) -> str:
    return json_bytes(value).decode()


def listed(file: RulesFile, json: bool) -> int:
    book = file.book()
    if json:
        shown = [{"line": one.line, "kind": one.kind.value, "rule": one.text} for one in book.rules]
        print(json_line({"rules": shown}))
    elif not book.rules:
        print("no rules: everything in scope is crawled")
    else:
        print("\n".join(f"{one.line:4}  {one.text}" for one in book.rules))
    return 0


def previewed(collection: CollectionState, rule: str | None, seconds: float, json: bool) -> int:
    file = collection.rules_file()
    now = file.book() if rule is not None else NO_RULES
    found = _last(collection.rules_effect(now, _with(file, rule), seconds), is_shown=sys.stderr.isatty() and not json)
    if json:
        examples = [{"url": url, "rule": why} for url, why in found.examples]
        print(json_line({**structs.asdict(found), "is_whole": found.is_whole, "examples": examples}))
    else:
        print(in_words(found))
    return 0


def _with(file: RulesFile, rule: str | None) -> RuleBook:
    """The rules of the file, with this one added."""
    text = file.text() + (f"\n{checked(rule)}\n" if rule is not None else "")
    found = load_rules(text)
    if isinstance(found, Problems):
        raise ConfigError(found.in_words)
    return found


def _last(previews: Iterator[RulesPreview], is_shown: bool) -> RulesPreview:
    """The last preview; meanwhile a terminal shows the progress."""
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
        first = f"at least {first}; {found.looked_at:,} were checked, raise --seconds to check the others"
    return "\n".join([first, *(f"  {url}" for url, _ in found.examples)])
