"""JSON-LD 1.1 in `<script type="application/ld+json">`, anywhere in a page (JSON-LD 1.1, 7).

Nothing is ever fetched: references to the schema.org context are replaced by the few of its terms that the script
uses (the whole context costs a hundred times as much to read), references to others by nothing. Every script stands
alone: what is wrong with one is flagged, and the others are read.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from pyoxigraph import Quad, RdfFormat, parse, serialize

from gossamer.extract import schema_org
from gossamer.extract.jsonrepair import repaired
from gossamer.extract.source import Found, Source
from gossamer.extract.terms import Labels, mended_iri
from gossamer.values.page import Triple
from gossamer.values.tree import Attributes

LARGEST_SCRIPT = 4 << 20
DEEPEST = 64
MOST_CONTEXT_WORK = 1_000_000
"""Local contexts times the terms they define: what applying them costs at worst."""

_FORBIDDEN_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\[\]]").search
_KEYWORDS = frozenset(("@id", "@type", "@language", "@index"))
_TYPED = frozenset(schema_org.TYPED)
_NAMING = schema_org.LINKS | {"@id", "id", "@type", "type"}
_decode = msgspec.json.decode
_encode = msgspec.json.encode

Json = Any
"""What a script holds: decoded JSON of any shape."""


class _Unreadable(Exception):
    """This script cannot be read; the flag says why. It never leaves this module."""

    def __init__(self, flag: str) -> None:
        super().__init__(flag)
        self.flag = flag


class Relabelled(dict[str, str]):
    """Our labels in order of first appearance, for the labels in a page's scripts and the parser's random ones."""

    def __init__(self, labels: Labels) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, label: str) -> str:
        self[label] = ours = self._labels.new()
        return ours


def read_jsonld(source: Source) -> Found:
    """The facts of all scripts, in document order."""
    found = Found()
    blank = Relabelled(source.labels)
    for script, tag, attributes in source.survey.elements:
        if tag != "script" or not _is_jsonld(attributes) or len(found.triples) >= source.at_most:
            continue
        triples, odd = read_script(script.text(), source.base, blank, source.at_most - len(found.triples))
        found.flags.extend(odd)
        found.triples.extend(triples)
        found.places.extend([script] * len(triples))
    return found


def _is_jsonld(attributes: Attributes) -> bool:
    return (attributes.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json"


def read_script(text: str, base: str, blank: Relabelled, at_most: int) -> tuple[list[Triple], list[str]]:
    """One script's facts and flags."""
    flags: list[str] = []
    try:
        root = _decoded(text, flags)
        if not isinstance(root, dict | list):
            return [], flags
        _Localising(flags).over(root)
        return _stated(root, base, blank, at_most, flags), flags
    except _Unreadable as trouble:
        return [], [*flags, trouble.flag]


def _decoded(text: str, flags: list[str]) -> Json:
    """None when there is nothing in it."""
    if len(text) > LARGEST_SCRIPT:
        raise _Unreadable("jsonld-too-large")
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    except RecursionError:
        raise _Unreadable("jsonld-too-deep") from None
    if not text.strip():
        return None
    try:
        roots = repaired(text)
    except RecursionError:
        raise _Unreadable("jsonld-too-deep") from None
    if not roots:
        raise _Unreadable("jsonld-broken")
    flags.append("jsonld-repaired")
    return roots[0] if len(roots) == 1 else roots


