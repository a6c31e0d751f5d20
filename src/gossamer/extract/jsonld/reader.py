"""JSON-LD 1.1 in `<script type="application/ld+json">`, anywhere in a page (JSON-LD 1.1, 7).

Anywhere means wherever the HTML standard creates an element: in `<noscript>`, because we run no scripts, but not in
`<template>`, whose content is not part of the page, nor in comments. Errors of one script do not affect the others.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from pyoxigraph import Quad, RdfFormat, parse, serialize

from gossamer.extract.jsonld.contexts import Contexts
from gossamer.extract.jsonld.local import ContextLocalizer, Json, ScriptProblems, Unreadable
from gossamer.extract.source import FoundFacts, Notice, Source
from gossamer.values.page import Triple, new_tuple

LARGEST_SCRIPT = 4 << 20
MOST_PARTS = 1000
MOST_MEMBERS = 100
"""If a script is refused as a whole: parts that are tried separately, and members of a part."""

_TOO_DEEP = "It is nested too deeply to be read."
_decode = msgspec.json.decode
_encode = msgspec.json.encode

Relabelled = defaultdict[str, str]
"""Our blank node labels, in order of first appearance, for those of scripts and the parser's random ones."""


def read_jsonld(source: Source) -> FoundFacts:
    """The facts of all scripts, in document order."""
    found = FoundFacts()
    blank = Relabelled(source.labels.new)
    for script, _, attributes in [one for one in source.survey.elements if one[1] == "script"]:
        media_type = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if media_type != "application/ld+json" or len(found.triples) >= source.at_most:
            continue
        at_most = source.at_most - len(found.triples)
        triples, problems = read_script(script.text(), source.base, blank, at_most, source.contexts)
        found.triples.extend(triples)
        found.places.extend([script] * len(triples))
        found.flags.extend(problems.flags)
        if source.collects_notices:
            found.notices.extend([Notice(*notice, script) for notice in problems.notices])
    return found


def read_script(
    text: str, base: str, blank: Relabelled, at_most: int, contexts: Contexts
) -> tuple[list[Triple], ScriptProblems]:
    """The facts of one script, and its problems."""
    problems = ScriptProblems()
    try:
        root = _decoded(text, problems)
        if isinstance(root, dict | list):
            ContextLocalizer(problems, contexts).over(root)
            return _stated(root, base, blank, at_most, problems), problems
    except Unreadable as error:
        problems.add("error", error.flag, error.says, error.flag)
    return [], problems


def _decoded(text: str, problems: ScriptProblems) -> Json:
    """None if it is empty."""
    if len(text) > LARGEST_SCRIPT:
        raise Unreadable("jsonld-too-large", f"It is longer than {LARGEST_SCRIPT >> 20} MiB.")
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    except RecursionError:
        raise Unreadable("jsonld-too-deep", _TOO_DEEP) from None
    if not text.strip():
        return None
    try:
        roots, errors = repaired(text)
    except RecursionError:
        raise Unreadable("jsonld-too-deep", _TOO_DEEP) from None
    if not roots:
        raise Unreadable("jsonld-broken", "Invalid JSON, could not be repaired.")
    says = f"Invalid JSON (repaired): {', '.join([SENTENCES[kind] for kind in errors])}."
    problems.add("error", "jsonld-repaired", says, "jsonld-repaired")
    return roots[0] if len(roots) == 1 else roots


