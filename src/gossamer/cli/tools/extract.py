"""`gossamer extract`: prints the structured data of one page in a given format."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from pyoxigraph import Quad, RdfFormat, Triple, parse, serialize

from gossamer.base.errors import ConfigError
from gossamer.cli.flags import NO_FETCH_FLAGS, ContextFolder, FetchFlags, PageSource
from gossamer.cli.output import note
from gossamer.cli.tools.single_page import own_contexts, page_of
from gossamer.extract.entities import entities_of
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.source import RdfaVersion
from gossamer.reader.extraction import NOT_MARKUP, PROCESSOR_GRAPH, Extracted
from gossamer.reader.extraction import extract as extracted_from
from gossamer.values.page import Triple as Fact
from gossamer.values.page import ntriples

Format = Literal["nq", "nt", "ttl", "jsonld", "json"]
Chosen = Literal["default", "processor"]
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Terminal control characters. They occur only in strings, where Turtle and JSON escape them alike."""


def extract(
    page: PageSource,
    *,
    base: Annotated[
        str | None, Parameter(help="The page's URL; for a file the default is https://page.invalid/ and its name.")
    ] = None,
    type: Annotated[
        str | None, Parameter(help="Its media type, such as application/xhtml+xml; detected if not given.")
    ] = None,
    syntax: Annotated[
        str | None, Parameter(help="Only these syntaxes, separated by commas: rdfa, json-ld, microdata, ...")
    ] = None,
    format: Annotated[
        Format | None,
        Parameter(help="N-Quads, N-Triples, Turtle, JSON-LD, or entities as JSON; ttl on a terminal, nq elsewhere."),
    ] = None,
    graph: Annotated[
        Chosen, Parameter(help="The page's facts, or RDFa's processor graph: remarks about its markup.")
    ] = "default",
    expand_vocab: Annotated[
        bool, Parameter(help="Add facts inferred from the vocabularies given with --vocab (RDFa Core 1.1, 10).")
    ] = False,
    vocab: Annotated[
        tuple[str, ...], Parameter(help="IRI=FILE: the vocabulary of that IRI is in that file. May be repeated.")
    ] = (),
    rdfa_version: Annotated[
        RdfaVersion | None, Parameter(help="Read RDFa by these rules, no matter which version the page declares.")
    ] = None,
    contexts: ContextFolder = None,
    web: FetchFlags = NO_FETCH_FLAGS,
) -> int:
    vocabularies = read_vocabularies(vocab)
    given = page_of(page, base, type, web.settings)
    found = extracted_from(
        given.body,
        given.url,
        given.media_type,
        syntaxes=None if syntax is None else [name for word in syntax.split(",") if (name := word.strip())],
        vocabularies=vocabularies,
        expand_vocabularies=expand_vocab,
        processor_graph=graph == "processor",
        rdfa_version=rdfa_version,
        contexts=None if contexts is None else own_contexts(contexts),
    )
    sys.stdout.buffer.write(written(found, graph, format or ("ttl" if sys.stdout.isatty() else "nq")))
    note(*(f"note: {words}" for words in notes(found, given.media_type)))
    return 0


def read_vocabularies(given: Sequence[str]) -> dict[str, bytes]:
    found = {}
    for text in given:
        iri, mark, name = text.rpartition("=")
        if not mark or not iri:
            raise ConfigError(f"--vocab {text}: write the vocabulary's IRI, = and its file: http://schema.org/=s.ttl")
        if not Path(name).is_file():
            raise ConfigError(f"--vocab {text}: there is no file {name}")
        found[iri] = Path(name).read_bytes()
    return found


def written(found: Extracted, graph: Chosen, form: Format) -> bytes:
    is_default = graph == "default"
    facts = found.facts if is_default else found.processor_graph
    if form == "nq":
        name = found.graph if is_default else PROCESSOR_GRAPH
        return "".join([f"{s} {p} {o} {name} .\n" for s, p, o in facts]).encode()
    text = WRITERS[form](facts).decode()
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04X}", text).encode()


def _turtle(facts: Sequence[Fact]) -> bytes:
    lines = ntriples(_by_subject(facts))
    used = {iri: prefix for prefix, iri in reversed(PREFIXES.items()) if prefix and f"<{iri}".encode() in lines}
    prefixes = {prefix: iri for iri, prefix in reversed(used.items())}
    return serialize(_triples(lines), format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def _jsonld(facts: Sequence[Fact]) -> bytes:
    """Expanded JSON-LD: every name in full, so that no context is needed."""
    whole = serialize(_triples(ntriples(_by_subject(facts))), format=RdfFormat.JSON_LD) or b"[]"
    return msgspec.json.format(whole) + b"\n"


def _json(facts: Sequence[Fact]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(entities_of(facts))) + b"\n"


WRITERS: dict[str, Callable[[Sequence[Fact]], bytes]] = {
    "nt": ntriples,
    "ttl": _turtle,
    "jsonld": _jsonld,
    "json": _json,
}


def _by_subject(facts: Sequence[Fact]) -> list[Fact]:
    """Facts grouped by subject, in the order the subjects appear."""
    by_subject: dict[str, list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault(fact.subject, []).append(fact)
    return [fact for group in by_subject.values() for fact in group]


def _triples(lines: bytes) -> list[Triple]:
    quads: list[Quad] = list(parse(lines, format=RdfFormat.N_TRIPLES))
    return [quad.triple for quad in quads]


def notes(found: Extracted, media_type: str) -> list[str]:
    """What people should know about the result."""
    found_notes = []
    if NOT_MARKUP in found.flags:
        found_notes.append(f"{media_type} is not markup; if the page is, use --type text/html")
    elif found.flags:
        found_notes.append(f"{', '.join(found.flags)}; `gossamer inspect` shows details")
    if not found.facts:
        found_notes.append("no structured data found")
    if "vocabulary-not-found" in found.flags or "vocabulary-unreadable" in found.flags:
        found_notes += [notice.says for notice in found.notices if notice.kind.startswith("vocabulary-")]
        found_notes.append("give a vocabulary with --vocab IRI=FILE")
    return found_notes
