"""Fixtures with the crawled harbour, shared with the tests of the command line."""

from tests.cli.conftest import collection, embedded, shared

__all__ = ["collection", "embedded", "shared"]
