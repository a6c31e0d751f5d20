"""Parameters read by hand are read as FastAPI reads them, or left to it."""

import asyncio
from typing import Annotated, Any
from urllib.parse import urlencode

import pytest
from fastapi import Depends, FastAPI, Response
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.search.address import DEEPEST, GROUPS, SearchAddress
from gossamer.web.search.parameters import LONGEST_DAY, LONGEST_TYPED, LONGEST_VALUE, MOST_VALUES, asked
from gossamer.web.search.routes import of_json, of_page, of_suggestions

FILTERS = [name for group in GROUPS for name in (group.name, f"not_{group.name}")]
NAMES = st.sampled_from(["q", "since", "until", "sort", "from", "limit", "other", *FILTERS])
VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["", "best", "newest", "0", "10", " 7", "+5", "1_0", "1.0", "１", "-1", "1001", "schema:Person"]),
)
ANYTHING = st.binary(max_size=30)


class Read:
    """What FastAPI makes of an address; None when it refuses."""

    def __init__(self) -> None:
        self._app, self._seen = FastAPI(), []

        @self._app.get("/")
        async def read(wanted: Annotated[SearchAddress, Depends(asked)]) -> Response:
            self._seen.append(wanted)
            return Response()

    def __call__(self, query_string: bytes) -> SearchAddress | None:
        self._seen: list[SearchAddress] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None: ...

        scope = {
            "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "root_path": "", "headers": [],
            "query_string": query_string,
        }  # fmt: skip
        asyncio.run(self._app(scope, receive, send))
        return self._seen[0] if self._seen else None


READ = Read()


@given(st.lists(st.tuples(NAMES, VALUES), max_size=8))
@settings(max_examples=150, deadline=None)
def test_what_is_read_by_hand_is_what_fastapi_reads(pairs: list[tuple[str, str]]) -> None:
    query_string = urlencode(pairs).encode()
    found = of_page(query_string)
    assert found is None or found == (READ(query_string), 10)


@given(ANYTHING)
@settings(max_examples=100, deadline=None)
def test_no_bytes_are_too_strange_to_be_read_alike(query_string: bytes) -> None:
    found = of_page(query_string)
    assert found is None or found == (READ(query_string), 10)


@pytest.mark.parametrize(
    "pairs",
    [
        [("q", "tropical fish"), ("type", "http://schema.org/Person"), ("type", "Recipe"), ("not_site", "a.test")],
        [("q", "x" * 5000), ("since", "2026-01-01"), ("sort", "newest"), ("from", "30")],
        [("since", "x" * LONGEST_DAY), ("type", "x" * LONGEST_VALUE), ("from", str(DEEPEST))],
        [("type", f"{number}") for number in range(MOST_VALUES)],
        [],
    ],
)
def test_what_is_plainly_right_is_read_by_hand(pairs: list[tuple[str, str]]) -> None:
    query_string = urlencode(pairs).encode()
    assert of_page(query_string) == (READ(query_string), 10)


@pytest.mark.parametrize(
    "wrong",
    [
        [("since", "x" * (LONGEST_DAY + 1))],
        [("not_type", "x" * (LONGEST_VALUE + 1))],
        [("type", f"{number}") for number in range(MOST_VALUES + 1)],
        [("sort", "worst")],
        [("from", str(DEEPEST + 1))],
        [("from", "-1")],
        [("from", "")],
        [("from", "9" * 5000)],
    ],
)
def test_what_cannot_be_is_left_to_fastapi_which_refuses_it(wrong: list[tuple[str, str]]) -> None:
    query_string = urlencode(wrong).encode()
    assert of_page(query_string) is None and of_json(query_string) is None and READ(query_string) is None


def test_a_limit_and_a_beginning_have_their_bounds() -> None:
    assert [of_json(b"q=a&limit=" + limit) is not None for limit in (b"1", b"100", b"0", b"101", b"x")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert of_suggestions(b"q=har") == (SearchAddress("har"), 10) and of_suggestions(b"") == (SearchAddress(), 10)
    assert of_suggestions(b"q=" + b"x" * (LONGEST_TYPED + 1)) is None
