"""What searches need to know of the whole index: pages, languages, how frequent words are. Kept for a while."""

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, TypeVar

from gossamer.views.words.opensearch.client import IndexClient
from gossamer.views.words.opensearch.mapping import WITH_WORDS
from gossamer.views.words.opensearch.query import WantedPart
from gossamer.views.words.schema import LEAST_SHARE, MOST_LANGUAGES, TRAITS, Cache, Lasting

T = TypeVar("T")


class Statistics:
    """Of one index. In a large index they change slowly, and serve some time although it grows."""

    def __init__(self, client: IndexClient) -> None:
        self._client = client
        self._lasting = Lasting(0)
        self._recall = Cache(5_000)
        self.pages = 0
        self.languages: tuple[str, ...] = ("en",)

    def reload(self) -> None:
        asked = {
            "languages": {"terms": {"field": "traits", "include": f"{TRAITS['languages']}.*", "size": MOST_LANGUAGES}}
        }
        found = self._client.search({"size": 0, "track_total_hits": True, "query": WITH_WORDS, "aggs": asked})
        pages = found.hits.total.value
        listed = [(str(one.key)[1:], one.doc_count) for one in found.buckets("languages")]
        least = LEAST_SHARE * sum(count for _, count in listed)
        self.languages = tuple(name for name, count in listed if count >= least) or ("en",)
        self._recall = Cache(5_000)
        if self._lasting.serves(pages):
            self._lasting.snapshots += 1
        else:
            self._lasting = Lasting(pages)
        self.pages = pages

    def rarity(self, pages: int) -> float:
        """BM25's inverse document frequency."""
        return log(1 + (max(0, self.pages - pages) + 0.5) / (pages + 0.5))

    def counts(self, parts: Sequence[WantedPart]) -> list[int]:
        """How many pages have each part of a query."""
        found = self.recall_each("counts", parts, self._counted)
        return [found[part] for part in parts]

    def recall(self, key: object, find: Callable[[], T]) -> T:
        """Until the next reload."""
        found: T = self._recall(key, find)
        return found

    def recall_each(
        self, kind: str, parts: Sequence[WantedPart], find: Callable[[Sequence[WantedPart]], Mapping[WantedPart, T]]
    ) -> dict[WantedPart, T]:
        """What is known of each part; what is not is found for all of them at once."""
        entries = self._lasting.recall.entries
        known: dict[WantedPart, Any] = {part: entries[kind, part] for part in parts if (kind, part) in entries}
        if missing := [part for part in parts if part not in known]:
            new = find(missing)
            for part in missing:
                known[part] = self._lasting.recall((kind, part), lambda part=part: new.get(part, {}))  # type: ignore[misc]
        return known

    def _counted(self, parts: Sequence[WantedPart]) -> Mapping[WantedPart, int]:
        return dict(zip(parts, self._client.counts([part.frequency() for part in parts]), strict=True))
