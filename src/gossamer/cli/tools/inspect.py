"""`gossamer inspect`: the structured data of a page and the errors in its markup, for its author."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.flags import NO_FETCH_FLAGS, ContextFolder, FetchFlags, Json
from gossamer.cli.output import Progress, console, plain, table
from gossamer.cli.tools.blocks import PageContent, Slope, content_json, page_content, show_content
from gossamer.cli.tools.single_page import BY_SUFFIX, NOWHERE, NotRead, own_contexts, page_in, page_of
from gossamer.config.settings import Settings
from gossamer.extract.entities import EntityDict
from gossamer.extract.jsonld.contexts import add_user_contexts
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.reader.extraction import Inspected, Remark, inspected
from gossamer.values.capture import charset_in_words
from gossamer.values.format import as_json, counted

FINE, FAULTY, UNREAD = 0, 1, 2
MOST_FILES = 100_000


def inspect(
    page: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A file, a directory, a URL, or - for standard input.")
    ],
    *,
    base: Annotated[str | None, Parameter(help="The page's URL; for a directory, the URL of its root.")] = None,
    type: Annotated[str | None, Parameter(help="Its media type; detected if not given.")] = None,
    strict: Annotated[bool, Parameter(help="Warnings also give exit code 1.")] = False,
    items: Annotated[bool, Parameter(help="Also show the entities of every file of a directory.")] = False,
    slope: Annotated[bool, Parameter(help="Plot the document slope curve, with the content block.")] = False,
    json: Json = False,
    contexts: ContextFolder = None,
    web: FetchFlags = NO_FETCH_FLAGS,
) -> int:
    out = console()
    if contexts is not None:
        add_user_contexts(own_contexts(contexts))
    content: PageContent | None = None
    if is_directory := Path(page).is_dir():
        if slope:
            raise ConfigError(f"--slope plots one page, and {page} is a directory; name a file in it")
        found = list(in_directory(Path(page), base or NOWHERE, type, real_outside()))
    else:
        single, content = one(page, base, type, web.settings)
        found = [single]
    if json:
        print(as_json(report_json(found, content, slope)))
    else:
        for each in found:
            if not is_directory or items or each.notices or each.unread:
                show(each, out, with_items=items or not is_directory)
        if content is not None:
            show_content(content.blocks, out)
            if slope:
                out.print(Text("\n".join(Slope(content).lines(out.width))), soft_wrap=True)
        if is_directory:
            out.print(summary(found))
    return exit_code(found, strict)


def one(
    target: str, base: str | None, media_type: str | None, settings: Callable[[], Settings]
) -> tuple[Inspected, PageContent | None]:
    """Its structured data, and its content if it is HTML. REQUIRES: `target` is not a directory."""
    try:
        page = page_of(target, base, media_type, settings)
        found = inspected(page.name, page.body, page.url, page.media_type)
        return found, page_content(page.body, page.media_type)
    except ConfigError:
        raise  # the command line is wrong: it ends with 2 as well, and its message says what to do
    except GossamerError as trouble:
        return Inspected(target, base or "", 0, {}, [], (), unread=str(trouble)), None


def in_directory(top: Path, base: str, media_type: str | None, outside: Outside) -> Iterator[Inspected]:
    paths = files_below(top)
    with Progress("inspecting", outside.clock) as progress:
        for done, path in enumerate(paths, 1):
            name = path.relative_to(top).as_posix()
            address = f"{base.rstrip('/')}/{quote(name)}"
            try:
                page = page_in(path, outside, address, media_type)
                yield inspected(name, page.body, page.url, page.media_type)
            except NotRead as trouble:
                yield Inspected(name, address, 0, {}, [], (), unread=str(trouble))
            progress.show(f"{done:,} of {len(paths):,} pages: {plain(name)}")


def files_below(top: Path) -> list[Path]:
    """Pages by suffix, sorted by name; links to directories are not followed."""
    found = sorted(path for path in top.rglob("*") if path.suffix.lower() in BY_SUFFIX and path.is_file())
    if not found:
        raise ConfigError(
            f"there are no pages in {top}: files with these suffixes are searched: {', '.join(BY_SUFFIX)}"
        )
    if len(found) > MOST_FILES:
        raise ConfigError(f"there are more than {MOST_FILES:,} pages in {top}; choose a subdirectory")
    return found


def exit_code(found: list[Inspected], strict: bool) -> int:
    if any(each.unread for each in found):
        return UNREAD
    errors = sum(each.count("error") + (each.count("warning") if strict else 0) for each in found)
    return FAULTY if errors else FINE


def report_json(found: list[Inspected], content: PageContent | None, with_slope: bool) -> dict[str, object]:
    """`content`: of the one page, if it is not a directory."""
    more: dict[str, object] = {}
    if content is not None:
        more["content"] = content_json(content.blocks)
        if with_slope:
            more["slope"] = Slope(content).json()
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
                **more,
            }
            for each in found
        ],
    }


MOST_SHOWN = 500
"""Lines of a tree, or notices, that are shown; more are cut."""
STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}
_BY_LENGTH = sorted(((iri, prefix) for prefix, iri in PREFIXES.items() if prefix), key=lambda one: -len(one[0]))


def show(page: Inspected, out: Console, with_items: bool) -> None:
    if page.unread:
        out.print(plain(page.unread), style=STYLES["error"], soft_wrap=True)
        return
    if with_items:
        out.print(tree_of(page), soft_wrap=True)
    for notice in page.notices[:MOST_SHOWN]:
        out.print(line_of(page.name, notice), soft_wrap=True)
    if len(page.notices) > MOST_SHOWN:
        out.print(f"{page.name}: ... and {len(page.notices) - MOST_SHOWN:,} more: see --json", style="dim")
    if with_items:
        out.print(", ".join(counted(page.count(level), level) for level in ("error", "warning")), style="dim")


def line_of(name: str, notice: Remark) -> Text:
    """In the format of compilers, so that editors can jump to the place."""
    where = f"{name}:{notice.line}:{notice.column}" if notice.line is not None else name
    text = Text(plain(where), style="bold")
    if notice.line is None and notice.path:
        text.append(f": {plain(notice.path)}", style="cyan")
    text.append(": ")
    text.append(notice.level, style=STYLES.get(notice.level, ""))
    text.append(f": {plain(notice.says)}", style="not bold")
    text.append(f" [{notice.kind}]", style="dim")
    return text


def tree_of(page: Inspected) -> Tree:
    counts = ", ".join(f"{count} {name}" for name, count in page.facts_by_syntax.items())
    head = Text(plain(page.name), style="bold")
    head.append(f"  {counted(page.facts, 'fact')}" + (f" ({counts})" if counts else ""), style="not bold dim")
    if page.charset:
        head.append(f"  {charset_in_words(page.charset, page.charset_from)}", style="not bold dim")
    tree = Tree(head)
    left = MOST_SHOWN
    waiting: list[tuple[Tree, Iterator[tuple[Text, EntityDict | None]]]] = [
        (tree, ((_named(item), item) for item in page.items))
    ]
    while waiting:
        branch, lines = waiting[-1]
        label, inner = next(lines, (None, None))
        if label is None:
            waiting.pop()
        elif left == 0:
            tree.add(Text("... and more: see --json", style="dim"))
            break
        else:
            left -= 1
            grown = branch.add(label)
            if inner is not None:
                waiting.append((grown, _inside(inner)))
    return tree


def _inside(entity: EntityDict) -> Iterator[tuple[Text, EntityDict | None]]:
    for name, values in entity["properties"].items():
        for value in values:
            yield from _valued(name, value)


def _valued(name: str, value: Any) -> Iterator[tuple[Text, EntityDict | None]]:
    label = Text(f"{short(name)}: ", style="green")
    if isinstance(value, dict) and "list" in value:
        yield label + Text(f"a list of {len(value['list'])}", style="dim"), None
        for one in value["list"]:
            yield from _valued(name, one)
    elif isinstance(value, dict) and "properties" in value:
        yield label + _named(value), value
    else:
        yield label + _simple(value), None


def _simple(value: str | dict[str, str]) -> Text:
    if isinstance(value, str):
        return Text(plain(value), style="default")
    if "id" in value:
        return Text(plain(value["id"]), style="cyan")
    kind = f"@{value['language']}" if "language" in value else f" ({short(value['datatype'])})"
    return Text(plain(value["value"]), style="default") + Text(kind, style="dim")


def _named(entity: EntityDict) -> Text:
    text = Text(", ".join(short(kind) for kind in entity["type"]) or "an entity", style="bold")
    if "id" in entity:
        text.append(f"  {plain(entity['id'])}", style="not bold cyan")
    return text


def short(iri: str) -> str:
    """The IRI with its usual prefix, if it has one."""
    for start, prefix in _BY_LENGTH:
        if iri.startswith(start) and len(iri) > len(start):
            return plain(f"{prefix}:{iri[len(start) :]}")
    return plain(iri)


def summary(found: Sequence[Inspected]) -> Table:
    pages = table("page", ">entities", ">facts", ">errors", ">warnings")
    totals = Counter[str]()
    for page in found:
        if page.unread:
            pages.add_row(plain(page.name), "", "", "not read", "", style=STYLES["error"])
            continue
        errors, warnings = page.count("error"), page.count("warning")
        style = STYLES["error"] if errors else STYLES["warning"] if warnings else None
        numbers = {"entities": len(page.items), "facts": page.facts, "errors": errors, "warnings": warnings}
        totals.update(numbers)
        pages.add_row(plain(page.name), *(f"{number:,}" for number in numbers.values()), style=style)
    pages.add_section()
    whole = (f"{totals[name]:,}" for name in ("entities", "facts", "errors", "warnings"))
    pages.add_row(counted(len(found), "page"), *whole, style="bold")
    return pages
