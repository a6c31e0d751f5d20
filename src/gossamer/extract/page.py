"""Every fact a page states, in whatever syntax, from the one walk over its tree."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from gossamer.extract.jsonld import read_jsonld
from gossamer.extract.rdfa import read_rdfa
from gossamer.extract.source import Found, Host, Notice, Source
from gossamer.extract.terms import Labels, iri_term
from gossamer.values.page import MOST_TRIPLES, Triple
from gossamer.values.tree import Element, Survey
from gossamer.values.url import Url

READERS: dict[str, Callable[[Source], Found]] = {
    "rdfa": read_rdfa,
    "json-ld": read_jsonld,
}
"""By the name of the syntax, in the order of their precedence; a fact keeps the place where it was first found."""
SYNTAXES = tuple(READERS)


class Extraction(NamedTuple):
    """What was found: facts in document order within each syntax, none twice. The first three lists run in step."""

    triples: list[Triple]
    places: list[Element]
    """The element that states each fact."""
    stated_in: list[int]
    """The syntaxes that state each fact: bit n is SYNTAXES[n]."""
    syntaxes: tuple[str, ...]
    """Those that stated something."""
    flags: tuple[str, ...]
    notices: tuple[Notice, ...] = ()


def extract(
    survey: Survey,
    base: Url,
    capture_id: int,
    body: bytes,
    address: Url | None = None,
    *,
    host: Host = Host.HTML,
    syntaxes: Collection[str] = SYNTAXES,
    reads_roles: bool = False,
    takes_notes: bool = False,
) -> Extraction:
    """The facts of a page. `base` is its base address, `<base>` heeded; `address` its own, where they differ.

    Nothing a page can hold makes this raise, and nothing is fetched.
    """
    document = iri_term(base.text)
    own = document if address is None else iri_term(address.text)
    if document is None or own is None:
        return Extraction([], [], [], (), ("base-unusable",))
    labels = Labels(capture_id)
    source = Source(
        survey, document[1:-1], own[1:-1], labels, body, host, reads_roles=reads_roles, takes_notes=takes_notes
    )
    return _merged({name: READERS[name](source) for name in SYNTAXES if name in syntaxes})


def _merged(found: dict[str, Found]) -> Extraction:
    stated: dict[Triple, int] = {}
    places: list[Element] = []
    flags: list[str] = []
    notices: list[Notice] = []
    for name, one in found.items():
        bit = 1 << SYNTAXES.index(name)
        for triple, place in zip(one.triples, one.places, strict=True):
            known = stated.get(triple)
            if known is None:
                places.append(place)
                stated[triple] = bit
            else:
                stated[triple] = known | bit
        flags.extend(one.flags)
        notices.extend(one.notices)
    if len(stated) > MOST_TRIPLES:
        flags.append("too-many-facts")
    return Extraction(
        list(stated)[:MOST_TRIPLES],
        places[:MOST_TRIPLES],
        list(stated.values())[:MOST_TRIPLES],
        tuple([name for name, one in found.items() if one.triples]),
        tuple(dict.fromkeys(flags)),
        tuple(notices),
    )
