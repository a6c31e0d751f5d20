"""The parameters of a search: described for FastAPI, which refuses in words what cannot be; and read by hand where they
are plainly right, which is nearly always, and costs far less."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Query as Parameter

from gossamer.values.query import Sort
from gossamer.web.search.address import DEEPEST, GROUPS, ORDERS, SearchAddress, asked_of

MOST_VALUES = 20
"""Of one filter; and of all together MOST_FILTERS, those typed among the words included (`search_address`)."""
LONGEST_VALUE = 2_048
LONGEST_DAY = 40
LONGEST_TYPED = 1_000
"""That suggestions are asked for."""
MOST_DIGITS = 6

Value = Annotated[str, Parameter(max_length=LONGEST_VALUE)]
Values = Annotated[tuple[Value, ...], Parameter(max_length=MOST_VALUES)]
"""With () to begin with: a default_factory is looked at anew for every request, which cost more than all the rest."""
Day = Annotated[str, Parameter(max_length=LONGEST_DAY, description="A date, 2026-11-15, or an RFC 3339 time.")]


async def asked(
    *,
    q: str = "",
    type: Values = (),
    not_type: Values = (),
    ontology: Values = (),
    not_ontology: Values = (),
    property: Values = (),
    not_property: Values = (),
    site: Values = (),
    not_site: Values = (),
    lang: Values = (),
    not_lang: Values = (),
    syntax: Values = (),
    not_syntax: Values = (),
    since: Day = "",
    until: Day = "",
    sort: Sort = "best",
    start: Annotated[int, Parameter(alias="from", ge=0, le=DEEPEST)] = 0,
) -> SearchAddress:
    """A dependency for FastAPI: the parameters of a search, the same for its page, its JSON and its CSV.

    It waits for nothing, but one that is not `async` is sent to another thread.
    """
    only = {"type": type, "ontology": ontology, "property": property, "site": site, "lang": lang, "syntax": syntax}
    never = {
        "type": not_type,
        "ontology": not_ontology,
        "property": not_property,
        "site": not_site,
        "lang": not_lang,
        "syntax": not_syntax,
    }
    return asked_of(q, only, never, since, until, sort, start)


_ONLY = {group.name: group.name for group in GROUPS}
_NEVER = {f"not_{group.name}": group.name for group in GROUPS}


def pairs_in(query_string: bytes) -> list[tuple[str, str]]:
    """As Starlette reads an address."""
    return parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)


def plainly_asked(pairs: list[tuple[str, str]]) -> SearchAddress | None:
    """The same as `asked` makes of them; None when something is not plainly right, and FastAPI must look at it."""
    single = {"q": "", "since": "", "until": "", "sort": "best", "from": "0"}
    only: dict[str, list[str]] = {}
    never: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in single:
            single[name] = value  # the last one counts
        elif name in _ONLY:
            only.setdefault(_ONLY[name], []).append(value)
        elif name in _NEVER:
            never.setdefault(_NEVER[name], []).append(value)
    filters = [*only.values(), *never.values()]
    start, sort = number_in(single["from"]), _SORTS.get(single["sort"])
    if (
        sort is None
        or not 0 <= start <= DEEPEST
        or max(len(single["since"]), len(single["until"])) > LONGEST_DAY
        or any(len(values) > MOST_VALUES or max(map(len, values)) > LONGEST_VALUE for values in filters)
    ):
        return None
    return asked_of(single["q"], only, never, single["since"], single["until"], sort, start)


_SORTS: dict[str, Sort] = {sort: sort for sort in ORDERS}


def number_in(text: str) -> int:
    """-1 when it is not written as everybody writes it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else -1
