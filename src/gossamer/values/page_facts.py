"""What one page states, on its way into the graph. Apart from the store: who only hands it on need not load that."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url


class PageFacts(msgspec.Struct, frozen=True):
    url: Url
    facts: bytes
    """N-Triples; blank node labels are the capture's own."""
    capture_id: int
    fetched_at: Instant
    sources: bytes = b""
    """Where each of them stands, as `extract.places` packs it."""
