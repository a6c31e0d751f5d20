"""The past on a terminal, and as JSON."""

import msgspec
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from gossamer.archive.versions import CaptureVersion, Timeline
from gossamer.base.clock import Instant, in_words
from gossamer.collection.history.facts import PastAnswer
from gossamer.values.capture import Kept
from gossamer.values.format import counted, harmless
from gossamer.values.messages import Difference, ReadVersion, TextLine

SIGNS = {"added": ("+ ", "green"), "removed": ("- ", "red"), "same": ("  ", "dim")}


class PastPage(msgspec.Struct, frozen=True):
    """A page as it was."""

    url: str
    asked_at: str
    fetched_at: str
    status: int
    title: str
    description: str
    language: str
    text: str
    facts: list[str]
    """N-Triples."""
    extractor: str
    """Which readers made this of it now."""
    gone_at: str | None = None
    """When it was gone by then: since this answer. What is told is the last version before; nobody stated it then."""
    gone_status: int | None = None


class PastFacts(msgspec.Struct, frozen=True):
    asked_at: str
    site: str | None
    pages: int
    unread: int


def gone_in_words(gone: Kept, last: Kept) -> str:
    when, before = (in_words(one.fetched_at)[:19].replace("T", " ") for one in (gone, last))
    how = "redirected elsewhere" if gone.status < 400 else f"answered {gone.status}"
    return f"gone by then: it {how} on {when} UTC; this is the last version before, of {before} UTC"


def past_page(said: ReadVersion, kept: Kept, at: Instant, extractor: str, gone: Kept | None = None) -> PastPage:
    return PastPage(
        url=said.url,
        asked_at=in_words(at),
        fetched_at=in_words(kept.fetched_at),
        status=kept.status,
        title=said.title,
        description=said.description,
        language=said.language,
        text=said.text,
        facts=said.facts.decode("utf-8", "replace").splitlines(),
        extractor=extractor,
        gone_at=in_words(gone.fetched_at) if gone is not None else None,
        gone_status=gone.status if gone is not None else None,
    )


def answer_json(found: PastAnswer, about: PastFacts) -> str:
    """The answer as SPARQL 1.1 Query Results JSON, or as text where it is triples, and what it was made from."""
    result = found.result
    is_rows = result.media_type.endswith("json")
    told = msgspec.to_builtins(about) | {
        "extractor": found.extractor,
        "is_cut": result.truncated,
        "media_type": result.media_type,
        "answer": msgspec.Raw(result.body) if is_rows else result.body.decode("utf-8", "replace"),
    }
    return msgspec.json.format(msgspec.json.encode(told)).decode()


def timeline_shown(found: Timeline, console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("", "fetched (UTC)", "status", "size", "encoding", "facts", "changed"):
        table.add_column(name, justify="right" if name in ("", "status", "size", "facts") else "left")
    for version in found.versions:
        facts = "" if version.fact_count is None else f"{version.fact_count:,}"
        table.add_row(
            str(version.number),
            version.fetched_at[:19].replace("T", " "),
            str(version.status),
            decimal(version.size),
            version.charset + ("?" if version.charset_from == "guess" else ""),
            facts,
            told_of(version),
        )
    console.print(Text(found.url, style="cyan"), soft_wrap=True)
    if found.seen_again:
        again = counted(len(found.seen_again), "visit")
        says = f"{again} found it unchanged, most recently on {found.seen_again[-1][:19].replace('T', ' ')} UTC"
        console.print(Text(says, style="dim"))
    if found.earlier:
        console.print(Text(f"the newest of {counted(found.earlier + len(found.versions), 'version')}", style="dim"))
    console.print(table)


def told_of(version: CaptureVersion) -> Text:
    if version.is_gone:
        return Text(f"gone ({version.note})", style="red")
    shown = Text("back, ", style="bold") if version.is_back else Text()
    shown.append_text(change_of(version))
    if version.seen_again:
        shown.append(f"; seen unchanged {counted(version.seen_again, 'time')} more", style="dim")
    return shown


def change_of(version: CaptureVersion) -> Text:
    if version.changes is None:
        return Text(version.note or ("first seen" if version.number == 1 else "first that could be read"), style="dim")
    if not version.changes:
        return Text("no", style="dim")
    strong = [name for name in version.changes if name != "bytes"]
    return Text(", ".join(strong), style="bold") if strong else Text("bytes only", style="dim")


def difference_shown(difference: Difference, console: Console) -> None:
    console.print(Text(difference.url, style="cyan"), soft_wrap=True)
    console.print(Text(f"--- {difference.from_at}\n+++ {difference.to_at}", style="bold"))
    console.print(Text("changed: " + (", ".join(difference.changes) or "nothing")))
    if any(line.how in ("added", "removed") for line in difference.text):
        console.print(Text("\ntext", style="bold"))
        for line in difference.text:
            console.print(text_line(line), soft_wrap=True)
    facts = difference.facts
    if facts.added or facts.removed:
        console.print(Text(f"\nfacts ({facts.kept:,} unchanged)", style="bold"))
        for sign, style, lines in (("- ", "red", facts.removed), ("+ ", "green", facts.added)):
            for fact in lines:
                console.print(Text(sign + harmless(fact), style=style), soft_wrap=True)
    if difference.is_cut:
        console.print(Text("\nthere is more: the output was cut at the limit", style="dim"))


def text_line(line: TextLine) -> Text:
    """Changed words are lit up; where there are no colours the signs at the left say it."""
    if line.how == "gap":
        return Text("  ...", style="dim")
    sign, style = SIGNS[line.how]
    shown = Text(sign, style=style)
    for piece in line.pieces:
        shown.append(harmless(piece.text), style=f"bold {style} reverse" if piece.is_changed else style)
    return shown


def past_shown(page: PastPage, console: Console) -> None:
    console.print(Text(harmless(page.title or page.url), style="bold"))
    console.print(Text(page.url, style="cyan"), soft_wrap=True)
    when = page.fetched_at[:19].replace("T", " ")
    if page.gone_at is not None:
        console.print(
            Text(f"gone by then: status {page.gone_status}, {page.gone_at[:19].replace('T', ' ')} UTC", "red")
        )
    console.print(Text(f"as it was fetched on {when} UTC, status {page.status}", style="dim"))
    console.print(Text("\n" + harmless(page.text)), soft_wrap=True)
    if page.facts:
        console.print(Text(f"\n{counted(len(page.facts), 'fact')}", style="bold"))
    for fact in page.facts:
        console.print(Text(harmless(fact)), soft_wrap=True)
    console.print(Text(f"\nread by {page.extractor}", style="dim"))
