"""One target for each extractor: takes bytes, and raises an exception if something is wrong."""

from collections.abc import Callable

from fuzz.sound import check_page, check_reader
from gossamer.extract.source import SYNTAXES

Target = Callable[[bytes], None]


def page_of(name: str, given: bytes) -> bytes:
    """The first byte decides whether the rest is a page, or what a page in this syntax contains."""
    if name == "json-ld" and given[:1] < b"\xc0":
        return b'<script type="application/ld+json">' + given[1:] + b"</script>"
    return given[1:]


def _reader(name: str) -> Target:
    def target(given: bytes) -> None:
        check_reader(name, page_of(name, given))

    return target


def _page(given: bytes) -> None:
    check_page(given)


TARGETS: dict[str, Target] = {**{name: _reader(name) for name in SYNTAXES}, "page": _page}
