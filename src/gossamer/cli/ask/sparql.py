"""`gossamer sparql`: a SPARQL query over the facts of a collection, also during a crawl."""

import asyncio
import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.base.clock import in_words
from gossamer.base.errors import QueryRefused
from gossamer.cli.flags import Dir
from gossamer.cli.output import RESULT_TYPES, note, print_result
from gossamer.collection.collection import Collection
from gossamer.store.directory import DEFAULT
from gossamer.views.facts.query_job import SparqlResult

FITS = "SELECT and ASK give csv, tsv, json or xml, CONSTRUCT and DESCRIBE give nt or ttl"


def sparql(
    query: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A SPARQL 1.1 query; - reads it from standard input.")
    ],
    *,
    dir: Dir = DEFAULT,
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
    form = "json" if json else format or ("table" if sys.stdout.isatty() else "")
    result = asyncio.run(answered(Collection.open(dir), text, RESULT_TYPES[form], inference, exact_names))
    if form not in ("", "table") and result.media_type != RESULT_TYPES[form]:
        raise QueryRefused(f"this result cannot be written as {form}: {FITS}")
    print_result(result.body, result.media_type, form)
    cut = "; cut at the limit of rows" if result.truncated else ""
    note(*(f"note: {words}" for words in result.notes), f"as of {in_words(result.as_of)}{cut}")
    return 0


async def answered(
    collection: Collection, query: str, accept: str, has_inference: bool, has_exact_names: bool
) -> SparqlResult:
    async with collection:
        return await collection.ask(query, accept, has_inference=has_inference, has_exact_names=has_exact_names)
