"""Every fact a page states, in whatever syntax, from its one parsed tree."""

import msgspec

from gossamer.extract.jsonld import read_jsonld
from gossamer.extract.rdfa import read_rdfa
from gossamer.extract.terms import Labels, iri_term
from gossamer.values.page import MOST_TRIPLES, Triple
from gossamer.values.tree import Tree
from gossamer.values.url import Url

RDFA = "rdfa"
JSON_LD = "json-ld"


class Extraction(msgspec.Struct, frozen=True):
    """What was found: facts in document order within each syntax, none twice."""

    triples: list[Triple]
    syntaxes: tuple[str, ...]
    """Those that stated something."""
    flags: tuple[str, ...]


def extract(tree: Tree, base: Url, capture_id: int, body: bytes, address: Url | None = None) -> Extraction:  # noqa: ARG001
    """The facts of a page. `base` is its base address, `<base>` heeded; `address` its own, where they differ.

    Nothing a page can hold makes this raise, and nothing is fetched. A syntax that is not there costs one selector
    over the tree, which is cheaper than any search of `body` and exact; the bytes are for syntaxes to come.
    """
    document = iri_term(base.text)
    own = document if address is None else iri_term(address.text)
    if document is None or own is None:
        return Extraction([], (), ("base-unusable",))
    labels = Labels(capture_id)
    stated: dict[Triple, None] = {}
    syntaxes: list[str] = []
    flags: list[str] = []
    for syntax, read in ((RDFA, read_rdfa), (JSON_LD, read_jsonld)):
        triples, odd = read(tree, document[1:-1], own[1:-1], labels, MOST_TRIPLES + 1)
        if triples:
            syntaxes.append(syntax)
            stated.update(dict.fromkeys(triples))
        flags.extend(odd)
    facts = list(stated)
    if len(facts) > MOST_TRIPLES:
        flags.append("too-many-facts")
        del facts[MOST_TRIPLES:]
    return Extraction(facts, tuple(syntaxes), tuple(dict.fromkeys(flags)))
