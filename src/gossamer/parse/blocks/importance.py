"""How important each block of a page is: an additive model, learned from public pages.

Every property of a block has a table with what each of its values adds to the block's score; the sum is the logarithm
of the odds that the block is content. The second step sees the scores of the first, so it knows where most of the
content is. The tables are in `weights.json`, written by `tools/content_weights.py`.
"""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files as packaged
from itertools import accumulate
from math import exp
from operator import getitem, itemgetter, mul
from typing import NamedTuple

from gossamer.parse.blocks.scan import Outline
from gossamer.parse.blocks.signs import cues_in

_again = itemgetter(*(3, 1, 0, 9, 15, 16, 17, 14, 2))
"""What the second step sees of the first one's properties."""
_STEPS = (4, 10, 20, 35, 60, 90, 140, 220, 350, 600)
_LONG = 1000
_SIZE_OF = [bisect_right(_STEPS, length) for length in range(_LONG)]
_ROUGH = (0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3)
"""From a size to short, medium, long or very long."""
_TAGS = [
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "td",
    "div",
    "blockquote",
    "figcaption",
    "pre",
    "dd",
    "section",
    "article",
    "span",
]
_TAG_OF = {tag: at for at, tag in enumerate(_TAGS, 1)} | {
    "h5": 6, "h6": 6, "th": 7, "body": 8, "center": 8, "dt": 12, "address": 13, "main": 14
}  # fmt: skip
_TITLES = frozenset(("h1", "h2", "h3"))
_ENDS = frozenset('.!?…。"”»:;')
_SHARES = (0.0, 0.05, 0.15, 0.35, 0.6, 0.85)
_COUNTS = (0, 1, 2, 3, 6, 11, 24)
_MOST_OF_IT = 0.7
_DISTANCES = (-20, -5, 0, 1, 4, 10, 25, 60)
MENU = -5.0
"""The score of short blocks that are links."""
UNDECIDED = -3.0
"""Blocks with a first score up to this are not content."""
_CUED = 7
"""The size up to which the words of a block are looked at."""
_ALL, _SHORT = 4, 3
"""A share of linked text and a size: such blocks are parts of menus, and are not looked at further."""
_AT_MOST_3 = [0, 1, 2, *[3] * _LONG]
_AT_MOST_4 = [0, 1, 2, 3, *[4] * _LONG]


class AdditiveStep(NamedTuple):
    start: float
    tables: list[list[float]]
    masks: list[list[float]]


class Model(NamedTuple):
    first: AdditiveStep
    second: AdditiveStep


@lru_cache(maxsize=1)
def bundled_model() -> Model:
    said = json.loads((packaged("gossamer.parse.blocks") / "weights.json").read_text("utf-8"))
    return Model(AdditiveStep(**said["first"]), AdditiveStep(**said["second"]))


def _share(part: float, whole: float) -> int:
    return bisect_right(_SHARES, part / whole) if part else 0


class _Sums(NamedTuple):
    """What the first look at all blocks gives: by block, and by element around the element of each block."""

    shapes: list[tuple[int, int, bool]]
    """Size, share of linked text, and whether it ends like a sentence."""
    total: int
    prose: int
    prose_in: list[int]
    direct_in: list[int]
    linked_in: list[int]
    count_in: list[int]
    headings: list[int]


def _summed(page: Outline) -> _Sums:
    blocks, parents, tags, _, _ = page
    count = len(parents)
    prose, direct, linked, inside = [0] * count, [0] * count, [0] * count, [0] * count
    shapes: list[tuple[int, int, bool]] = []
    headings: list[int] = []
    total = all_prose = 0
    for text, link, element in blocks:
        length = len(text)
        share = 0
        if link:
            share = 1 if link * 5 < length else 2 if link * 5 < length * 3 else 3 if link * 20 < length * 19 else 4
        ends = text[-1] in _ENDS
        if tags[element] in _TITLES:
            headings.append(len(shapes))
        shapes.append((_SIZE_OF[length] if length < _LONG else 10, share, ends))
        parent = parents[element]
        direct[parent] += length
        linked[parent] += link
        inside[parent] += 1
        if share < 2 and (length >= 90 or (ends and length >= 35)):
            prose[parent] += length
            if parents[parent] != parent:
                prose[parents[parent]] += length
            all_prose += length
        total += length
    return _Sums(shapes, total or 1, all_prose, prose, direct, linked, inside, headings)


