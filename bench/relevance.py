"""Test collections with relevance judgements, searched with the real index and search, and with plain BM25."""

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import tantivy

from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.find import Search
from gossamer.search.query import parse
from gossamer.store.service import Service
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.words.opensearch.index import remove
from gossamer.views.words.opensearch.searcher import ServiceSearcher
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

DEEP = 10
Ask = Callable[[str], list[str]]


class Text(NamedTuple):
    id: str
    title: str
    words: str


class Collection(NamedTuple):
    name: str
    texts: list[Text]
    queries: dict[str, str]
    judged: dict[str, dict[str, dict[str, int]]]
    """By the name of the judgements ("graded", "binary"), query and text: the grade."""


def folder() -> Path | None:
    """The folder of the collections, in GOSSAMER_CONFORMANCE or next to the checkout; None if there is none."""
    named = os.environ.get("GOSSAMER_CONFORMANCE")
    places = [Path(named)] if named else [Path(__file__).parents[2] / "shared" / "conformance"]
    return next((place / "relevance" for place in places if (place / "relevance").is_dir()), None)


def collections(root: Path) -> list[str]:
    return sorted(one.name for one in root.iterdir() if (one / "docs.jsonl").is_file())


def load(root: Path, name: str) -> Collection:
    texts = [Text(one["id"], one["title"], one["text"]) for one in _lines(root / name / "docs.jsonl")]
    queries = {one["id"]: one["text"] for one in _lines(root / name / "queries.jsonl")}
    judged = {"graded": _grades(root / name / "qrels.tsv")}
    if (root / name / "qrels_binary.tsv").is_file():
        judged["binary"] = _grades(root / name / "qrels_binary.tsv")
    return Collection(name, texts, queries, judged)


def ndcg(ask: Ask, collection: Collection, judges: str) -> float:
    """Mean over the judged queries of the gain 2^grade - 1, discounted by log2 of the rank, relative to the ideal."""
    found = []
    for query, grades in collection.judged[judges].items():
        ideal = _gain(sorted(grades.values(), reverse=True)[:DEEP])
        if ideal:
            ranked = ask(collection.queries[query])[:DEEP]
            found.append(_gain([grades.get(one, 0) for one in ranked]) / ideal)
    return sum(found) / len(found)


@contextmanager
def gossamer(collection: Collection, address: str = "") -> Iterator[Ask]:
    """The texts as pages; queries go through the parser of the search page, as a user's do. `address`: that of an
    OpenSearch server, or empty for the embedded index."""
    if address:
        with _in_service(collection, address) as search:
            yield lambda query: [hit.url.rpartition("/")[2] for hit in search.find(parse(query)).hits]
        return
    with TemporaryDirectory() as scratch:
        writer = IndexWriter(Path(scratch) / "index", DiskFiles(), silent)
        writer.open()
        writer.replace([_reading(at, text) for at, text in enumerate(collection.texts)])
        writer.commit()
        search = Search(Searcher(Path(scratch) / "index"), None, SystemClock())
        try:
            yield lambda query: [hit.url.rpartition("/")[2] for hit in search.find(parse(query)).hits]
        finally:
            search.close()
            writer.close()


@contextmanager
def _in_service(collection: Collection, address: str) -> Iterator[Search]:
    """In an index that is removed at the end."""
    service = Service("views.words", address, SystemClock(), silent)
    name = f"bench-{collection.name}"
    remove(service, name)
    writer = ServiceWriter(service, WriterIdentity(name, "bench"), silent)
    writer.open()
    writer.replace([_reading(at, text) for at, text in enumerate(collection.texts)])
    writer.commit()
    writer.settle()
    search = Search(ServiceSearcher(service, name), None, SystemClock())
    try:
        yield search
    finally:
        remove(service, name)
        search.close()
        writer.close()


def plain_bm25(collection: Collection, k1: float = 1.2, b: float = 0.75) -> Ask:
    """Stemmed English words, title and text together, every word of the query counted."""
    analyzer = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stopword("english"))
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )
    tallies = [Counter(analyzer.analyze(f"{text.title} {text.words}")) for text in collection.texts]
    usual = sum(sum(tally.values()) for tally in tallies) / len(tallies)
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for at, tally in enumerate(tallies):
        length = k1 * (1 - b + b * sum(tally.values()) / usual)
        for word, times in tally.items():
            postings[word].append((at, times / (times + length)))

    def ask(query: str) -> list[str]:
        scores: dict[int, float] = defaultdict(float)
        for word in analyzer.analyze(query):
            having = postings.get(word, [])
            rarity = math.log(1 + (len(tallies) - len(having) + 0.5) / (len(having) + 0.5))
            for at, weight in having:
                scores[at] += rarity * weight
        best = sorted(scores, key=lambda at: (-scores[at], at))[:DEEP]
        return [collection.texts[at].id for at in best]

    return ask


def _reading(at: int, text: Text) -> Reading:
    page = Page(
        Url(f"https://collection.test/{text.id}"),
        "text/html",
        "utf-8",
        title=text.title,
        content=text.words,
        language="en",
    )
    return Reading(at, at + 1, page)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _grades(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        query, text, grade = line.split()
        if grade.lstrip("-").isdigit():
            found[query][text] = int(grade)
    return dict(found)


def _gain(grades: list[int]) -> float:
    return math.fsum((2**grade - 1) / math.log2(rank + 2) for rank, grade in enumerate(grades))
