"""Why a page ranks where it does: the BM25 score, in parts a person understands."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import tantivy

from gossamer.views.words.anchors import targets_of
from gossamer.views.words.dictionary import Form
from gossamer.views.words.query import (
    ANCHORS,
    BOOSTS,
    FORMS_TIE_BREAKER,
    OTHER_FORM,
    TIE_BREAKER,
    WantedWord,
    WordsQuery,
)
from gossamer.views.words.schema import Snapshot


class ScoreReason(msgspec.Struct, frozen=True):
    """A word in one part of the page."""

    field: str
    """"title", "headings", "content", "address", "rest", or "anchors" for links from other sites."""
    form: str
    """The word as it occurs there."""
    score: float
    """rarity x weight x (a number below 2.2 that grows with `times`, and more slowly in a long text)."""
    times: float = 0.0
    """How often it occurs there; 1 where tantivy only knows whether."""
    pages: int = 0
    """Pages that have it there, out of `Explanation.pages`."""
    rarity: float = 0.0
    length: float = 0.0
    """Words in this part of the page; the index rounds."""
    usual_length: float = 0.0
    weight: float = 1.0
    """By the part of the page, and less for another form of the word than the one in the query."""


class WordScore(msgspec.Struct, frozen=True):
    word: str
    score: float
    """The best reason's, plus a share of the others."""
    reasons: tuple[ScoreReason, ...]
    """Best first; empty: the word is not on the page."""


class Explanation(msgspec.Struct, frozen=True):
    url: str
    score: float
    words: tuple[WordScore, ...]
    pages: int
    has_all_words: bool
    omitted: tuple[str, ...] = ()
    rule: str = (
        f"A word counts by its best place, plus {TIE_BREAKER:.0%} of the others; "
        f"of several forms in one place the best counts, plus {FORMS_TIE_BREAKER:.0%} of the others."
    )


def explained(snapshot: Snapshot, asking: WordsQuery, url: str, url_id: int, place: tantivy.DocAddress) -> Explanation:
    words = tuple(_word(snapshot, asking, part, url_id, place) for part in asking.parts)
    total = sum(word.score for word in words)
    return Explanation(url, total, words, snapshot.pages, all(word.reasons for word in words), asking.omitted)


def _word(
    snapshot: Snapshot, asking: WordsQuery, part: WantedWord, url_id: int, place: tantivy.DocAddress
) -> WordScore:
    reasons = [*_reasons(snapshot, asking, part, place), *_pointed(snapshot, asking, part, url_id)]
    reasons.sort(key=lambda reason: -reason.score)
    return WordScore(" ".join(part.word.text), _score(part.query, snapshot, place), tuple(reasons))


def _reasons(
    snapshot: Snapshot, asking: WordsQuery, part: WantedWord, place: tantivy.DocAddress
) -> Iterator[ScoreReason]:
    for field, boost in BOOSTS.items():
        if part.word.field not in (None, field):
            continue
        for form, share, query in asking.places(part, field):
            found = _explained(query, snapshot, place)
            if found is not None:
                facts = dict(_facts(found))
                yield ScoreReason(
                    field=field,
                    form=form,
                    score=round(found["value"] * share * boost, 4),
                    times=facts.get("freq", 0.0),
                    pages=int(facts.get("n", 0)),
                    rarity=round(facts.get("idf", 0.0) * share / (1.0 if share == 1.0 else OTHER_FORM), 4),
                    length=facts.get("dl", 0.0),
                    usual_length=round(facts.get("avgdl", 0.0), 1),
                    weight=round(boost * (1.0 if form == part.tokens[0] or len(part.tokens) > 1 else OTHER_FORM), 3),
                )


def _pointed(snapshot: Snapshot, asking: WordsQuery, part: WantedWord, url_id: int) -> list[ScoreReason]:
    if part.word.field not in (None, "anchors") or part.word.is_prefix or part.word.is_fuzzy:
        return []
    wanted: list[list[Form]] = asking.pointing(part.word, part.tokens)
    score = targets_of(snapshot, wanted).get(url_id)
    return [ScoreReason("anchors", " ".join(part.tokens), round(ANCHORS * score, 4), weight=ANCHORS)] if score else []


def _score(query: tantivy.Query, snapshot: Snapshot, place: tantivy.DocAddress) -> float:
    found = _explained(query, snapshot, place)
    return round(float(found["value"]), 4) if found is not None else 0.0


def _explained(query: tantivy.Query, snapshot: Snapshot, place: tantivy.DocAddress) -> dict[str, Any] | None:
    """tantivy's explanation; None when the query does not match this page."""
    try:
        found = json.loads(query.explain(snapshot.searcher, place).to_json())
    except ValueError:  # no match
        return None
    return found if found["value"] else None


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The descriptions of tantivy's numbers begin with their symbol."""
    for detail in found.get("details") or ():
        yield detail["description"].partition(",")[0].partition(" ")[0], float(detail["value"])
        yield from _facts(detail)