def _stated(root: Json, base: str, blank: Relabelled, at_most: int, problems: ScriptProblems) -> list[Triple]:
    """Parse the script; if the parser refuses it, keep those of its parts that can be read."""
    encoded = _encode(root)
    try:
        return _parsed(encoded, base, blank, at_most)
    except SyntaxError as error:
        problems.add("error", "jsonld-broken", f"Invalid JSON-LD: {error.msg}.", "jsonld-broken")
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
    """The part, or the part with only those members that the parser accepts by themselves, or nothing."""
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
    """Serialising to N-Triples is faster than creating objects, but fails for named graphs.

    Names of graphs in a script are dropped: all facts belong to the graph of the page. So is the direction of a text,
    which RDF 1.1 cannot express (JSON-LD 1.1 API, 8.2.2, without `rdfDirection`).
    """
    try:
        lines = serialize(islice(_quads(encoded, base), at_most), format=RdfFormat.N_TRIPLES)
        triples = _split(lines or b"", blank)
    except ValueError:
        quads = islice(_quads(encoded, base), at_most)
        terms = [(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads]
        triples = [Triple(blank[s] if s[0] == "_" else s, p, blank[o] if o[0] == "_" else o) for s, p, o in terms]
    if b"@direction" in encoded:
        return [Triple(s, p, o[:-5] if o.endswith(("--ltr", "--rtl")) else o) for s, p, o in triples]
    return triples


def _quads(encoded: bytes, base: str) -> Iterator[Quad]:
    return parse(encoded, format=RdfFormat.JSON_LD, base_iri=base)


def _split(lines: bytes, blank: Relabelled) -> list[Triple]:
    triples = []
    for line in lines.decode().split(" .\n")[:-1]:
        subject, predicate, value = line.split(" ", 2)
        if subject[0] == "_":
            subject = blank[subject]
        if value[0] == "_":
            value = blank[value]
        triples.append(new_tuple(Triple, (subject, predicate, value)))
    return triples


# JSON as people write it in pages: comments, trailing commas, CDATA, several roots, control characters, entities.
# What is certain is tried first. Only if nothing can be read after that, missing commas, unescaped quotation marks,
# single quotes and unclosed brackets are guessed.

LARGEST_REPAIR = 1 << 19
"""Repairing costs a hundred times as much as reading; longer scripts are not worth it."""
LARGEST_GUESS = 1 << 17
"""Guessing costs even more."""

SENTENCES = {
    "wrapped": "wrapped in CDATA or an HTML comment",
    "comment": "comment, which JSON does not allow",
    "comma": "trailing comma",
    "no-value": "name without a value",
    "undefined": "undefined, NaN or Infinity",
    "escape": "invalid escape in a string",
    "control-character": "unescaped control character (line break or tab) in a string",
    "entities": "quotation marks written as HTML entities",
    "missing-comma": "missing comma between two values",
    "quote-in-string": "unescaped quotation mark in a string",
    "single-quotes": "strings in single quotes",
    "bare-name": "name without quotes",
    "unclosed": "unclosed bracket",
    "several-roots": "several values in a row; put them in one array",
    "around": "text before or after the value",
}
"""The description of each error."""

_CDATA = re.compile(r"(?://|/\*)?[ \t]{0,8}(?:<!\[CDATA\[|\]\]>)[ \t]{0,8}(?:\*/)?|^\s*<!--|-->\s*$")
_TOKEN = re.compile(  # each alternative runs to the end when it is not closed, so that no input is scanned twice
    r"""
      (?P<string>"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z))
    | (?P<comment>/\*.*?(?:\*/|\Z) | //[^\n]*+ | <!--.*?(?:-->|\Z))
    | (?P<comma>,[\s,]*+)
    | (?P<empty>:(?=\s*+[,}\]]))
    | (?P<undefined>\b(?:undefined|NaN|Infinity)\b)
    """,
    re.VERBOSE | re.DOTALL,
)
_GUESSED = re.compile(
    r"""
      (?P<quote>["'])
    | (?P<name>(?<![\w$@-])[A-Za-z_$@][\w$@-]{0,99}+(?=\s*+:))
    | (?P<value>[}\]\d]\s*+(?=["{\[]))
    """,
    re.VERBOSE,
)
_AFTER_STRING = re.compile(
    r"\s*+(?:[:}\]]|\Z|,(?=\s*+(?:[\"'{\[\d}\]-]|[A-Za-z_$@][\w$@-]{0,99}+\s*+:|true|false|null)))"
)
_NEXT_LINE = re.compile(r"[ \t]*+\r?\n\s*+\"")
_QUOTED = re.compile(r"\\.|[\"']", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
_BETWEEN_ROOTS = re.compile(r"[\s,;\ufeff}\]]*")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


class RepairedJson(NamedTuple):
    roots: list[Any]
    """The values that can be read; empty if none."""
    errors: tuple[str, ...] = ()
    """Keys of SENTENCES."""


def repaired(text: str) -> RepairedJson:
    """What can be read from a script that is not valid JSON."""
    if len(text) > LARGEST_REPAIR:
        return RepairedJson([])
    repair = _Repair()
    roots = repair.read(repair.cleaned(text))
    if not roots and "&" in text:
        repair = _Repair("entities")
        text = unescape(text)
        roots = repair.read(repair.cleaned(text))
    if not roots and len(text) <= LARGEST_GUESS and _OPENING.search(text):
        roots = repair.read(repair.closed(repair.cleaned(text)))
        if not roots:
            repair = _Repair()
            roots = repair.read(repair.closed(repair.cleaned(repair.guessed(text))))
    return RepairedJson(roots, tuple([kind for kind in SENTENCES if kind in repair.errors]) if roots else ())


class _Repair:
    def __init__(self, *errors: str) -> None:
        self.errors = set(errors)

    def cleaned(self, text: str) -> str:
        """Run twice, because a comma is trailing only once the comment after it is removed."""
        unwrapped = _CDATA.sub(" ", text)
        if len(unwrapped) != len(text):
            self.errors.add("wrapped")
        return _TOKEN.sub(self._token, _TOKEN.sub(self._token, unwrapped))

    def _token(self, found: re.Match[str]) -> str:
        """Keep strings; replace or remove what JSON does not have."""
        kind, token = found.lastgroup, found[0]
        if kind == "string":
            return _ESCAPE.sub(self._escape, token) if "\\" in token else token
        if kind == "undefined":
            self.errors.add("undefined")
            return "null"
        if kind == "empty":
            self.errors.add("no-value")
            return ":null"
        if kind == "comment":
            self.errors.add("comment")
            return " "
        is_trailing = found.string[found.end() : found.end() + 1] in ("}", "]")
        if is_trailing or token.count(",") > 1:
            self.errors.add("comma")
        return " " if is_trailing else ","

    def _escape(self, found: re.Match[str]) -> str:
        """Escapes that JSON does not have (`\\'`, `\\x`) stand for the character itself."""
        escape = found[0]
        if escape[1] in '"\\/bfnrtu' and (escape[1] != "u" or len(escape) == 6):
            return escape
        self.errors.add("escape")
        return escape[1:]

    def guessed(self, text: str) -> str:
        """With proper quotation marks around strings and names, and commas between adjacent values."""
        written: list[str] = []
        at = 0
        while (found := _GUESSED.search(text, at)) is not None:
            written.append(text[at : found.start()])
            at = found.end()
            if found.lastgroup == "quote":
                inside, at = self._string(text, at, found[0])
                written.append(inside)
            elif found.lastgroup == "name":
                self.errors.add("bare-name")
                written.append(f'"{found[0]}"')
            else:
                self.errors.add("missing-comma")
                written.append(f"{found[0]},")
        return "".join([*written, text[at:]])

    def _string(self, text: str, start: int, quote: str) -> tuple[str, int]:
        """A string ends where valid JSON can follow, or if the next line begins with another string."""
        if quote == "'":
            self.errors.add("single-quotes")
        written: list[str] = []
        at = start
        while (found := _QUOTED.search(text, at)) is not None:
            written.append(text[at : found.start()])
            at = found.end()
            if found[0] != quote:
                written.append('\\"' if found[0] == '"' else found[0])
            elif _AFTER_STRING.match(text, at):
                return f'"{"".join(written)}"', at
            elif _NEXT_LINE.match(text, at):
                self.errors.add("missing-comma")
                return f'"{"".join(written)}",', at
            else:
                self.errors.add("quote-in-string")
                written.append('\\"' if quote == '"' else quote)
        return f'"{"".join(written)}', len(text)

    def closed(self, text: str) -> str:
        """With missing brackets added at the end."""
        opened: list[str] = []
        for found in _BRACKET.finditer(text):
            if found[0] in "{[":
                opened.append("}" if found[0] == "{" else "]")
            elif found[0] in "}]" and opened and opened[-1] == found[0]:
                opened.pop()
        if opened:
            self.errors.add("unclosed")
        return text.rstrip().rstrip(",") + "".join(reversed(opened))

    def read(self, text: str) -> list[Any]:
        """Consecutive objects and arrays; text before the first and after the last is skipped."""
        roots: list[Any] = []
        first = _OPENING.search(text)
        at = first.start() if first is not None else len(text)
        if text[:at].strip():
            self.errors.add("around")
        while at < len(text):
            try:
                root, at = _DECODER.raw_decode(text, at)
            except ValueError:
                self.errors.add("around")
                break
            if isinstance(root, dict | list):
                roots.append(_whole(root))
            between = _BETWEEN_ROOTS.match(text, at)
            if between is not None:
                if between[0].strip():
                    self.errors.add("around")
                at = between.end()
        if len(roots) > 1:
            self.errors.add("several-roots")
        if not self.errors:
            self.errors.add("control-character")
        return roots


def _whole(root: Any) -> Any:
    """Without halves of surrogate pairs, which no encoding can represent."""
    text = json.dumps(root, ensure_ascii=False)
    return json.loads(_HALF_PAIR.sub("\ufffd", text)) if _HALF_PAIR.search(text) else root
