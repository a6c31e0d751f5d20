"""Anchor texts: find pages by the words of other sites' links to them.

A page's links to other sites are stored in its own entry, so nothing has to be kept in sync. A query scans a limited
number of pages whose links use a word, and adds their targets by id: a page is then found by words of other sites.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import tantivy
from tantivy import Occur

from gossamer.values.url import id_of
from gossamer.views.words.dictionary import Form
from gossamer.views.words.schema import Pointers, Snapshot, any_of

AT_ONCE = 40
ROUNDS = 3
COMMON = 1_000
"""Pages whose links use a word, beyond which a longer scan adds nothing about any single target."""
FEW, FIRST = 16, 8
"""With more pages than FEW, so many sites are read before the scan may stop."""
MOST_TARGETS = 100
CROWD = 5
"""Pages of one site in a round, beyond which the next round excludes that site."""
SATURATION = 1.2
"""As k1 of BM25: the second site to use a word counts less than the first."""

_WORDS = re.compile("[0-9a-z]+")
_POINTERS = msgspec.msgpack.Decoder(Pointers)


def targets_of(snapshot: Snapshot, words: Sequence[Sequence[Form]]) -> dict[int, float]:
    """Indexed pages that other sites link to with these words, adjacent and in any form: `Url.id` and a score like
    BM25's."""
    key = ("pointing", *(form.word for forms in words for form in forms))
    found: dict[int, float] = snapshot.recall_lasting(key, lambda: _found(snapshot, words))
    return found


def _found(snapshot: Snapshot, words: Sequence[Sequence[Form]]) -> dict[int, float]:
    known = [[form.word for form in forms if snapshot.with_word("pointing", form.word)] for forms in words]
    if not all(known):
        return {}
    sites = _sites(snapshot, known)
    pages = max(sum(snapshot.with_word("pointing", word) for word in forms) for forms in known)
    rarity = snapshot.rarity(min(pages, snapshot.pages))
    best = sorted(sites, key=lambda target: (-len(sites[target]), target))[:MOST_TARGETS]
    return {
        one: rarity * (1 + SATURATION) * len(sites[one]) / (len(sites[one]) + SATURATION)
        for one in best
        if snapshot.entries("url_id", one)  # most links lead to pages that were not crawled
    }


def _sites(snapshot: Snapshot, words: Sequence[Sequence[str]]) -> dict[int, set[str]]:
    """By target, the sites that use these words for it, among the pages scanned. A page known by a common word shows
    up early: if the first sites agree on no target, more of them would add only random hits."""
    sites: dict[int, set[str]] = defaultdict(set)
    sources = min(sum(snapshot.with_word("pointing", form) for form in forms) for forms in words)
    sites_read: set[str] = set()
    is_agreed = sources <= FEW
    for pointers in _sources(snapshot, words, sources):
        if len(sites_read) >= FIRST and not is_agreed:
            break
        sites_read.add(pointers.host)
        for target, text in pointers.links:
            if _has(snapshot, text, words):
                sites[target].add(pointers.host)
                is_agreed = is_agreed or len(sites[target]) > 1
    return sites


def _sources(snapshot: Snapshot, words: Sequence[Sequence[str]], sources: int) -> Iterator[Pointers]:
    wanted = [(Occur.Must, any_of([snapshot.term("pointing", form) for form in forms])) for forms in words]
    excluded: list[tuple[Occur, tantivy.Query]] = []
    for _ in range(ROUNDS if sources < COMMON else 1):
        hits = snapshot.best(tantivy.Query.boolean_query([*wanted, *excluded]), AT_ONCE)
        per_site: dict[str, int] = defaultdict(int)
        for _, place in hits:
            packed = snapshot.searcher.doc(place).get_first("pointers")
            if packed is not None:
                pointers = _POINTERS.decode(bytes(packed))
                per_site[pointers.host] += 1
                yield pointers
        crowds = [host for host, pages in per_site.items() if pages >= CROWD]
        excluded += [(Occur.MustNot, snapshot.term("host_id", id_of(host))) for host in crowds]
        if len(hits) < AT_ONCE or not crowds:
            return


def _has(snapshot: Snapshot, text: str, words: Sequence[Sequence[str]]) -> bool:
    """Whether the words are adjacent, in this order. For ASCII the analyzer gives the same words, but slower."""
    tokens = _WORDS.findall(text.lower()) if text.isascii() else snapshot.tokens(text)
    if len(words) == 1:
        return not set(words[0]).isdisjoint(tokens)
    return any(
        all(token in forms for token, forms in zip(tokens[at:], words, strict=False))
        for at in range(len(tokens) - len(words) + 1)
    )
