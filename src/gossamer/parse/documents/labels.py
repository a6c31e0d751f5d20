"""The numbers and letters of list items that Word computes instead of storing them."""

from collections.abc import Mapping

from gossamer.parse.documents.draft import MOST_LEVELS

MOST_LISTS = 2_000
LONGEST_LABEL = 100
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


class _Level:
    __slots__ = ("form", "start", "text")

    def __init__(self) -> None:
        self.start, self.form, self.text = 1, "decimal", ""


class ListLabels:
    """Reads the part `numbering`, then counts the items of each list."""

    def __init__(self) -> None:
        self._abstract: dict[str, dict[str, _Level]] = {}
        self._lists: dict[str, str] = {}
        self._overrides: dict[tuple[str, str], _Level] = {}
        self._starts: dict[tuple[str, str], int] = {}
        self._counts: dict[str, list[int]] = {}
        self._levels: dict[str, _Level] = {}
        self._level: _Level | None = None
        self._list = self._override = ""
        self._seen: set[tuple[str, str]] = set()

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        value = attributes.get("val", "")
        if name == "abstractNum" and len(self._abstract) < MOST_LISTS:
            self._levels = self._abstract.setdefault(attributes.get("abstractNumId", ""), {})
            self._list = ""
        elif name == "num" and len(self._lists) < MOST_LISTS:
            self._list = attributes.get("numId", "")
        elif name == "abstractNumId" and self._list:
            self._lists[self._list] = value
        elif name == "lvlOverride":
            self._override = attributes.get("ilvl", "")
        elif name == "startOverride" and self._list and value.isdecimal():
            self._starts[self._list, self._override] = int(value[:6])
        elif name == "lvl":
            self._level = _Level()
            if self._list and self._override:
                self._overrides[self._list, self._override] = self._level
            else:
                self._levels[attributes.get("ilvl", "")] = self._level
        elif self._level is not None:
            self._of_level(name, value)

    def _of_level(self, name: str, value: str) -> None:
        assert self._level is not None
        if name == "start" and value.isdecimal():
            self._level.start = int(value[:6])
        elif name == "numFmt":
            self._level.form = value
        elif name == "lvlText":
            self._level.text = value[:LONGEST_LABEL]

    def end(self, name: str) -> None:
        if name == "lvl":
            self._level = None
        elif name == "lvlOverride":
            self._override = ""

    def data(self, text: str) -> None: ...

    def next(self, number: str, level: str) -> str:
        """The label of the next item of a list; empty for bullets and unknown lists."""
        abstract = self._lists.get(number, "")
        if abstract not in self._abstract:
            return ""
        at = int(level)
        counts = self._counts.setdefault(abstract, [])
        while len(counts) <= at:
            counts.append(self._of(number, len(counts)).start - 1)
        if (number, level) in self._starts and (number, level) not in self._seen:
            self._seen.add((number, level))
            counts[at] = self._starts[number, level] - 1
        counts[at] += 1
        del counts[at + 1 :]
        mine = self._of(number, at)
        if mine.form in ("bullet", "none"):
            return ""
        label = mine.text
        for place in range(min(at, 8) + 1):
            label = label.replace(f"%{place + 1}", written(max(counts[place], 0), self._of(number, place).form))
        return label[:LONGEST_LABEL]

    def _of(self, number: str, level: int) -> _Level:
        found = self._overrides.get((number, str(level)))
        return found or self._abstract[self._lists[number]].get(str(level)) or _Level()


def written(number: int, form: str) -> str:
    """A number as lists write it: 3, c, iii, 3rd, 03."""
    if form.endswith("Letter") and number:
        letter = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, MOST_LEVELS)
        return letter if form == "lowerLetter" else letter.upper()
    if form.endswith("Roman") and 0 < number < 4_000:
        roman = _roman(number)
        return roman if form == "lowerRoman" else roman.upper()
    if form == "decimalZero":
        return f"{number:02d}"
    if form == "ordinal":
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
        return f"{number}{ending}"
    return str(number)


def _roman(number: int) -> str:
    found = ""
    for value, letters in _ROMAN:
        times, number = divmod(number, value)
        found += letters * times
    return found
