"""A search process with a weak spot: one word ends it, as a fault in a library would."""

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
