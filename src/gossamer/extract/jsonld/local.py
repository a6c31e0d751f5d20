"""A JSON-LD script prepared for the parser.

Contexts made local, bad IRIs repaired, misused keywords removed.

Nothing is ever fetched. A reference to a bundled context (schema.org, Activity Streams) is replaced by the few of its
terms that the script uses: reading the whole context costs a hundred times as much. References to others are removed.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from gossamer.extract.jsonld.contexts import (
    ACTIVITY_PREFIXES,
    ACTIVITY_TERMS,
    IS_ACTIVITY_STREAMS,
    IS_SCHEMA_ORG,
    SCHEMA_ALIASES,
    SCHEMA_LINKS,
    SCHEMA_ORG,
    SCHEMA_TERMS,
    SCHEMA_TYPED,
    Contexts,
    key_of,
)
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.terms import joined, repaired_iri

DEEPEST = 64
_TOO_DEEP = f"It nests more than {DEEPEST} levels deep."
LONGEST_CHAIN = 64
"""Terms of a context that are each defined by the next. The parser recurses for each."""
MOST_CONTEXT_WORK = 1_000_000
"""Local contexts times the terms they define: the worst-case cost of applying them."""
MOST_NOTICES = 100

_SAME_PREFIXES = "csvw dcat dcterms foaf odrl org owl prov qb rdf rdfs schema skos sosa ssn time void xml xsd"
SCHEMA_PREFIXES = {
    **{prefix: PREFIXES[prefix] for prefix in _SAME_PREFIXES.split()},
    "brick": "https://brickschema.org/schema/Brick#",
    "dc": PREFIXES["dc11"],
    "dcam": "http://purl.org/dc/dcam/",
    **dict.fromkeys(("dcmitype", "dctype"), "http://purl.org/dc/dcmitype/"),
    "dct": PREFIXES["dc"],
    "doap": "http://usefulinc.com/ns/doap#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "sh": "http://www.w3.org/ns/shacl#",
    "vann": "http://purl.org/vocab/vann/",
}
"""Prefixes that the schema.org context defines."""

_FORBIDDEN_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\[\]]").search
_KEYWORDS = frozenset(("@id", "@type", "@language", "@index"))
_TYPED = frozenset(SCHEMA_TYPED)
_NAMING = SCHEMA_LINKS | {"@id", "id", "@type", "type"}

Level = Literal["error", "warning", "info"]
Json = Any
"""Decoded JSON of any shape."""


class Unreadable(Exception):
    """This script cannot be read; the flag says why. Caught within this folder."""

    def __init__(self, flag: str, says: str) -> None:
        super().__init__(flag)
        self.flag = flag
        self.says = says


class ScriptProblems:
    """Those of one script: flags for the page, notices for its author."""

    __slots__ = ("flags", "notices")

    def __init__(self) -> None:
        self.flags: list[str] = []
        self.notices: list[tuple[Level, str, str]] = []

    def add(self, level: Level, kind: str, says: str, flag: str = "") -> None:
        if flag and flag not in self.flags:
            self.flags.append(flag)
        if len(self.notices) < MOST_NOTICES:
            self.notices.append((level, kind, says))

    def note_misuse(self, says: str) -> None:
        self.add("error", "jsonld-misused-keyword", f"{says}; its value is ignored.", "jsonld-repaired")


class ContextLocalizer:
    """One walk over a script, in place."""

    def __init__(self, problems: ScriptProblems, contexts: Contexts) -> None:
        self._problems = problems
        self._given = contexts
        self._opened: set[str] = set()
        """The given contexts that led to the one being read: cycles are not followed."""
        self._names: set[str] = set()
        self._coercible: list[tuple[dict[str, Json], str]] = []
        self._verbatim: set[str] = set()
        self._schema_org: dict[str, object] = {}
        self._activity_streams: dict[str, object] = {}
        self._contexts = 0
        self._terms = 0

    def over(self, root: Json) -> None:
        stack: list[tuple[Json, int]] = [(root, 1)]
        while stack:
            node, depth = stack.pop()
            if depth > DEEPEST:
                raise Unreadable("jsonld-too-deep", _TOO_DEEP)
            inner = self._in_object(node, depth) if node.__class__ is dict else node
            for value in inner:
                if value.__class__ is dict or value.__class__ is list:
                    stack.append((value, depth + 1))
        if self._activity_streams:
            known = ACTIVITY_TERMS
            self._activity_streams.update({name: known[name] for name in self._names & known.keys()})
        if self._schema_org:
            self._fill_in()

    def _in_object(self, node: dict[str, Json], depth: int) -> Iterable[Json]:
        """Repair the object itself; returns the values to walk later."""
        self._names.update(node)
        if "@value" in node:
            return ()
        if not _KEYWORDS.isdisjoint(node):
            self._remove_misuse(node)
        for key in _NAMING.intersection(node):
            node[key] = self._with_valid_iris(node[key])
        for key in _TYPED.intersection(node):
            self._coercible.append((node, key))
        if "@context" in node:
            node["@context"] = self._local(node["@context"], depth + 1)
        elif not self._verbatim:
            return node.values()
        return [value for key, value in node.items() if key != "@context" and key not in self._verbatim]

    def _with_valid_iris(self, value: Json) -> Json:
        """Escape spaces and the like in URLs: JSON-LD would otherwise drop the fact silently."""
        if value.__class__ is list:
            return [self._with_valid_iris(item) if item.__class__ is str else item for item in value]
        if value.__class__ is not str:
            return value
        if _FORBIDDEN_IN_IRI(value):
            self._problems.add("warning", "jsonld-bad-address", f"{value[:200]!r} is not a valid URL.")
            value = value.strip()
            value = repaired_iri(value) or value.replace(" ", "%20")
        self._names.add(value)
        return value

    def _remove_misuse(self, node: dict[str, Json]) -> None:
        """Remove keywords with values of the wrong kind, which would make the whole script unreadable."""
        for key in ("@id", "@language", "@index"):
            if key in node and not isinstance(node[key], str | dict | list):
                del node[key]
                self._problems.note_misuse(f"{key} must be a string")
        kinds = node.get("@type", "")
        if not isinstance(kinds, str | dict):
            node["@type"] = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
            if node["@type"] != kinds:
                self._problems.note_misuse("@type must be a string")

    def _local(self, context: Json, depth: int) -> Json:
        """The context without anything that would have to be fetched."""
        if depth > DEEPEST:
            raise Unreadable("jsonld-too-deep", _TOO_DEEP)
        local: list[Json] = []
        for one in context if isinstance(context, list) else [context]:
            self._contexts += 1
            if isinstance(one, str):
                found = self._bundled(one, depth)
                local.extend(found if isinstance(found, list) else [found])
            elif isinstance(one, dict) or one is None:
                local.append(self._own(one, depth) if one is not None else None)
            else:
                self._problems.note_misuse("@context must be a URL or an object")
        if self._contexts * (self._terms + 1) > MOST_CONTEXT_WORK:
            raise Unreadable("jsonld-too-complex", "Its contexts define more than will be read.")
        return local[0] if len(local) == 1 else local

    def _bundled(self, reference: str, depth: int) -> Json:
        if IS_SCHEMA_ORG(reference):
            self._schema_org.setdefault("@vocab", SCHEMA_ORG)
            return self._schema_org
        if IS_ACTIVITY_STREAMS(reference):
            self._terms += len(ACTIVITY_PREFIXES)
            self._activity_streams.update(ACTIVITY_PREFIXES)
            return self._activity_streams
        key = key_of(reference)
        if key in self._given and key not in self._opened:
            self._opened.add(key)
            found = self._local(msgspec.json.decode(self._given[key])["@context"], depth + 1)
            self._opened.discard(key)
            return found
        self._note_unknown(reference)
        return {}

    def _own(self, context: dict[str, Json], depth: int) -> Json:
        """A context written in the script; its terms may contain contexts in turn."""
        self._terms += 1 + len(context)
        if has_long_chain(context):
            says = f"Its context defines more than {LONGEST_CHAIN} terms each by the next."
            raise Unreadable("jsonld-too-deep", says)
        if "@import" in context:
            self._note_unknown(context.pop("@import"))
        if isinstance(context.get("@base"), str):
            context["@base"] = self._usable_base(context["@base"])
        for term, definition in context.items():
            if isinstance(definition, dict):
                if "@context" in definition:
                    definition["@context"] = self._local(definition["@context"], depth + 2)
                if definition.get("@type") == "@json":  # the value is plain JSON
                    self._verbatim.add(term)
        return context

    def _usable_base(self, base: str) -> str | None:
        """The base without dot segments, which the parser does not remove (RFC 3986, 5.2.4); None if it is no URL: the
        parser would refuse the whole script."""
        if _FORBIDDEN_IN_IRI(base):
            self._problems.add("error", "jsonld-bad-address", f"@base {base[:200]!r} is not a URL.", "jsonld-repaired")
            return None
        if ("/./" in base or "/../" in base) and base.startswith(("http://", "https://")):
            return joined(base, base) or base
        return base

    def _note_unknown(self, reference: Json) -> None:
        says = (
            f"The context {str(reference)[:200]!r} is not available, and none is ever fetched: its names are unknown. "
            "Put it into a folder of contexts (`contexts/` in the collection, or --contexts)."
        )
        self._problems.add("warning", "jsonld-unknown-context", says, "jsonld-unknown-context")

    def _fill_in(self) -> None:
        """Add the prefixes and terms of schema.org that are used.

        Types of values are written into the values, which is far cheaper for the parser than terms. If the script has
        contexts of its own, which may redefine them, the terms are defined instead."""
        known = self._schema_org
        used = {name.partition(":")[0] for name in self._names if ":" in name}
        if self._terms:
            used.update(SCHEMA_PREFIXES)
            known.update({key: SCHEMA_TERMS[key] for _, key in self._coercible})
        else:
            for node, key in self._coercible:
                node[key] = _typed(node[key], SCHEMA_TYPED[key])
        for prefix in used & SCHEMA_PREFIXES.keys():
            known[prefix] = SCHEMA_PREFIXES[prefix]
        for alias in self._names & SCHEMA_ALIASES.keys():
            known[alias] = SCHEMA_ALIASES[alias]


def has_long_chain(context: dict[str, Json]) -> bool:
    """Whether more than `LONGEST_CHAIN` terms are each defined by the next (JSON-LD 1.1 API, 4.2.2)."""
    done: dict[str, int] = {}
    """The length of the chain that starts with a term; 0 while it is being followed."""
    for start in context if len(context) > LONGEST_CHAIN else ():
        path = [(start, _needed(context, start))] if start not in done else []
        while path:
            term, needed = path[-1]
            done.setdefault(term, 0)
            if len(path) > LONGEST_CHAIN:
                return True
            following = needed.pop() if needed else None
            if following is None:
                path.pop()
                done[term] = 1 + max((done[one] for one in _needed(context, term) if one in done), default=0)
            elif following not in done:
                path.append((following, _needed(context, following)))
            elif len(path) + done[following] > LONGEST_CHAIN:
                return True
    return False


def _needed(context: dict[str, Json], term: str) -> list[str]:
    """The terms of the same context that this one depends on."""
    definition = context[term]
    values = definition.values() if isinstance(definition, dict) else (definition,)
    names = [value for value in (term, *values) if isinstance(value, str)]
    found = {name for one in names for name in (one, one.partition(":")[0])}
    return [name for name in found if name != term and name in context]


def _typed(value: Json, kind: str) -> Json:
    """The value after type coercion (JSON-LD 1.1, 4.2.3)."""
    if isinstance(value, list):
        return [_typed(item, kind) for item in value]
    if kind == "@id":
        return {"@id": value} if isinstance(value, str) else value
    return value if isinstance(value, dict) or value is None else {"@value": value, "@type": kind}
