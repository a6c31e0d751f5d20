"""Why a page ranks where it does, from the explanation of OpenSearch."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gossamer.values.url import Url
from gossamer.views.words.explanation import Explanation, ScoreReason, WordScore
from gossamer.views.words.opensearch.answers import Document, Score
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.documents import card_in, sources, text_in
from gossamer.views.words.opensearch.index import SCORED, STEMS
from gossamer.views.words.opensearch.matcher import folded
from gossamer.views.words.opensearch.query import SearchBody, WantedPart
from gossamer.views.words.query import ANCHORS, BOOSTS

_LEAF = re.compile(r"weight\((\w+):(.*) in \d+\)", re.DOTALL)
_CONSTANT = re.compile(r"(\w+):")
MOST_FORMS = 5
"""Forms of one word that are listed."""
SATURATED = 2.2
"""The part k1 + 1 that Lucene multiplies each weight by."""
RULE = "A word counts by its best place, plus 30% of the others; the exact word counts a little more than its forms."


def explained(client: IndexClient, asked: SearchBody, url: Url, pages: int) -> Explanation | None:
    """None when the page is not in the index."""
    only = {"term": {"url_id": url.id}}
    whole = {"size": 1, "query": {"bool": {"filter": [only, {"exists": {"field": "copy"}}]}}}
    bodies = [
        {
            "size": 1,
            "explain": True,
            "_source": False,
            "query": {"bool": {"must": [asked.query_of(part)], "filter": [only]}},
        }
        for part in asked.parts
    ]
    stored, *answers = client.search_many([whole | {"_source": sources(*SCORED)}, *bodies])
    if not stored.hits.hits:
        return None
    texts = _texts(stored.hits.hits[0])
    words = tuple(
        _word(part, answer.hits.hits[0] if answer.hits.hits else None, texts)
        for part, answer in zip(asked.parts, answers, strict=True)
    )
    total = sum(word.score for word in words)
    return Explanation(url.text, total, words, pages, all(word.reasons for word in words), asked.omitted, RULE)


def _texts(hit: Document) -> Mapping[str, str]:
    card = card_in(hit)
    texts = {field: text_in(hit, field) for field in SCORED}
    return {field: folded(text) for field, text in texts.items()} | ({"title": folded(card.title)} if card else {})


def _word(part: WantedPart, hit: Document | None, texts: Mapping[str, str]) -> WordScore:
    words = " ".join(part.word.text)
    if hit is None or hit.explanation is None:
        return WordScore(words, 0.0, ())
    best: dict[str, ScoreReason] = {}
    for reason in _reasons(hit.explanation, part, texts):
        known = best.get(reason.field)
        if known is None or known.score < reason.score:
            best[reason.field] = reason
    ranked = sorted(best.values(), key=lambda one: -one.score)
    return WordScore(words, round(hit.score or 0.0, 4), tuple(ranked))


def _reasons(found: Score, part: WantedPart, texts: Mapping[str, str]) -> Iterator[ScoreReason]:
    """One for each word in each field that the explanation names."""
    if not found.value:
        return
    if leaf := _LEAF.match(found.description):
        field = _plain(leaf[1])
        yield _counted(found, field, _form(part, leaf[2], texts.get(field, "")))
    elif not found.details or found.description.startswith("ConstantScore"):
        if (constant := _CONSTANT.search(found.description)) is None:
            return
        if constant[1] == "url_id":
            yield ScoreReason("anchors", " ".join(part.tokens), round(found.value, 4), weight=ANCHORS)
        elif (field := _plain(constant[1])) in BOOSTS:
            form = _form(part, part.tokens[0], texts.get(field, ""))
            yield ScoreReason(field, form, round(found.value, 4), weight=BOOSTS[field])
    else:
        for detail in found.details:
            yield from _reasons(detail, part, texts)


def _counted(found: Score, field: str, form: str) -> ScoreReason:
    facts = dict(_facts(found.details))
    return ScoreReason(
        field=field,
        form=form,
        score=round(found.value, 4),
        times=facts.get("freq", facts.get("phraseFreq", 0.0)),
        pages=int(facts.get("n", 0)),
        rarity=round(facts.get("idf", 0.0), 4),
        length=facts.get("dl", 0.0),
        usual_length=round(facts.get("avgdl", 0.0), 1),
        weight=round(facts.get("boost", SATURATED) / SATURATED, 3),
    )


def _facts(details: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """The descriptions of Lucene's numbers begin with their symbol."""
    for detail in details:
        symbol = detail.description.partition(",")[0].partition(" ")[0].partition("=")[0]
        yield symbol, detail.value
        yield from _facts(detail.details)


def _plain(field: str) -> str:
    """`content_english` is `content`."""
    name, _, stem = field.rpartition("_")
    return name if stem in STEMS else field


def _form(part: WantedPart, term: str, text: str) -> str:
    """The word as it occurs in the text, in several forms perhaps: the index has its stem."""
    if len(part.tokens) > 1 or not part.matchers:
        return " ".join(part.tokens)
    (matcher,) = part.matchers
    if matcher.word.is_fuzzy or matcher.is_exact:
        return term
    return ", ".join(matcher.words_in(text)[:MOST_FORMS]) or part.tokens[0]
