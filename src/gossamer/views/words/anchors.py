"""What other sites call a page: the words of their links to it.

A page's links to other sites lie in its own entry, so that they come and go with it, and nothing has to be kept in
step. Asked for a word, the pages whose links use it are looked through, a bounded number, and their targets join the
question by their ids: a page is then found by words that stand only elsewhere.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import tantivy
from tantivy import Occur

from gossamer.values.url import id_of
from gossamer.views.words.dictionary import Form
from gossamer.views.words.schema import Pointers
from gossamer.views.words.snapshot import Snapshot, any_of

AT_ONCE = 40
ROUNDS = 3
COMMON = 1_000
"""Pages whose links use a word, beyond which looking longer among them tells no more of any one target."""
FEW, FIRST = 16, 8
"""Of more pages than FEW, so many sites are heard before one asks whether it is worth while to go on."""
MOST_TARGETS = 100
CROWD = 5
"""Pages of one site in a round, beyond which the next round leaves that site out: it has had its say."""
SATURATION = 1.2
"""As k1 of BM25: the second site to use a word says less than the first."""

_WORDS = re.compile("[0-9a-z]+")
_POINTERS = msgspec.msgpack.Decoder(Pointers)


def targets_of(snapshot: Snapshot, words: Sequence[Sequence[Form]]) -> dict[int, float]:
    """Pages of the index that other sites link to in these words, side by side: `Url.id` and a score as of BM25. Of
    each word any form will do."""
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
        if snapshot.entries("url_id", one)  # most links lead to pages that nobody crawled
    }


def _sites(snapshot: Snapshot, words: Sequence[Sequence[str]]) -> dict[int, set[str]]:
    """By target, the sites that call it so, as far as was looked. A page that is known by a word which many use shows
    among the first of them: where no two of those mean the same page, others would add nothing but chance finds."""
    sites: dict[int, set[str]] = defaultdict(set)
    sources = min(sum(snapshot.with_word("pointing", form) for form in forms) for forms in words)
    heard: set[str] = set()
    is_agreed = sources <= FEW
    for pointers in _sources(snapshot, words, sources):
        if len(heard) >= FIRST and not is_agreed:
            break
        heard.add(pointers.host)
        for target, text in pointers.links:
            if _has(snapshot, text, words):
                sites[target].add(pointers.host)
                is_agreed = is_agreed or len(sites[target]) > 1
    return sites


def _sources(snapshot: Snapshot, words: Sequence[Sequence[str]], sources: int) -> Iterator[Pointers]:
    asked = [(Occur.Must, any_of([snapshot.term("pointing", form) for form in forms])) for forms in words]
    heard: list[tuple[Occur, tantivy.Query]] = []
    for _ in range(ROUNDS if sources < COMMON else 1):
        hits = snapshot.best(tantivy.Query.boolean_query([*asked, *heard]), AT_ONCE)
        per_site: dict[str, int] = defaultdict(int)
        for _, place in hits:
            packed = snapshot.searcher.doc(place).get_first("pointers")
            if packed is not None:
                pointers = _POINTERS.decode(bytes(packed))
                per_site[pointers.host] += 1
                yield pointers
        crowds = [host for host, pages in per_site.items() if pages >= CROWD]
        heard += [(Occur.MustNot, snapshot.term("host_id", id_of(host))) for host in crowds]
        if len(hits) < AT_ONCE or not crowds:
            return


def _has(snapshot: Snapshot, text: str, words: Sequence[Sequence[str]]) -> bool:
    """The words side by side, in this order. Of plain ASCII the analyzer would make the same words, for more time."""
    tokens = _WORDS.findall(text.lower()) if text.isascii() else snapshot.tokens(text)
    if len(words) == 1:
        return not set(words[0]).isdisjoint(tokens)
    return any(
        all(token in forms for token, forms in zip(tokens[at:], words, strict=False))
        for at in range(len(tokens) - len(words) + 1)
    )
