"""Which blocks of a page are its content.

The learned importances decide, where they find an article. Home pages, lists, forms and pages with little text have
none: their content is all text outside what is declared as a header or an aside, or the one element declared as main.
"""

from functools import lru_cache
from typing import NamedTuple

from gossamer.parse.blocks.importance import importances
from gossamer.parse.blocks.scan import Outline, within
from gossamer.parse.blocks.signs import noise_in

MOST_BLOCKS = 5_000
"""A page with more is not scored: no article has so many, and the time would go up to seconds."""
LEAST_ARTICLE = 140
"""Characters. An article is longer, and has more than LEAST_SHARE of the page's text outside links."""
LEAST_SHARE = 0.1
CONTENT = 0.5
"""The importance from which a block is content."""
_SIDES = frozenset(("header", "aside", "nav", "footer"))
_MAIN = ("main", "article")


class ContentChoice(NamedTuple):
    importances: list[float]
    """Of each block, from 0 to 1; from CONTENT on it is content."""
    is_article: bool
    """Whether the learned model decided."""


def is_quiet(markup: bytes) -> bool:
    """Whether no class in the main element is a sign of anything but content."""
    start = markup.find(b"<main")
    parts = markup[start : markup.rfind(b"</main")].split(b' class="')
    return not any(map(_is_noisy, {part.partition(b'"')[0] for part in parts[1:]}))


@lru_cache(maxsize=1024)
def _is_noisy(name: bytes) -> bool:
    return bool(noise_in(name.decode("utf-8", "replace")))


def choice_of(page: Outline, title: str, is_declared: bool = False) -> ContentChoice:
    """`is_declared`: whether the page says what its content is (`is_quiet`)."""
    if len(page.blocks) > MOST_BLOCKS:
        return ContentChoice([1.0 if declared else 0.0 for declared in _declared(page)], False)
    scores = importances(page, title)
    return _as_declared(page, scores) if is_declared else choice_from(page, scores)


def choice_from(page: Outline, scores: list[float]) -> ContentChoice:
    found = sum([len(block.text) for block, score in zip(page.blocks, scores, strict=True) if score >= CONTENT])
    if found >= LEAST_ARTICLE:
        plain = sum([len(text) - linked for text, linked, _ in page.blocks])
        if found >= LEAST_SHARE * plain:
            return ContentChoice(scores, True)
    return _as_declared(page, scores)


def _as_declared(page: Outline, scores: list[float]) -> ContentChoice:
    pairs = zip(scores, _declared(page), strict=True)
    return ContentChoice([max(score, CONTENT) if declared else min(score, 0.49) for score, declared in pairs], False)


def _declared(page: Outline) -> list[bool]:
    """Of each block, whether it is content by what the markup declares."""
    side = sides_of(page)
    kept = [not side[element] for _, _, element in page.blocks]
    main = next(
        (
            one[0]
            for one in ([at for at, tag in enumerate(page.tags) if tag == name] for name in _MAIN)
            if len(one) == 1
        ),
        None,
    )
    if main is None:
        return kept
    inside = within(page.parents, main)
    sizes = [0, 0]
    for (text, _, element), is_kept in zip(page.blocks, kept, strict=True):
        if is_kept:
            sizes[inside[element]] += len(text)
    if sizes[False] > sizes[True]:
        return kept
    return [is_kept and inside[element] for (_, _, element), is_kept in zip(page.blocks, kept, strict=True)]


def sides_of(page: Outline) -> list[bool]:
    """Of each element, whether it is in an aside, or in a header of the page rather than of an article."""
    side, owned = [False] * len(page.tags), [False] * len(page.tags)
    for at in range(1, len(page.tags)):
        tag, parent = page.tags[at], page.parents[at]
        owned[at] = owned[parent] or tag in _MAIN
        side[at] = side[parent] or (tag in _SIDES and (tag in ("aside", "nav") or not owned[parent]))
    return side
