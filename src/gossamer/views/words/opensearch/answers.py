"""What OpenSearch answers, parsed: nothing of it is trusted."""

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Boxed(msgspec.Struct, Generic[T], frozen=True):
    """A list in an object, since OpenSearch stores objects unparsed but not lists."""

    of: T


class Score(msgspec.Struct, frozen=True):
    """A part of the explanation of a score."""

    value: float = 0.0
    description: str = ""
    details: "tuple[Score, ...]" = ()


class Document(msgspec.Struct, frozen=True):
    """One document."""

    id: str = msgspec.field(name="_id")
    score: float | None = msgspec.field(default=None, name="_score")
    source: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict, name="_source")
    fields: dict[str, list[Any]] = {}
    sort: list[Any] = []
    matched_queries: list[str] = []
    explanation: Score | None = msgspec.field(default=None, name="_explanation")

    @property
    def url_id(self) -> int:
        return int(self.id)

    def number(self, field: str) -> int:
        """The first value of a field; 0 without one."""
        values = self.fields.get(field)
        return int(values[0]) if values else 0

    def text(self, field: str) -> str:
        """The first value of a field; empty without one."""
        values = self.fields.get(field)
        return str(values[0]) if values else ""


class Total(msgspec.Struct, frozen=True):
    value: int = 0


class Hits(msgspec.Struct, frozen=True):
    hits: list[Document] = []
    total: Total = Total()


class NearWord(msgspec.Struct, frozen=True):
    """A word with a similar spelling."""

    text: str
    freq: int = 0


class Suggested(msgspec.Struct, frozen=True):
    options: list[NearWord] = []


class Bucket(msgspec.Struct, frozen=True):
    """A value and how many pages have it."""

    key: str | int | float
    doc_count: int = 0
    bg_count: int = 0


class Buckets(msgspec.Struct, frozen=True):
    buckets: list[Bucket] = []


class Sampled(msgspec.Struct, frozen=True):
    """Words of some pages, most typical first or by share."""

    typical: Buckets = Buckets()
    by_share: Buckets = Buckets()


class Found(msgspec.Struct, frozen=True):
    """The answer to a search."""

    hits: Hits = Hits()
    aggregations: dict[str, msgspec.Raw] = {}
    suggest: dict[str, list[Suggested]] = {}
    status: int = 200
    error: msgspec.Raw = msgspec.Raw()
    pit_id: str = ""

    def buckets(self, name: str) -> list[Bucket]:
        packed = self.aggregations.get(name)
        return msgspec.json.decode(packed, type=Buckets).buckets if packed is not None else []


class FoundMany(msgspec.Struct, frozen=True):
    responses: list[Found]


class Refusal(msgspec.Struct, frozen=True):
    """Why a document was not written."""

    type: str = ""
    reason: str = ""
    caused_by: "Refusal | None" = None

    @property
    def words(self) -> str:
        cause = f": {self.caused_by.reason}" if self.caused_by else ""
        return f"{self.reason}{cause}"[:500]


class Written(msgspec.Struct, frozen=True):
    """The outcome for one document."""

    status: int
    error: Refusal | None = None


class BulkAnswer(msgspec.Struct, frozen=True):
    errors: bool
    items: list[dict[str, Written]]
