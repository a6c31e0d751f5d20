"""JSON-LD 1.1 in `<script type="application/ld+json">`, anywhere in a page (JSON-LD 1.1, 7).

Anywhere is wherever the HTML standard makes an element of it: in `<noscript>`, because we run no scripts, but neither
in `<template>`, whose content is no part of the page, nor in comments. Every script stands alone: what is wrong with
one is flagged, and the others are read.
"""

from collections.abc import Iterator
from itertools import islice

import msgspec
from pyoxigraph import Quad, RdfFormat, parse, serialize

from gossamer.extract.jsonld.contexts import HELD, Contexts
from gossamer.extract.jsonld.local import Json, Localising, Remarks, Unreadable
from gossamer.extract.jsonld.repair import SENTENCES, repaired
from gossamer.extract.source import FoundFacts, Notice, Source
from gossamer.extract.terms import Labels
from gossamer.values.page import Triple, new_tuple
from gossamer.values.tree import Attributes

LARGEST_SCRIPT = 4 << 20
MOST_PARTS = 1000
MOST_MEMBERS = 100
"""Of a script that is refused as a whole: parts that are tried by themselves, and members of a part."""

_decode = msgspec.json.decode
_encode = msgspec.json.encode


class Relabelled(dict[str, str]):
    """Our labels in order of first appearance, for the labels in a page's scripts and the parser's random ones."""

    def __init__(self, labels: Labels) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, label: str) -> str:
        self[label] = ours = self._labels.new()
        return ours


def read_jsonld(source: Source) -> FoundFacts:
    """The facts of all scripts, in document order."""
    found = FoundFacts()
    blank = Relabelled(source.labels)
    for script, _, attributes in [one for one in source.survey.elements if one[1] == "script"]:
        if not _is_jsonld(attributes) or len(found.triples) >= source.at_most:
            continue
        triples, remarks = read_script(
            script.text(), source.base, blank, source.at_most - len(found.triples), source.contexts
        )
        found.triples.extend(triples)
        found.places.extend([script] * len(triples))
        found.flags.extend(remarks.flags)
        if source.takes_notes:
            found.notices.extend([Notice(level, kind, says, script) for level, kind, says in remarks.sentences])
    return found


def _is_jsonld(attributes: Attributes) -> bool:
    return (attributes.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json"


def read_script(
    text: str, base: str, blank: Relabelled, at_most: int, contexts: Contexts = HELD
) -> tuple[list[Triple], Remarks]:
    """One script's facts, and what is odd about it."""
    remarks = Remarks()
    try:
        root = _decoded(text, remarks)
        if isinstance(root, dict | list):
            Localising(remarks, contexts).over(root)
            return _stated(root, base, blank, at_most, remarks), remarks
    except Unreadable as trouble:
        remarks.add("error", trouble.flag, trouble.says, trouble.flag)
    return [], remarks


def _decoded(text: str, remarks: Remarks) -> Json:
    """None when there is nothing in it."""
    if len(text) > LARGEST_SCRIPT:
        raise Unreadable("jsonld-too-large", f"It is longer than {LARGEST_SCRIPT >> 20} MiB.")
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    except RecursionError:
        raise _much_too_deep() from None
    if not text.strip():
        return None
    try:
        roots, breakages = repaired(text)
    except RecursionError:
        raise _much_too_deep() from None
    if not roots:
        raise Unreadable("jsonld-broken", "Invalid JSON, could not be repaired.")
    says = f"Invalid JSON (repaired): {', '.join([SENTENCES[kind] for kind in breakages])}."
    remarks.add("error", "jsonld-repaired", says, "jsonld-repaired")
    return roots[0] if len(roots) == 1 else roots


def _much_too_deep() -> Unreadable:
    return Unreadable("jsonld-too-deep", "It is nested too deeply to be read.")


def _stated(root: Json, base: str, blank: Relabelled, at_most: int, remarks: Remarks) -> list[Triple]:
    """Parse it; when the parser refuses it, parse its parts and keep what can be read."""
    encoded = _encode(root)
    try:
        return _parsed(encoded, base, blank, at_most)
    except SyntaxError as refusal:
        remarks.add("error", "jsonld-broken", f"It is no JSON-LD: {refusal.msg}.", "jsonld-broken")
    triples: list[Triple] = []
    for part in _parts(root)[:MOST_PARTS]:
        for piece in _read_alone(part, base):
            triples.extend(_parsed(piece, base, blank, at_most - len(triples)))
        if len(triples) >= at_most:
            break
    return triples


def _parts(root: Json) -> list[Json]:
    if isinstance(root, list):
        return root
    graph = root.get("@graph")
    if isinstance(graph, list):
        return [{"@context": root.get("@context"), "@graph": [node]} for node in graph]
    return [root]


def _read_alone(part: Json, base: str) -> Iterator[bytes]:
    """`part` as it is, or with those of its members only that the parser takes by themselves; or nothing."""
    encoded = _encode(part)
    if _is_accepted(encoded, base):
        yield encoded
        return
    if not isinstance(part, dict):
        return
    graph = part.get("@graph")
    node = graph[0] if isinstance(graph, list) and len(graph) == 1 else part
    if isinstance(node, dict) and len(node) <= MOST_MEMBERS:
        contexts = [*_listed(part.get("@context")), *(_listed(node.get("@context")) if node is not part else ())]
        members = [(key, value) for key, value in node.items() if key != "@context"]
        kept = {key: value for key, value in members if _is_accepted(_encode({"@context": contexts, key: value}), base)}
        encoded = _encode({"@context": contexts, **kept})
        if kept and _is_accepted(encoded, base):
            yield encoded


def _listed(context: Json) -> list[Json]:
    return context if isinstance(context, list) else [] if context is None else [context]


def _is_accepted(encoded: bytes, base: str) -> bool:
    try:
        return all(True for _ in _quads(encoded, base))
    except SyntaxError:
        return False


def _parsed(encoded: bytes, base: str, blank: Relabelled, at_most: int) -> list[Triple]:
    """N-Triples are written faster than objects are made, but know no named graphs.

    The name of a graph inside a script is left out: all that a page states belongs to the page's own graph. So is the
    direction of a text, which RDF 1.1 has no place for (JSON-LD 1.1 API, 8.2.2, when no `rdfDirection` is asked for).
    """
    try:
        lines = serialize(islice(_quads(encoded, base), at_most), format=RdfFormat.N_TRIPLES)
        triples = _split(lines or b"", blank)
    except ValueError:
        triples = [_triple(quad, blank) for quad in islice(_quads(encoded, base), at_most)]
    if b"@direction" in encoded:
        return [Triple(s, p, o[:-5] if o.endswith(("--ltr", "--rtl")) else o) for s, p, o in triples]
    return triples


def _quads(encoded: bytes, base: str) -> Iterator[Quad]:
    return parse(encoded, format=RdfFormat.JSON_LD, base_iri=base)


def _triple(quad: Quad, blank: Relabelled) -> Triple:
    subject, thing = str(quad.subject), str(quad.object)
    return Triple(
        blank[subject] if subject[0] == "_" else subject,
        str(quad.predicate),
        blank[thing] if thing[0] == "_" else thing,
    )


def _split(lines: bytes, blank: Relabelled) -> list[Triple]:
    triples = []
    for line in lines.decode().split(" .\n")[:-1]:
        subject, predicate, thing = line.split(" ", 2)
        if subject[0] == "_":
            subject = blank[subject]
        if thing[0] == "_":
            thing = blank[thing]
        triples.append(new_tuple(Triple, (subject, predicate, thing)))
    return triples