def _main_heading(page: Outline, headings: list[int], title: str) -> int | None:
    """The block that repeats the title: a heading, the higher the better; else the first long one of the top level."""
    top = [at for at in headings if page.tags[page.blocks[at].element] == "h1"]
    for at in (*top, *[at for at in headings if page.tags[page.blocks[at].element] != "h1"]):
        start = page.blocks[at].text[:50].lower()
        if len(start) > 7 and start in title:
            return at
    return next((at for at in top if len(page.blocks[at].text) > 12), None)


def _articles(tags: list[str], parents: list[int]) -> list[int]:
    """Of each element, the number of the article that it is in; 0 if it is in none."""
    found = [0] * len(tags)
    count = 0
    for at in range(1, len(tags)):
        if tags[at] == "article":
            count += 1
            found[at] = count
        else:
            found[at] = found[parents[at]]
    return found


def _mark(text: str) -> int:
    if "©" in text:
        return 1
    if "@" in text:
        return 2
    if "http" in text or "www." in text:
        return 3
    if "|" in text:
        return 4
    return 5 if text.endswith(("...", "…")) else 0


def first_properties(page: Outline, title: str) -> list[tuple[int, ...]]:
    """Of each block, the values of its properties that need no scores, then its sets of words;
    nothing of a short one that is a link."""
    blocks, parents, tags, names, above = page
    shapes, total, prose, prose_in, direct_in, linked_in, count_in, headings = _summed(page)
    title = title.lower()
    title_words = {word for word in title.replace(",", " ").replace(":", " ").split() if len(word) > 3}
    heading = _main_heading(page, headings, title)
    copies = Counter([block.text for block in blocks])
    articles = _articles(tags, parents)
    has_many = max(articles) > 1
    prose_share = _share(prose, total) * 4
    length_of_page = bisect_left(_COUNTS, total // 1000) * 4
    run = 0
    rows: list[tuple[int, ...]] = []
    kinds = [7, *[_ROUGH[size] * 2 + (share > 2) for size, share, _ in shapes], 8]
    for at, (text, _, element) in enumerate(blocks):
        size, share, ends = shapes[at]
        if share == _ALL and size <= _SHORT:
            rows.append(())
            run += len(text)
            continue
        rough, parent = _ROUGH[size], parents[element]
        around, further, links = prose_in[parent], prose_in[parents[parent]], linked_in[parent]
        common, cues, in_title = 0 if title_words else 4, 0, False
        if size <= _CUED:
            words = set(text.lower().replace(",", " ").replace(":", " ").split())
            cues = cues_in(words)
            common = _AT_MOST_3[len(words & title_words)] if title_words else 4
            in_title = size > 1 and text[:50].lower() in title
        rows.append(
            (
                size * 5 + share,
                _TAG_OF.get(tags[element], 0) * 4 + rough,
                run * 10 // total * 4 + rough,
                (bisect_right(_DISTANCES, at - heading) + 1) * 4 + rough if heading is not None else rough,
                (2 * rough + ends) * 3 + (share if share < 2 else 2),
                kinds[at] * 9 + kinds[at + 2],
                (bisect_right(_SHARES, around / prose) if around else 0) * 3
                + (0 if links * 5 < direct_in[parent] else 1 if links * 2 < direct_in[parent] else 2),
                (bisect_right(_SHARES, further / prose) if further else 0) * 4 + rough,
                bisect_left(_COUNTS, count_in[parent]) * 4 + rough,
                _AT_MOST_4[text.count(", ", 0, _LONG)] * 4 + rough,
                _TAG_OF.get(tags[parent], 0),
                prose_share + rough,
                length_of_page + rough,
                _mark(text) * 2 + (rough > 1),
                in_title * 2 + (at == heading),
                (copies[text] - 1 if copies[text] < 4 else 2) * 4 + rough,
                common * 4 + rough,
                (articles[element] if articles[element] < 4 else 3) * 2 + has_many,
                above[element],
                names[element] | names[parent],
                cues,
            )
        )
        run += len(text)
    return rows


def _level(score: float) -> int:
    return 0 if score <= -5 else 11 if score >= 5 else int(score + 5.5)


def _side(mean: float) -> int:
    return int(mean + 4) if mean > -4 else 9 if mean < -4.9 else 0


class _Weight(NamedTuple):
    """Where the important text is, by element."""

    mass: list[float]
    """The characters of important blocks within it, each times its score."""
    scores: list[float]
    sizes: list[float]
    """The sums of the scores of all blocks within it, by length, and of these lengths."""
    top: int
    """The smallest element that has most of the mass."""
    nearest: list[int]
    """How far each element is from the one with the most important paragraphs: up to a common one, and down again."""


def _weighed(page: Outline, scores: Sequence[float]) -> _Weight:
    blocks, parents, _, _, _ = page
    count = len(parents)
    mass, summed, sizes, own = [0.0] * count, [0.0] * count, [0.0] * count, [0.0] * count
    for (text, _, element), score in zip(blocks, scores, strict=True):
        length = len(text)
        if score > 0:
            gain = length * (score if score < 3 else 3.0)
            mass[element] += gain
            own[parents[element]] += gain
        weight = length if length < 300 else 300
        summed[element] += weight * score
        sizes[element] += weight
    heaviest = [0] * count
    for at in range(count - 1, 0, -1):
        parent = parents[at]
        mass[parent] += mass[at]
        summed[parent] += summed[at]
        sizes[parent] += sizes[at]
        if mass[at] >= mass[heaviest[parent]] or not heaviest[parent]:
            heaviest[parent] = at
    top, least = 0, _MOST_OF_IT * mass[0]
    while heaviest[top] and mass[heaviest[top]] >= least > 0:
        top = heaviest[top]
    way: dict[int, int] = {}
    at = max(range(count), key=own.__getitem__)
    while at not in way:
        way[at] = min(len(way), 5)
        at = parents[at]
    up, nearest = [0] * count, [0] * count
    for at, parent in enumerate(parents):
        if at in way:
            nearest[at] = way[at]
        else:
            up[at] = min(up[parent] + 1, 5)
            nearest[at] = up[at] * 6 + nearest[parent] % 6
    return _Weight(mass, summed, sizes, top, nearest)


def second_properties(
    page: Outline, first: Sequence[tuple[int, ...]], scores: Sequence[float]
) -> list[tuple[int, tuple[int, ...]]]:
    """Of each block that may be content, its index and properties; `first` and `scores`: those of the first step."""
    blocks, parents, _, names, above = page
    tame = [-4.0 if score < -4 else 4.0 if score > 4 else score for score in scores]
    mass, summed, sizes, top, nearest = _weighed(page, tame)
    branch, below = _branches(page, top)
    start, end = _core(page, scores, branch, top)
    widths = [len(text) + 10 if len(text) < 200 else 210 for text, _, _ in blocks]
    upto = [0, *accumulate(widths)]
    score_upto = [0.0, *accumulate(map(mul, tame, widths))]
    count, whole = len(blocks), mass[0] or 1.0
    steps = (start - 8, start - 2, start, end + 1, end + 3, end + 9)

    def mean(low: int, high: int) -> float:
        low, high = max(low, 0), min(high, count)
        return (score_upto[high] - score_upto[low]) / (upto[high] - upto[low]) if high > low else -5.0

    rows = []
    for at, score in enumerate(scores):
        if score <= UNDECIDED:
            continue
        element, row = blocks[at].element, first[at]
        parent = parents[element]
        rough, level, inside = _ROUGH[row[0] // 5], _level(score), branch[element] > 0 or element == top
        where = bisect_right(steps, at)
        arm = branch[element]
        low, high = max(0, at - 6), min(count, at + 7)
        near = upto[high] - upto[low] - widths[at]
        around = (score_upto[high] - score_upto[low] - tame[at] * widths[at]) / near if near else -5.0
        weight = min(len(blocks[at].text), 300)
        next_to = [
            _level((summed[up] - weight * tame[at]) / (sizes[up] - weight)) if sizes[up] > weight else 11
            for up in (parent, parents[parent])
        ]
        depth = 0 if arm == 0 else 1 if arm == element else 2 if arm == parent else 3
        values = (
            level * 4 + rough,
            inside * 12 + level,
            where * 4 + rough,
            (where * 2 + inside) * 8 + min(level * 2 // 3, 7),
            _side(mean(at - 2, at)) * 10 + _side(mean(at + 1, at + 3)),
            _side(around),
            next_to[0] * 4 + rough,
            next_to[1] * 4 + rough,
            _share(mass[arm], whole) if arm else 7,
            _level(summed[arm] / sizes[arm]) if arm else 12,
            _share(mass[parent], whole) * 4 + rough,
            depth * 4 + rough if inside else 16,
            nearest[element],
        )
        sets = (below[element], names[element], 0 if inside else above[element], row[20])
        rows.append((at, (*values, *_again(row), *sets)))
    return rows


def _branches(page: Outline, top: int) -> tuple[list[int], list[int]]:
    """Of each element inside `top`, the child of `top` that it is in (0: it is outside, or `top` itself), and what the
    elements below `top` say."""
    parents, names = page.parents, page.names
    branch, below = [0] * len(parents), [0] * len(parents)
    for at in range(top + 1, len(parents)):
        parent = parents[at]
        if parent == top:
            branch[at] = at
            below[at] = names[at]
        elif branch[parent]:
            branch[at] = branch[parent]
            below[at] = below[parent] | names[at]
        else:
            break  # document order: nothing inside comes later
    return branch, below


def _core(page: Outline, scores: Sequence[float], branch: Sequence[int], top: int) -> tuple[int, int]:
    """The first and the last block that are certainly content; else those that probably are."""
    certain = [
        at
        for at, ((text, _, element), score) in enumerate(zip(page.blocks, scores, strict=True))
        if score > 1 and len(text) > 60 and (branch[element] or element == top)
    ]
    found = certain or [at for at, score in enumerate(scores) if score > 0] or [0]
    return found[0], found[-1]


@lru_cache(maxsize=8192)
def _of_set(step: int, which: int, words: int) -> float:
    """What a set of words adds to the score; pages of a site have the same sets."""
    weights = bundled_model()[step].masks[which]
    return sum([weights[bit] for bit in range(words.bit_length()) if words >> bit & 1])


def importances(page: Outline, title: str) -> list[float]:
    """Of each block, the probability that it is content."""
    first, second = bundled_model()
    tables, count = first.tables, len(first.tables)
    rows = first_properties(page, title)
    scores = [
        first.start
        + sum(map(getitem, tables, row))
        + _of_set(0, 0, row[count])
        + _of_set(0, 1, row[count + 1])
        + (_of_set(0, 2, row[count + 2]) if row[count + 2] else 0.0)
        if row
        else MENU
        for row in rows
    ]
    final = list(scores)
    tables, count = second.tables, len(second.tables)
    for at, row in second_properties(page, rows, scores):
        final[at] = second.start + sum(map(getitem, tables, row))
        for which, words in enumerate(row[count:]):
            if words:
                final[at] += _of_set(1, which, words)
    return [1 / (1 + exp(-score)) for score in final]
