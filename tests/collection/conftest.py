"""The crawled harbour of the command line's tests, for this folder too."""

from tests.cli.conftest import collection, embedded, shared

__all__ = ["collection", "embedded", "shared"]
