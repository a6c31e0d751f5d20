"""A search process that one word kills, as a bug in a native library would."""

import os
from collections.abc import Callable

from gossamer.web.search import answer as search_answer

DEADLY = b"deadlynightshade"


def search_in(argument: str) -> Callable[[bytes], bytes]:
    search = search_answer.search_in(argument)

    def job(payload: bytes) -> bytes:
        if DEADLY in payload:
            os.abort()
        return search(payload)

    return job
