"""What a process that does nothing but search runs: a question in, its whole answer out, ready to be sent."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.base.clock import SystemClock
from gossamer.base.errors import GossamerError
from gossamer.collection.views import search_of
from gossamer.extract.vocabularies import bundled
from gossamer.store.directory import Directory
from gossamer.web.render import make_templates
from gossamer.web.search.address import asked_of
from gossamer.web.search.page import Answering, SearchQuestion

RENEW = b""
"""No question: look for what was indexed since. It is sent every second while questions come, to one process after the
other, so that nobody's question waits for it."""
LEFT_ALONE_S = 3.0
"""When it did not come, because nobody asked anything for a while, the next question looks first."""
FIRST = ("th* in*", "an* type:Thing")
"""What a new process asks itself before anybody else does: the first to ask would pay for templates, for the files that
are opened and the links that are read when they are first needed, a third of a second in a large collection."""

TROUBLE = (GossamerError, OSError, ValueError)
"""Views that cannot be read: no fault of the question, nor of the process."""
NO_ANSWER = b""

_question = msgspec.msgpack.Decoder(SearchQuestion)
_reply = msgspec.msgpack.Encoder()


def search_in(argument: str) -> Callable[[bytes], bytes]:
    """The job, for the collection in the directory that the argument names."""
    search = search_of(Directory(Path(argument)), SystemClock(), LEFT_ALONE_S)
    answering = Answering(search.find, search.is_found, search.suggest, make_templates())
    bundled()
    with contextlib.suppress(*TROUBLE):  # the first question reports it
        if search.renew():
            for words in FIRST:
                answering(SearchQuestion("page", asked_of(words, {}, {})))

    def job(payload: bytes) -> bytes:
        question = _question.decode(payload) if payload != RENEW else None
        try:
            if question is not None:
                return _reply.encode(answering(question))
            search.renew()
        except TROUBLE:  # the web process asks its own handles then, and says what is wrong
            pass
        return NO_ANSWER

    return job
