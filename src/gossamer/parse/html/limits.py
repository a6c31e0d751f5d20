"""Cutting a monstrous page down: the same text and links, with less nesting, fewer attributes and fewer tags."""

import re

DEEPEST = 512
MOST_ATTRIBUTES = 1000
LONGEST_TAG = 2 * MOST_ATTRIBUTES
"""A tag with more attributes than that is longer than this many bytes."""
MOST_TAGS = 200_000
_MOST_FORMATTING = 24
_MOST_REOPENED = 400_000
_MOST_NAMES = 1000
_FEW_ATTRIBUTES = 50
_MOST_LONG_TAGS = 100
_NEARBY = 64

_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_VOID = frozenset(b"a area base br col embed hr img input link meta param source track wbr".split())
"""Not counted as open; `a` is among them because each one ends the one before."""
_ONCE = frozenset((b"html", b"body"))
_RAW = frozenset(b"script style textarea xmp iframe noembed noframes".split())
_RAW_END = {name: re.compile(rb"</" + name + rb"(?=[\s/>])", re.IGNORECASE) for name in _RAW}
_FOREIGN = (b"svg", b"math")

_CELLS = frozenset((b"td", b"th"))
_ROWS = _CELLS | {b"tr"}
_SECTIONS = _ROWS | {b"tbody", b"thead", b"tfoot"}
_P = frozenset((b"p",))
_ENDS: dict[bytes, frozenset[bytes]] = {
    **dict.fromkeys(b"p div ul ol dl table h1 h2 h3 h4 h5 h6 pre blockquote section article form hr".split(), _P),
    **dict.fromkeys(_CELLS, _CELLS),
    b"tr": _ROWS,
    **dict.fromkeys((b"tbody", b"thead", b"tfoot"), _SECTIONS),
    b"li": frozenset((b"li", b"p")),
    **dict.fromkeys((b"dt", b"dd"), frozenset((b"dt", b"dd", b"p"))),
    b"option": frozenset((b"option",)),
    b"optgroup": frozenset((b"option", b"optgroup")),
}
"""Whose start ends whom: elements whose end tags authors leave out."""

# A comment, or a tag. Quotes delimit only after "=", as in the standard's tokenizer.
_TAG = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|<(/?)([a-zA-Z][^\s/>]*+)((?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+|[\"'])*+)>?+",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]++))?+")


def flattened(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The page within the limits, and flags that say what was done. Time is linear in the size of the page."""
    return _Flattening(body).result()


class _Flattening:
    """One pass over the tags. It may take a page for deeper than it is, hardly ever for flatter."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._out: list[bytes] = []
        self._copied = 0
        self._open: list[bytes] = []
        """Names of the elements taken to be open, outermost first."""
        self._active: dict[bytes, int] = {}
        """Formatting elements that were not ended: the tree builder opens them again in every block."""
        self._reopened = 0
        self._dropped: dict[bytes, int] = {}
        self._met: set[bytes] = set()
        """Names of elements so far; each new one costs the tree builder a search."""
        self._long_tags = 0
        self._flags: dict[str, None] = {}

    def result(self) -> tuple[bytes, tuple[str, ...]]:
        body, at, tags = self._body, 0, 0
        while (found := _TAG.search(body, at)) is not None:
            at = found.end()
            if found[2] is None:
                continue
            tags += 1
            if tags > MOST_TAGS:
                self._cut(found.start(), len(body), b"", "truncated")
                break
            name = found[2].lower()
            if found[1]:
                self._end(name, found)
            else:
                self._start(name, found)
                if name in _RAW and not self._is_foreign():
                    closing = _RAW_END[name].search(body, at)
                    at = len(body) if closing is None else closing.start()
        self._out.append(body[self._copied :])
        return b"".join(self._out), tuple(self._flags)

    def _cut(self, start: int, end: int, instead: bytes, flag: str) -> None:
        self._out += (self._body[self._copied : start], instead)
        self._copied = end
        self._flags[flag] = None

    def _is_foreign(self) -> bool:
        return any(name in self._open for name in _FOREIGN)

    def _start(self, name: bytes, found: re.Match[bytes]) -> None:
        if name in _ONCE:
            if name in self._met:
                self._cut(found.start(), found.end(), b"", "truncated")
                return
            self._met.add(name)
        elif name not in self._met:
            if len(self._met) >= _MOST_NAMES:
                self._drop(name, found)
                return
            self._met.add(name)
        if len(found[3]) > LONGEST_TAG:
            self._shorten(found)
        self._count_reopened(found.start())
        if name in _FORMATTING:
            self._format(name, found)
        elif not (name in _VOID or name in _RAW or (found[3].endswith(b"/") and self._is_foreign())):
            self._nest(name, found)

    def _nest(self, name: bytes, found: re.Match[bytes]) -> None:
        ends = _ENDS.get(name, frozenset())
        while self._open and self._open[-1] in ends:
            self._open.pop()
        if len(self._open) >= DEEPEST:
            self._drop(name, found)
        else:
            self._open.append(name)

    def _format(self, name: bytes, found: re.Match[bytes]) -> None:
        if sum(self._active.values()) >= _MOST_FORMATTING or self._reopened > _MOST_REOPENED:
            self._drop(name, found)
        else:
            self._active[name] = self._active.get(name, 0) + 1

    def _count_reopened(self, at: int) -> None:
        if not self._active or self._reopened > _MOST_REOPENED:
            return
        self._reopened += sum(self._active.values())
        if self._reopened > _MOST_REOPENED:
            ends = b"".join(b"</%b>" % name * count for name, count in self._active.items())
            self._cut(at, at, ends, "too-deep")
            self._active.clear()

    def _drop(self, name: bytes, found: re.Match[bytes]) -> None:
        self._dropped[name] = self._dropped.get(name, 0) + 1
        self._cut(found.start(), found.end(), b"", "too-deep")

    def _end(self, name: bytes, found: re.Match[bytes]) -> None:
        if self._dropped.get(name):
            self._dropped[name] -= 1
            self._cut(found.start(), found.end(), b"", "too-deep")
        elif name in _FORMATTING:
            if self._active.get(name, 0) > 1:
                self._active[name] -= 1
            else:
                self._active.pop(name, None)
        elif self._open and self._open[-1] == name:
            self._open.pop()
        elif name in self._open[-_NEARBY:]:
            while self._open.pop() != name:
                pass

    def _shorten(self, found: re.Match[bytes]) -> None:
        """Keep the first attributes. After many such tags keep few: their cost is the square of the number."""
        self._long_tags += 1
        most = MOST_ATTRIBUTES if self._long_tags <= _MOST_LONG_TAGS else _FEW_ATTRIBUTES
        kept: list[bytes] = []
        for attribute in _ATTRIBUTE.finditer(found[3]):
            if len(kept) == most:
                self._cut(found.start(3), found.end(3), b" " + b" ".join(kept), "truncated")
                return
            kept.append(attribute[0])
