"""Requests to one index in OpenSearch, with answers of bounded size.

Also what they say of the whole index.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import log
from typing import Any, TypeVar

import msgspec

from gossamer.base.errors import DirectoryUnusable, GossamerError, QueryRefused
from gossamer.store.service import AWAY, MIB, Service, ServiceLost, ServiceRefused
from gossamer.views.words.opensearch.answers import Found, FoundMany
from gossamer.views.words.opensearch.index import WITH_WORDS
from gossamer.views.words.opensearch.query import WantedPart
from gossamer.views.words.schema import LEAST_SHARE, MOST_LANGUAGES, TRAITS, Cache, Lasting

T = TypeVar("T")
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
SEARCH_S = 20.0
"""A search that takes longer has failed."""
MOST_BYTES = 256 * MIB
STRICT = "allow_partial_search_results=false"
"""No answer rather than one that lacks the pages of a part that is away."""
_ENCODER = msgspec.json.Encoder()


class IndexClient:
    """For any number of threads."""

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name

    def search(self, body: dict[str, Any]) -> Found:
        """A body with a point in time (`pit`) names no index: that has been named when it was made."""
        index = "" if "pit" in body else f"/{self.name}"
        path = f"{index}/_search?{STRICT}"
        return self._ask("POST", path, _ENCODER.encode(body), Found)

    def search_many(self, bodies: Sequence[dict[str, Any]]) -> list[Found]:
        """Several at once, in one request. REQUIRES: few enough for one request."""
        if not bodies:
            return []
        if len(bodies) == 1:
            return [self.search(bodies[0])]
        head = b'{"allow_partial_search_results":false}'
        lines = b"".join([b"%s\n%s\n" % (head, _ENCODER.encode(body)) for body in bodies])
        found = self._ask("POST", f"/{self.name}/_msearch", lines, FoundMany).responses
        if len(found) != len(bodies):
            raise GossamerError(f"{self.service.name} answers {len(found)} of {len(bodies)} searches")
        for one in found:
            self._refuse(one)
        return found

    def counts(self, queries: Iterable[dict[str, Any]]) -> list[int]:
        """How many documents match each query."""
        bodies = [counting(query) for query in queries]
        return [found.hits.total.value for found in self.search_many(bodies)]

    def _refuse(self, found: Found) -> None:
        if found.status == 404:
            raise self.missing()
        if found.status in AWAY:
            raise ServiceLost(f"{self.service.name} does not answer (status {found.status})")
        if found.status >= 300 or found.error:
            raise GossamerError(f"{self.service.name} refuses a search: {bytes(found.error).decode()[:300]}")

    def missing(self) -> GossamerError:
        return DirectoryUnusable(f"{self.service.name} has no index {self.name} yet; crawl something first")

    def _ask(self, method: str, path: str, body: bytes, kind: type[T]) -> T:
        headers = LINES if path.endswith("_msearch") else JSON
        try:
            answer = self.service.ask(
                method, path, body, headers=headers, timeout_s=SEARCH_S, most_bytes=MOST_BYTES
            ).body
            return msgspec.json.decode(answer, type=kind)
        except ServiceLost as lost:
            raise self.no_answer(lost) from lost
        except ServiceRefused as refused:
            if refused.status == 404:
                raise self.missing() from refused
            if b"too_many_clauses" in refused.body or b"too_many_nested_clauses" in refused.body:
                raise QueryRefused("this search has too many words and filters at once") from refused
            raise
        except msgspec.MsgspecError as trouble:
            raise GossamerError(f"{self.service.name} answers with something else than results: {trouble}") from trouble

    def no_answer(self, lost: ServiceLost) -> ServiceLost:
        """In words for the person who searches."""
        return ServiceLost(f"search: {self.service.trouble or lost}")


class Statistics:
    """Of one index. In a large index they change slowly, and serve some time although it grows."""

    def __init__(self, client: IndexClient) -> None:
        self._client = client
        self._lasting = Lasting(0)
        self._recall = Cache(5_000)
        self.pages = 0
        self.languages: tuple[str, ...] = ("en",)

    def reload(self) -> None:
        (pages,) = self._client.counts([WITH_WORDS])
        self._recall = Cache(5_000)
        if self._lasting.serves(pages):
            self._lasting.snapshots += 1
        else:
            self._lasting, self.languages = Lasting(pages), self._used_languages()
        self.pages = pages

    def _used_languages(self) -> tuple[str, ...]:
        """Those of a good part of the pages, most frequent first; English when unknown."""
        languages = {"field": "traits", "include": f"{TRAITS['languages']}.*", "size": MOST_LANGUAGES}
        asked = {"languages": {"terms": languages}}
        found = self._client.search({"size": 0, "query": WITH_WORDS, "aggs": asked}).buckets("languages")
        least = LEAST_SHARE * sum(one.doc_count for one in found)
        return tuple(str(one.key)[1:] for one in found if one.doc_count >= least) or ("en",)

    def rarity(self, pages: int) -> float:
        """BM25's inverse document frequency."""
        return log(1 + (max(0, self.pages - pages) + 0.5) / (pages + 0.5))

    def counts(self, parts: Sequence[WantedPart]) -> list[int]:
        """How many pages have each part of a query."""
        found = self.recall_each("counts", parts, self._counted)
        return [found[part] for part in parts]

    def uncounted(self, parts: Sequence[WantedPart]) -> list[WantedPart]:
        """Those whose counts are not known."""
        return [part for part in parts if ("counts", part) not in self._lasting.recall.entries]

    def note(self, parts: Sequence[WantedPart], counts: Sequence[int]) -> None:
        """How many pages have each part."""
        for part, count in zip(parts, counts, strict=True):
            self._lasting.recall(("counts", part), partial(int, count))

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


def counting(query: dict[str, Any]) -> dict[str, Any]:
    return {"size": 0, "track_total_hits": True, "query": query}
