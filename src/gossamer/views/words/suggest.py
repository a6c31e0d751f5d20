"""What a person may be about to type, and what they may have meant."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import tantivy

from gossamer.views.words.dictionary import Form, beginning, forms, near
from gossamer.views.words.entry import card_at
from gossamer.views.words.snapshot import Snapshot

MOST_COMPLETIONS = 8
LOOKED_AT = 20
ENOUGH = 10
"""A word on so many pages is taken for what it is."""
MUCH_MORE = 10
"""A word that is there is taken for a slip only when its neighbour is on so many times more pages."""


class Completion(msgspec.Struct, frozen=True, array_like=True):
    """What a person may be about to type."""

    text: str
    kind: Literal["title", "name", "word"]
    count: int
    """Pages that have it; 0 when nobody counted."""


def completions(snapshot: Snapshot, text: str, at_most: int = MOST_COMPLETIONS) -> list[Completion]:
    """Titles and names that go on like this, then words; most frequent first among words."""
    tokens = snapshot.tokens(text.encode("utf-8", "replace").decode())
    if not tokens or len(tokens[-1]) < 2:
        return []
    found: dict[str, Completion] = {}
    for one in [*_titled(snapshot, tokens), *_words(snapshot, text, tokens)]:
        found.setdefault(one.text.lower(), one)
    return list(found.values())[:at_most]


def better(snapshot: Snapshot, languages: Sequence[str]) -> Callable[[str], str]:
    """Mends one word: the nearest and most frequent word of the index in the place of one that is not there, or all
    but not; the word itself when there is none."""

    def mended(word: str) -> str:
        tokens = snapshot.tokens(word)
        if len(tokens) != 1:
            return word
        pages = sum(form.pages for form in forms(snapshot, "content", tokens[0], languages))
        if pages >= ENOUGH:
            return word
        candidates = near(snapshot, tokens[0])
        if not candidates or candidates[0].pages <= MUCH_MORE * pages:
            return word
        return candidates[0].word

    return mended


def _titled(snapshot: Snapshot, tokens: list[str]) -> list[Completion]:
    """Of pages whose title or things are called so: those that begin with the first word typed before the others."""
    ends = [form.word for form in _listed(snapshot, "title", tokens[-1], LOOKED_AT)]
    names = [form.word for form in _listed(snapshot, "names", tokens[-1], LOOKED_AT)]
    clauses = []
    for field, last in (("title", ends), ("names", names)):
        if last:
            words = [(tantivy.Occur.Must, snapshot.term(field, token)) for token in tokens[:-1]]
            some = tantivy.Query.term_set_query(snapshot.schema, field, last)
            clauses.append((tantivy.Occur.Should, tantivy.Query.boolean_query([*words, (tantivy.Occur.Must, some)])))
    if not clauses:
        return []
    found: dict[tuple[str, Literal["title", "name"]], int] = {}
    for _, place in snapshot.best(tantivy.Query.boolean_query(clauses), LOOKED_AT):
        if (card := card_at(snapshot, place)) is None:
            continue
        for name in dict.fromkeys(thing.name for thing in card.things):
            found[name, "name"] = found.get((name, "name"), 0) + 1
        found[card.title, "title"] = found.get((card.title, "title"), 0) + 1
    fitting = [
        (not _tokens_begin(said, tokens), -pages, text, kind)
        for (text, kind), pages in found.items()
        if _goes_on(said := snapshot.tokens(text), tokens)
    ]
    return [Completion(text, kind, 0) for _, _, text, kind in sorted(fitting)]


def _words(snapshot: Snapshot, text: str, tokens: list[str]) -> list[Completion]:
    before = text.rstrip()
    before = before[: before.rfind(" ") + 1]
    return [
        Completion(f"{before}{form.word}", "word", form.pages)
        for form in _listed(snapshot, "content", tokens[-1], MOST_COMPLETIONS)
    ]


def _listed(snapshot: Snapshot, field: str, start: str, at_most: int) -> list[Form]:
    """Kept from snapshot to snapshot while a large index stays much the same: everybody begins with the same few
    letters, and then half a dictionary is looked through."""
    key = "beginning", field, start, at_most
    found: list[Form] = snapshot.recall_lasting(key, lambda: beginning(snapshot, field, start, at_most))
    return found


def _tokens_begin(said: list[str], typed: list[str]) -> bool:
    return (
        said[: len(typed) - 1] == typed[:-1]
        and said[len(typed) - 1 : len(typed)][0:1] != []
        and (said[len(typed) - 1].startswith(typed[-1]))
    )


def _goes_on(said: list[str], typed: list[str]) -> bool:
    """Has all the words typed, the last perhaps unfinished."""
    return all(word in said for word in typed[:-1]) and any(word.startswith(typed[-1]) for word in said)
