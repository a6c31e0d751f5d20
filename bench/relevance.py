"""Collections with judgements, fed to the real index and asked through the real search; and a plain BM25 beside it."""

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
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
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
    questions: dict[str, str]
    judged: dict[str, dict[str, dict[str, int]]]
    """By the judges' name ("graded", "binary"), question and text: the grade."""


def folder() -> Path | None:
    """Where the collections lie: GOSSAMER_CONFORMANCE, or beside the checkout; None when nowhere."""
    named = os.environ.get("GOSSAMER_CONFORMANCE")
    places = [Path(named)] if named else [Path(__file__).parents[2] / "shared" / "conformance"]
    return next((place / "relevance" for place in places if (place / "relevance").is_dir()), None)


def collections(root: Path) -> list[str]:
    return sorted(one.name for one in root.iterdir() if (one / "docs.jsonl").is_file())


def load(root: Path, name: str) -> Collection:
    texts = [Text(one["id"], one["title"], one["text"]) for one in _lines(root / name / "docs.jsonl")]
    questions = {one["id"]: one["text"] for one in _lines(root / name / "queries.jsonl")}
    judged = {"graded": _grades(root / name / "qrels.tsv")}
    if (root / name / "qrels_binary.tsv").is_file():
        judged["binary"] = _grades(root / name / "qrels_binary.tsv")
    return Collection(name, texts, questions, judged)


def ndcg(ask: Ask, collection: Collection, judges: str) -> float:
    """Mean over the judged questions of the gain 2^grade - 1, discounted by log2 of the rank, against the ideal."""
    found = []
    for question, grades in collection.judged[judges].items():
        ideal = _gain(sorted(grades.values(), reverse=True)[:DEEP])
        if ideal:
            answered = ask(collection.questions[question])[:DEEP]
            found.append(_gain([grades.get(one, 0) for one in answered]) / ideal)
    return sum(found) / len(found)


@contextmanager
def gossamer(collection: Collection) -> Iterator[Ask]:
    """The texts as pages; asked as a person would, through the parser of the search page."""
    with TemporaryDirectory() as scratch:
        writer = IndexWriter(Path(scratch) / "index", DiskFiles(), silent)
        writer.open()
        writer.replace([_reading(at, text) for at, text in enumerate(collection.texts)])
        writer.commit()
        search = Search(Searcher(Path(scratch) / "index"), None, SystemClock())
        try:
            yield lambda question: [hit.url.rpartition("/")[2] for hit in search.find(parse(question)).hits]
        finally:
            search.close()
            writer.close()


def plain_bm25(collection: Collection, k1: float = 1.2, b: float = 0.75) -> Ask:
    """Stemmed English words, title and text as one, every word of the question counted."""
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

    def ask(question: str) -> list[str]:
        scores: dict[int, float] = defaultdict(float)
        for word in analyzer.analyze(question):
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
        question, text, grade = line.split()
        if grade.lstrip("-").isdigit():
            found[question][text] = int(grade)
    return dict(found)


def _gain(grades: list[int]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 2) for rank, grade in enumerate(grades))
