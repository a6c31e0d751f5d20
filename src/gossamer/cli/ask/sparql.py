"""`gossamer sparql`: a SPARQL query over the facts of a collection, also during a crawl."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import in_words
from gossamer.base.environment import real_outside
from gossamer.base.errors import QueryRefused
from gossamer.base.tell import silent
from gossamer.collection.directory import existing
from gossamer.collection.views import queries
from gossamer.store.directory import DEFAULT
from gossamer.values.format import harmless

FORMATS = {
    "": "text/tab-separated-values, text/turtle",
    "table": "application/sparql-results+json, text/turtle",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "nt": "application/n-triples",
    "ttl": "text/turtle",
}

FITS = "SELECT and ASK give csv, tsv, json or xml, CONSTRUCT and DESCRIBE give nt or ttl"


def sparql(
    query: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A SPARQL 1.1 query; - reads it from standard input.")
    ],
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    format: Annotated[
        Literal["table", "csv", "tsv", "json", "xml", "nt", "ttl"] | None,
        Parameter(help="Output format; table on a terminal, tsv elsewhere, ttl for triples."),
    ] = None,
    json: Annotated[bool, Parameter(help="The same as --format json.")] = False,
    exact_names: Annotated[
        bool,
        Parameter(help="Match IRIs only as spelled here; otherwise variants match too (http and https://schema.org/)."),
    ] = False,
    inference: Annotated[
        bool,
        Parameter(
            help="Also find facts inferred from the vocabularies (rdfs:subClassOf, rdfs:subPropertyOf), those of "
            "vocabulary.ttl included; as inference=rdfs does on the web."
        ),
    ] = False,
) -> int:
    text = sys.stdin.read() if query == "-" else query
    return asyncio.run(_sparql(text, dir, "json" if json else format, inference, exact_names))


async def _sparql(query: str, root: Path, form: str | None, has_inference: bool, has_exact_names: bool) -> int:
    directory, outside = existing(root), real_outside()
    form = form or ("table" if sys.stdout.isatty() else "")
    async with queries(directory, outside, silent) as ask:
        result = await ask(query, FORMATS[form], has_inference=has_inference, has_exact_names=has_exact_names)
    if FORMATS[form].partition(",")[0] != result.media_type and form not in ("", "table"):
        raise QueryRefused(f"this result cannot be written as {form}: {FITS}")
    if form == "table" and result.media_type == FORMATS["json"]:
        Console().print(tabled(result.body))
    else:
        sys.stdout.write(result.body.decode("utf-8", "replace"))
        sys.stdout.write("" if result.body.endswith(b"\n") else "\n")
    for words in result.notes:
        print(f"note: {words}", file=sys.stderr)
    note = "; cut at the limit of rows" if result.truncated else ""
    print(f"as of {in_words(result.as_of)}{note}", file=sys.stderr)
    return 0


def tabled(results: bytes) -> Table | Text:
    """SPARQL 1.1 results in JSON, for a person."""
    found = msgspec.json.decode(results)
    if "boolean" in found:
        return Text("yes" if found["boolean"] else "no")
    names = found["head"]["vars"]
    table = Table(*(f"?{name}" for name in names), box=None)
    for row in found["results"]["bindings"]:
        table.add_row(*(Text(harmless(_term(row[name])) if name in row else "", overflow="fold") for name in names))
    if not found["results"]["bindings"]:
        return Text("nothing matches", style="dim")
    return table


def _term(term: dict[str, str]) -> str:
    return f"_:{term['value']}" if term["type"] == "bnode" else str(term["value"])
