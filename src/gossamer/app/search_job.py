"""What a process that does nothing but search runs: a question in, its whole answer out, ready to be sent."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.app.directory import Directory
from gossamer.app.present_search import search_of
from gossamer.clock import SystemClock
from gossamer.errors import GossamerError
from gossamer.extract.vocabularies import bundled
from gossamer.web.rendering import make_templates
from gossamer.web.search_address import asked_of
from gossamer.web.search_page import Answering, Question

JOB = "gossamer.app.search_job:search_in"
RENEW = b""
"""No question: look for what was indexed since. It is sent every second while questions come, to one process after the
other, so that nobody's question waits for it."""
LEFT_ALONE_S = 3.0
"""When it did not come, because nobody asked anything for a while, the next question looks first."""
FIRST = ("th* in*", "an* type:Thing")
"""What a new process asks itself before anybody else does: the first to ask would pay for templates, for the files that
are opened and the links that are read when they are first needed, a third of a second in a large collection."""

_question = msgspec.msgpack.Decoder(Question)
_reply = msgspec.msgpack.Encoder()


def search_in(argument: str) -> Callable[[bytes], bytes]:
    """The job, for the collection in the directory that the argument names."""
    search = search_of(Directory(Path(argument)), SystemClock(), LEFT_ALONE_S)
    answering = Answering(search.find, search.is_found, search.suggest, make_templates())
    bundled()
    with contextlib.suppress(GossamerError, OSError, ValueError, sqlite3.Error):  # whoever asks is told
        if search.renew():
            for words in FIRST:
                answering(Question("page", asked_of(words, {}, {})))

    def job(payload: bytes) -> bytes:
        if payload == RENEW:
            search.renew()
            return b""
        return _reply.encode(answering(_question.decode(payload)))

    return job
