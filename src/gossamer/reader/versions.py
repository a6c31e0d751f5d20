"""Captures read again, and compared, in a worker process: hostile bytes are not parsed in the program's own."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.archive.versions import fact_changes, kinds_of, text_changes
from gossamer.base.clock import in_words
from gossamer.extract.jsonld.contexts import hold
from gossamer.parse.coding import decode
from gossamer.parse.html.tree import LARGEST
from gossamer.plugins.code import DECODER, READERS, contexts_in, loaded
from gossamer.reader.reading import NO_OWN, UNREADABLE, Own, is_readable, read_closely, safe
from gossamer.recrawl.change import compared, prints_of
from gossamer.values.capture import Capture
from gossamer.values.messages import Difference, HistoryDone, HistoryJob, ReadVersion
from gossamer.values.url import admit

MOST_FACTS = 5_000
MOST_LINES = 2_000


def job(payload: bytes, own: Own = NO_OWN) -> bytes:
    """One `HistoryJob` in, one `HistoryDone` out, both as msgpack."""
    return _done.encode(done(_job.decode(payload), own))


def with_own(argument: str) -> Callable[[bytes], bytes]:
    """The job with the user's own readers."""
    plugged = DECODER.decode(argument)
    for scheme, port in plugged.schemes:
        admit(scheme, port)
    if plugged.contexts:
        hold(contexts_in(Path(plugged.contexts)))
    own = {media_type: safe(loaded("reader", READERS, name, Path())) for media_type, name in plugged.readers}
    return lambda payload: job(payload, own)


def done(asked: HistoryJob, own: Own = NO_OWN) -> HistoryDone:
    if asked.before is not None and asked.after is not None:
        return HistoryDone(difference=difference(asked.before, asked.after))
    assert asked.capture is not None, "there is nothing to read"
    if asked.task == "body":
        return HistoryDone(body=body_of(asked.capture))
    return HistoryDone(said=said_in(asked.capture, asked.agent, own))


def body_of(capture: Capture) -> bytes | None:
    decoded = decode(capture.body, capture.joined("content-encoding"), LARGEST)
    return None if decoded.problem in UNREADABLE else decoded.body


def said_in(capture: Capture, agent: str, own: Own) -> ReadVersion:
    reading, _ = read_closely(capture, agent, own)
    page = reading.page
    may_index = page.directives.may_index
    return ReadVersion(
        url=capture.url.text,
        fetched_at=capture.fetched_at,
        status=capture.status,
        prints=prints_of(reading, capture.body),
        title=page.title,
        description=page.description,
        text=page.content,
        language=page.language,
        facts=reading.facts if may_index else b"",
        fact_count=reading.fact_count if may_index else 0,
        sources=reading.sources if may_index else b"",
        is_readable=is_readable(reading),
        may_index=may_index,
        may_cache=page.directives.may_cache,
    )


def difference(before: ReadVersion, after: ReadVersion) -> Difference:
    lines, is_cut = text_changes(before.words, after.words)
    facts = fact_changes(before.facts, after.facts)
    is_long = max(len(facts.added), len(facts.removed)) > MOST_FACTS or len(lines) > MOST_LINES
    return Difference(
        after.url,
        in_words(before.fetched_at),
        in_words(after.fetched_at),
        kinds_of(compared(before.prints, after.prints)),
        lines[:MOST_LINES],
        msgspec.structs.replace(facts, added=facts.added[:MOST_FACTS], removed=facts.removed[:MOST_FACTS]),
        is_cut or is_long,
    )


_job = msgspec.msgpack.Decoder(HistoryJob)
_done = msgspec.msgpack.Encoder()
