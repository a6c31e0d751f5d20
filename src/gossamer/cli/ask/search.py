"""`gossamer search`: search the pages of a collection, also during a crawl."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from gossamer.base.errors import ConfigError, QueryRefused
from gossamer.cli.flags import Dir
from gossamer.cli.output import console, note
from gossamer.collection.collection import Collection
from gossamer.collection.views import refuse_missing
from gossamer.search.find import FACETS, Entity, Hit, SearchAnswer
from gossamer.search.query import parse
from gossamer.store.address import shown
from gossamer.store.directory import DEFAULT
from gossamer.values.format import as_json, counted, harmless, json_value
from gossamer.values.url import Url
from gossamer.views.words.explanation import Explanation


def search(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, help="What to search for.")],
    dir: Dir = DEFAULT,
    limit: Annotated[int, Parameter(help="Number of results.")] = 10,
    start: Annotated[int, Parameter(name="--from", help="Number of results to skip.")] = 0,
    sort: Annotated[Literal["best", "newest", "oldest"] | None, Parameter(help="The order of the results.")] = None,
    facets: Annotated[bool, Parameter(help="Count the results by type, site, language and the like.")] = False,
    explain: Annotated[bool, Parameter(help="Explain the rank of each result.")] = False,
    json: Annotated[bool, Parameter(help="As JSON, with everything.")] = False,
) -> int:
    if stray := next((word for word in words if word.startswith("--")), None):
        raise ConfigError(f"there is no option {stray}; `gossamer search --help` lists them")
    if limit < 1 or start < 0:
        raise ConfigError("--limit: at least 1; --from: at least 0")
    collection, question = Collection.open(dir), parse(" ".join(words), start, limit)
    if question.is_empty:
        raise QueryRefused("give search terms: gossamer search tropical fish, or type:Person, or site:example.org")
    if sort is not None:
        question = msgspec.structs.replace(question, sort=sort)
    directory, index = collection.directory, collection.index
    refuse_missing(directory, collection.outside, directory.index, directory.links)
    with collection:
        answer = index.find(question, FACETS if facets or json else ())
        explained = {hit.url: index.explain(question, Url(hit.url)) for hit in answer.hits} if explain else {}
    if json:
        print(as_json(json_value(answer) | ({"explanations": explained} if explain else {})))
    else:
        show(answer, console(), explained)
    if answer.unreadable:
        lost = counted(len(answer.unreadable), "result")
        note(f"{lost} skipped: damaged in the index. `gossamer verify --dir {shown(dir)}` lists them.")
    return 0 if answer.hits else 1


def show(answer: SearchAnswer, out: Console, explained: Mapping[str, Explanation | None]) -> None:
    for entity in answer.entities:
        out.print(entity_line(entity), soft_wrap=True)
    if answer.entities:
        out.print()
    for hit in answer.hits:
        out.print(Text(harmless(hit.title or hit.url), style="bold"))
        out.print(Text(hit.url, style="cyan"), soft_wrap=True)
        out.print(snippet_of(hit))
        if details := about(hit):
            out.print(Text(harmless(details), style="dim"))
        for reason in reasons_of(explained.get(hit.url)):
            out.print(Text(reason, style="dim"), soft_wrap=True)
        out.print()
    for line in facet_lines(answer):
        out.print(line, soft_wrap=True)
    full = "" if answer.all_words else f", {answer.with_all_words:,} with all the words"
    out.print(Text(f"{counted(answer.total, 'page')}{full} in {answer.took_s * 1000:.0f} ms", style="dim"))
    if answer.did_you_mean:
        out.print(Text(f"Did you mean: {answer.did_you_mean}"))
    if not answer.hits:
        none = "No page has these words. Try fewer or different words."
        out.print(Text("No more results: use a smaller --from." if answer.total else none, style="dim"))


def entity_line(entity: Entity) -> Text:
    kinds = ", ".join(map(last_part, entity.types)) or "entity"
    on = f"  {harmless(kinds)}, on {counted(entity.pages, 'page')}  "
    return Text.assemble((harmless(entity.name), "bold"), on, (harmless(entity.iri or entity.page), "cyan"))


def facet_lines(answer: SearchAnswer) -> Iterator[Text]:
    """A line for each group; a star marks values that are only inferred."""
    for name, facets in answer.facets.items():
        values = [f"{one.value}{'*' if one.inferred == one.count > 0 else ''} {one.count:,}" for one in facets[:8]]
        if values:
            yield Text.assemble((f"{name}: ", "bold"), "  ".join(values))
    if spans := [f"{span.label} {span.count:,}" for span in answer.dates if span.count]:
        yield Text.assemble(("date: ", "bold"), "  ".join(spans[-8:]))


def reasons_of(why: Explanation | None) -> Iterator[str]:
    for word in why.words if why is not None else ():
        if not word.reasons:
            yield f"  {word.word}: not on the page"
        for at, reason in enumerate(word.reasons):
            start = f"  {word.word}: {word.score:.2f}" if not at else "   "
            times = f"{reason.times:g} {'time' if reason.times == 1 else 'times'}"
            how = f"{times}, on {counted(reason.pages, 'page')} there, " if reason.times else ""
            yield f"{start}  {reason.form} in {reason.field}: {reason.score:.2f} ({how}weight {reason.weight:g})"


def snippet_of(hit: Hit) -> Text:
    text = Text()
    for piece in hit.snippet:
        text.append(harmless(piece.text), style="bold yellow" if piece.is_match else None)
    return text


def last_part(iri: str) -> str:
    return iri.rstrip("/#").replace("#", "/").rpartition("/")[2]


def about(hit: Hit) -> str:
    kinds = sorted(set(map(last_part, hit.types)))
    parts = [counted(hit.fact_count, "fact") if hit.fact_count else "", ", ".join(kinds[:5])]
    parts.append(f"{hit.copies - 1} more with the same text" if hit.copies > 1 else "")
    parts.append("" if hit.may_cache else "the site asks that no copy is shown")
    return "; ".join(part for part in parts if part)
