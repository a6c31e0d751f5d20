"""What visits to addresses of one pattern have brought: from it endless series are told from large catalogues."""

import msgspec


class TemplateTally(msgspec.Struct, frozen=True):
    """One template of one host, so far."""

    host: str
    template: str
    fetched: int
    """Visits that were read."""
    fruitful: int
    """Those among them that brought text or facts not known before."""
    met: int
    """Addresses of this pattern counted so far: the visited ones, and those held in quarantine."""
