"""Requests to one index in OpenSearch: searches, alone or several at once, with answers of bounded size."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from gossamer.base.errors import DirectoryUnusable, GossamerError, QueryRefused
from gossamer.store.service import AWAY, MIB, Service, ServiceLost, ServiceRefused
from gossamer.views.words.opensearch.answers import Found, FoundMany

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
        bodies = [{"size": 0, "track_total_hits": True, "query": query} for query in queries]
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
