"""Anchor texts in OpenSearch: find pages by the words of other sites' links to them.

They are in the documents of their pages.

As in the embedded index (`views.words.anchors`), a limited number of pages is scanned; here for all words of a query at
once.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from gossamer.views.words.anchors import (
    AT_ONCE,
    COMMON,
    CROWD,
    FEW,
    FIRST,
    MOST_TARGETS,
    ROUNDS,
    SATURATION,
)
from gossamer.views.words.opensearch.answers import Boxed, Found
from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.index import POINTING, WITH_WORDS, stemmed
from gossamer.views.words.opensearch.matcher import Matcher
from gossamer.views.words.opensearch.query import Json, WantedPart, any_of
from gossamer.views.words.schema import Pointers

_POINTERS = msgspec.json.Decoder(Boxed[Pointers])


@dataclass(slots=True)
class _Scan:
    """What was read for one part of a query."""

    part: WantedPart
    matchers: Sequence[Matcher]
    total: int = 0
    sites: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    sites_read: set[str] = field(default_factory=set)
    crowds: list[str] = field(default_factory=list)
    is_agreed: bool = False
    is_done: bool = False

    def body(self) -> Json:
        wanted = [_pointing(self.part, matcher) for matcher in self.matchers]
        without = [{"terms": {"host": self.crowds}}] if self.crowds else []
        query = {"bool": {"must": wanted, "filter": [WITH_WORDS], "must_not": without}}
        return {"query": query, "size": AT_ONCE, "_source": ["pointers"], "track_total_hits": True}

    def read(self, found: Found, tokens_of: Callable[[str], list[str]]) -> None:
        """A page known by a common word shows up early: if the first sites agree on no target, more of them would add
        only random hits."""
        if not self.sites_read:
            self.total = found.hits.total.value
            self.is_agreed = self.total <= FEW
        per_site: dict[str, int] = defaultdict(int)
        for hit in found.hits.hits:
            pointers = _pointers_in(hit.source)
            if pointers is None:
                continue
            per_site[pointers.host] += 1
            if len(self.sites_read) >= FIRST and not self.is_agreed:
                break
            self.sites_read.add(pointers.host)
            for target, text in pointers.links:
                if self._has(tokens_of(text)):
                    self.sites[target].add(pointers.host)
                    self.is_agreed = self.is_agreed or len(self.sites[target]) > 1
        new = [host for host, pages in per_site.items() if pages >= CROWD]
        self.crowds += new
        is_common = self.total >= COMMON or (len(self.sites_read) >= FIRST and not self.is_agreed)
        self.is_done = is_common or len(found.hits.hits) < AT_ONCE or not new

    @property
    def best(self) -> list[int]:
        """The targets that most sites agree on."""
        return sorted(self.sites, key=lambda one: (-len(self.sites[one]), one))[:MOST_TARGETS]

    def _has(self, tokens: Sequence[str]) -> bool:
        """Whether the words are adjacent, in this order."""
        return any(
            all(matcher.accepts(token) for token, matcher in zip(tokens[at:], self.matchers, strict=False))
            for at in range(len(tokens) - len(self.matchers) + 1)
        )


def targets_of(
    client: IndexClient,
    parts: Sequence[WantedPart],
    tokens_of: Callable[[str], list[str]],
    rarity: Callable[[int], float],
) -> dict[WantedPart, dict[int, float]]:
    """By part, the indexed pages that other sites link to with its words, adjacent and in any form: `Url.id` and a
    score like BM25's."""
    scans = [_Scan(part, part.matchers) for part in parts if part.may_point]
    for _ in range(ROUNDS):
        waiting = [scan for scan in scans if not scan.is_done]
        for scan, found in zip(waiting, client.search_many([scan.body() for scan in waiting]), strict=True):
            scan.read(found, tokens_of)
    best = {scan.part: scan.best for scan in scans}
    present = _present(client, {target for targets in best.values() for target in targets})
    return {
        scan.part: {
            one: rarity(scan.total) * (1 + SATURATION) * len(scan.sites[one]) / (len(scan.sites[one]) + SATURATION)
            for one in best[scan.part]
            if one in present
        }
        for scan in scans
    }


def _pointing(part: WantedPart, matcher: Matcher) -> Json:
    """Pages whose links have the word, in any of its forms unless it is part of a phrase."""
    languages = () if matcher.is_exact else part.languages
    fields = dict.fromkeys([POINTING, *(stemmed(POINTING, language) for language in languages)])
    return any_of([{"match": {field: {"query": matcher.token, "operator": "and"}}} for field in fields])


def _present(client: IndexClient, targets: set[int]) -> set[int]:
    """Those that are indexed: most links lead to pages that were not crawled."""
    if not targets:
        return set()
    query = {"bool": {"filter": [{"terms": {"url_id": sorted(targets)}}, WITH_WORDS]}}
    hits = client.search({"query": query, "size": len(targets), "_source": False}).hits.hits
    return {hit.url_id for hit in hits}


def _pointers_in(source: dict[str, msgspec.Raw]) -> Pointers | None:
    packed = source.get("pointers")
    try:
        return _POINTERS.decode(packed).of if packed is not None else None
    except msgspec.MsgspecError:
        return None