class _Localising:
    """One walk over a script, in place: contexts made local, bad IRIs mended, misused keywords taken out."""

    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._names: set[str] = set()
        self._coercible: list[tuple[dict[str, Json], str]] = []
        self._schema_org: dict[str, object] = {}
        self._contexts = 0
        self._terms = 0

    def over(self, root: Json) -> None:
        stack: list[tuple[Json, int]] = [(root, 1)]
        while stack:
            node, depth = stack.pop()
            if depth > DEEPEST:
                raise _Unreadable("jsonld-too-deep")
            inner = self._in_object(node, depth) if node.__class__ is dict else node
            for value in inner:
                if value.__class__ is dict or value.__class__ is list:
                    stack.append((value, depth + 1))
        if self._schema_org:
            self._fill_in()

    def _in_object(self, node: dict[str, Json], depth: int) -> Iterable[Json]:
        """Mends the object itself; what is inside its values is left for later."""
        self._names.update(node)
        if "@value" in node:
            return ()
        if not _KEYWORDS.isdisjoint(node):
            _take_out_misuse(node)
        for key in _NAMING.intersection(node):
            node[key] = self._mended(node[key])
        for key in _TYPED.intersection(node):
            self._coercible.append((node, key))
        if "@context" not in node:
            return node.values()
        node["@context"] = self._local(node["@context"], depth + 1)
        return [value for key, value in node.items() if key != "@context"]

    def _mended(self, value: Json) -> Json:
        """Spaces and the like inside an address are escaped; JSON-LD would otherwise drop the fact without a word."""
        if value.__class__ is list:
            return [self._mended(item) if item.__class__ is str else item for item in value]
        if value.__class__ is not str:
            return value
        if _FORBIDDEN_IN_IRI(value):
            value = value.strip()
            value = mended_iri(value) or value.replace(" ", "%20")
        self._names.add(value)
        return value

    def _local(self, context: Json, depth: int) -> Json:
        """`context` without anything that would have to be fetched."""
        if depth > DEEPEST:
            raise _Unreadable("jsonld-too-deep")
        local: list[Json] = []
        for one in context if isinstance(context, list) else [context]:
            self._contexts += 1
            if isinstance(one, str):
                local.append(self._bundled(one))
            elif isinstance(one, dict):
                local.append(self._own(one, depth))
            elif one is None:
                local.append(None)
        if self._contexts * (self._terms + 1) > MOST_CONTEXT_WORK:
            raise _Unreadable("jsonld-too-complex")
        return local[0] if len(local) == 1 else local

    def _bundled(self, reference: str) -> Json:
        if not schema_org.IS_SCHEMA_ORG(reference):
            self._note_unknown()
            return {}
        self._schema_org.setdefault("@vocab", schema_org.VOCABULARY)
        return self._schema_org

    def _own(self, context: dict[str, Json], depth: int) -> Json:
        """A context of the script's own; its terms may hold contexts in turn."""
        self._terms += 1 + len(context)
        if "@import" in context:
            self._note_unknown()
            del context["@import"]
        for definition in context.values():
            if isinstance(definition, dict) and "@context" in definition:
                definition["@context"] = self._local(definition["@context"], depth + 2)
        return context

    def _note_unknown(self) -> None:
        if "jsonld-unknown-context" not in self._flags:
            self._flags.append("jsonld-unknown-context")

    def _fill_in(self) -> None:
        """The prefixes and terms of schema.org that are used.

        The types it gives to values are written to the values themselves, which costs the parser far less than
        terms do; beside contexts of the script's own, which may say otherwise, the terms are defined."""
        known = self._schema_org
        used = {name.partition(":")[0] for name in self._names if ":" in name}
        if self._terms:
            used.update(schema_org.PREFIXES)
            known.update({key: schema_org.TERMS[key] for _, key in self._coercible})
        else:
            for node, key in self._coercible:
                node[key] = _typed(node[key], schema_org.TYPED[key])
        for prefix in used & schema_org.PREFIXES.keys():
            known[prefix] = schema_org.PREFIXES[prefix]
        for alias in self._names & schema_org.ALIASES.keys():
            known[alias] = schema_org.ALIASES[alias]


def _typed(value: Json, kind: str) -> Json:
    """`value` as type coercion would understand it (JSON-LD 1.1, 4.2.3)."""
    if isinstance(value, list):
        return [_typed(item, kind) for item in value]
    if kind == "@id":
        return {"@id": value} if isinstance(value, str) else value
    return value if isinstance(value, dict) or value is None else {"@value": value, "@type": kind}


def _take_out_misuse(node: dict[str, Json]) -> None:
    """A keyword with a value of the wrong kind would cost the whole script; without it the rest can be read."""
    for key in ("@id", "@language", "@index"):
        if key in node and not isinstance(node[key], str | dict | list):
            del node[key]
    if "@type" in node and not isinstance(node["@type"], str | dict):
        kinds = node["@type"] if isinstance(node["@type"], list) else []
        node["@type"] = [kind for kind in kinds if isinstance(kind, str)]


def _stated(root: Json, base: str, blank: Relabelled, at_most: int, flags: list[str]) -> list[Triple]:
    """Parse it; when the parser refuses it, parse its parts and keep what can be read."""
    encoded = _encode(root)
    try:
        if b"@graph" in encoded:
            return [_triple(quad, blank) for quad in islice(_quads(encoded, base), at_most)]
        lines = serialize(islice(_quads(encoded, base), at_most), format=RdfFormat.N_TRIPLES)
        return _split(lines or b"", blank)
    except (SyntaxError, ValueError):
        flags.append("jsonld-broken")
    triples: list[Triple] = []
    for part in _parts(root):
        try:
            for quad in islice(_quads(_encode(part), base), at_most - len(triples)):
                triples.append(_triple(quad, blank))
        except (SyntaxError, ValueError):
            continue
    return triples


def _quads(encoded: bytes, base: str) -> Iterator[Quad]:
    return parse(encoded, format=RdfFormat.JSON_LD, base_iri=base)


def _parts(root: Json) -> list[Json]:
    if isinstance(root, list):
        return root
    graph = root.get("@graph") if isinstance(root, dict) else None
    if isinstance(graph, list):
        return [{"@context": root.get("@context"), "@graph": [node]} for node in graph]
    return [root]


def _triple(quad: Quad, blank: Relabelled) -> Triple:
    """The name of a graph inside the script is left out: all that a page states belongs to the page's own graph."""
    subject, thing = str(quad.subject), str(quad.object)
    return Triple(
        blank[subject] if subject[0] == "_" else subject,
        str(quad.predicate),
        blank[thing] if thing[0] == "_" else thing,
    )


def _split(lines: bytes, blank: Relabelled) -> list[Triple]:
    """The same from N-Triples, which the parser writes faster than it makes objects."""
    triples = []
    for line in lines.decode().split(" .\n")[:-1]:
        subject, predicate, thing = line.split(" ", 2)
        if subject[0] == "_":
            subject = blank[subject]
        if thing[0] == "_":
            thing = blank[thing]
        triples.append(Triple(subject, predicate, thing))
    return triples
