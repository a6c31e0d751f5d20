"""Versions of pages: which was current at a time, and how two differ in text and facts."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import SequenceMatcher
from itertools import groupby

import msgspec

from gossamer.base.clock import SECOND, Instant, from_words, in_words
from gossamer.store.captures import kept_of
from gossamer.store.statements import State, load
from gossamer.values.capture import VANISHED, Kept
from gossamer.values.history import Change
from gossamer.values.messages import FactChanges, Piece, TextLine
from gossamer.values.url import Host, Url

# Text differences, by line and by word. Pure; called in a worker, since the time is quadratic in the differences.

AROUND = 2
"""Context lines around a change."""
MOST_LINES = 4_000
MOST_WORDS = 1_500
LONGEST = 60
"""Words of a line."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])|\n")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


def text_changes(before: str, after: str) -> tuple[list[TextLine], bool]:
    """As in a unified diff, and whether the texts were cut to MOST_LINES."""
    old, new = lines_of(before), lines_of(after)
    is_cut = max(len(old), len(new)) > MOST_LINES
    if old == new:
        return [], is_cut
    return list(_lines(old[:MOST_LINES], new[:MOST_LINES])), is_cut


def lines_of(text: str) -> list[str]:
    """One sentence a line, since a page's text has no lines; cut after LONGEST words."""
    found = []
    for sentence in _SENTENCE_END.split(text):
        words = sentence.split()
        found += [" ".join(words[start : start + LONGEST]) for start in range(0, len(words), LONGEST)]
    return found


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[TextLine]:
    shown_to = 0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(AROUND):
        if group[0][1] > shown_to:
            yield TextLine("gap")
        for what, old_start, old_end, new_start, new_end in group:
            if what == "equal":
                yield from [TextLine("same", [Piece(line)]) for line in old[old_start:old_end]]
            else:
                yield from _replaced(old[old_start:old_end], new[new_start:new_end])
            shown_to = old_end
    if shown_to and shown_to < len(old):
        yield TextLine("gap")


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[TextLine]:
    """Lines in the same place are compared word by word."""
    both = [_words(one, other) for one, other in zip(old, new, strict=False)]
    removed = [pieces for pieces, _ in both] + [[Piece(line, True)] for line in old[len(both) :]]
    added = [pieces for _, pieces in both] + [[Piece(line, True)] for line in new[len(both) :]]
    yield from [TextLine("removed", pieces) for pieces in removed]
    yield from [TextLine("added", pieces) for pieces in added]


def _words(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    if max(len(old_words), len(new_words)) > MOST_WORDS:
        return [Piece(old, True)], [Piece(new, True)]
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    shared = sum(
        not word.isspace()
        for block in matcher.get_matching_blocks()
        for word in old_words[block.a : block.a + block.size]
    )
    if shared * 6 < len(old_words) + len(new_words):  # hardly any: words that are the same by chance would only confuse
        return [Piece(old, True)], [Piece(new, True)]
    removed, added = [], []
    for what, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        is_changed = what != "equal"
        if old_end > old_start:
            removed.append(Piece("".join(old_words[old_start:old_end]), is_changed))
        if new_end > new_start:
            added.append(Piece("".join(new_words[new_start:new_end]), is_changed))
    return removed, added


_SQL = load("gossamer.archive", "versions.sql")
_HOUR = re.compile(r"\d[T ]\d")
KINDS = {Change.BYTES: "bytes", Change.TEXT: "text", Change.FACTS: "facts"}


class CaptureVersion(msgspec.Struct, frozen=True):
    """One capture of a page, and how it differs from the readable one before it."""

    number: int
    """Counted from 1, the oldest."""
    fetched_at: str
    status: int
    media_type: str
    size: int
    is_page: bool
    """Whether it was searchable."""
    changes: tuple[str, ...] | None = None
    """Among "bytes", "text" and "facts"; None for the first, and where nothing can be compared."""
    title: str = ""
    fact_count: int | None = None
    note: str = ""
    """Why it was not compared."""
    is_gone: bool = False
    """The page, which had existed, is gone."""
    is_back: bool = False
    """The page was gone, and exists again."""
    seen_again: int = 0
    """Fetches that found it unchanged, until the next version."""
    charset: str = ""
    charset_from: str = ""
    """Its encoding, and how that was determined (`values.capture.CHARSET_FROM`)."""


def version_of(kept: Kept, number: int, note: str) -> CaptureVersion:
    """A capture that is not compared yet. `number`, `note`: as in `CaptureVersion`."""
    return CaptureVersion(
        number=number,
        fetched_at=in_words(kept.fetched_at),
        status=kept.status,
        media_type=kept.media_type,
        size=kept.size,
        is_page=kept.is_page,
        note=note,
        charset=kept.charset,
        charset_from=kept.charset_from,
    )


class Timeline(msgspec.Struct, frozen=True):
    url: str
    versions: list[CaptureVersion]
    """Oldest first."""
    earlier: int = 0
    """Older versions that were left out."""
    seen_again: list[str] = []
    """When fetches found it unchanged; the newest of them, oldest first."""


def kinds_of(change: Change) -> tuple[str, ...]:
    return tuple([name for kind, name in KINDS.items() if change & kind])


def vanished(versions: Sequence[Kept]) -> Kept | None:
    """The first answer that a page is gone, if the newest ones say so. REQUIRES: newest first."""
    gone: Kept | None = None
    for kept in versions:
        if kept.is_page or (gone is None and 200 <= kept.status < 300):
            return gone
        gone = kept if kept.status in VANISHED else gone
    return None


def in_force(versions: Sequence[Kept]) -> list[Kept]:
    """What the views may have contained: the newest page, preceded by the answers since. Empty when there was no page
    or it was gone. REQUIRES: newest first."""
    for number, kept in enumerate(versions):
        if kept.is_page:
            return list(versions[: number + 1])
        if kept.status in VANISHED:
            return []
    return []


def seen_again(connection: State, url: Url) -> list[Instant]:
    """When fetches found it unchanged; oldest first."""
    return [at for (at,) in connection.execute(_SQL["seen_again"], (url.host.id, url.id, url.text))]


def until(connection: State, at: Instant, host: Host | None = None) -> Iterator[list[Kept]]:
    """For each URL its answers up to that time, newest first; `in_force` decides which of them counts.

    The first that is a page, asks not to be indexed, or says that the page is gone was in effect: the views contained
    it. Failures and truncated captures in between did not change the views.
    """
    if host is None:
        rows = connection.execute(_SQL["until"], (at,))
    else:
        rows = connection.execute(_SQL["until_of"], (host.id, at))
    for _, same_id in groupby(map(kept_of, rows), key=lambda kept: (kept.url.host.name, kept.url.id)):
        by_text: dict[str, list[Kept]] = {}  # two texts only where ids collide
        for kept in same_id:
            if host is None or kept.url.host == host:
                by_text.setdefault(kept.url.text, []).append(kept)
        yield from by_text.values()


def moment_of(text: str) -> Instant:
    """RFC 3339, or a prefix of it; a date alone means the end of that day (UTC). Raises ValueError otherwise."""
    text = text.strip().upper()  # lower-case t and z are allowed (RFC 3339, 5.6)
    try:
        start = from_words(text)
    except (OverflowError, OSError) as trouble:
        raise ValueError(text) from trouble
    return start if _HOUR.search(text) else start + int(timedelta(days=1).total_seconds()) * SECOND - 1


# Facts that were added and removed between two versions of a page. Pure, and called in a worker.
# Blank nodes have different labels in every capture. They are paired by their properties: first nodes with exactly the
# same properties, as far as the graph reaches; then those with most in common. Any pairing gives a correct difference:
# the facts before, minus the removed, plus the added, are the facts after.

ROUNDS = 6
"""Steps along the graph in which a blank node is identified by its neighbours."""
MOST_GUESSES = 20
"""How often one of several equal candidates is chosen, and all are compared again."""
MOST_COMPARED = 2_000
COMMON = 60
"""A property that more nodes than this share does not distinguish them."""
Triple = tuple[str, str, str]
Statement = tuple[str, str, str]
"""Direction, predicate, and the term at the other end."""


def fact_changes(before: bytes, after: bytes) -> FactChanges:
    """REQUIRES: N-Triples, one fact a line, as a reading has them."""
    old, new = triples_of(before), triples_of(after)
    partner = paired(old, new)
    names = {label: f"_:b{number}" for number, label in enumerate(_blanks(old))}
    own = {label: names[partner[label]] if label in partner else "" for label in _blanks(new)}
    fresh = iter(range(len(names), len(names) + len(own)))
    own = {label: name or f"_:b{next(fresh)}" for label, name in own.items()}
    said_before = dict.fromkeys([_line(triple, names) for triple in old])
    said_after = dict.fromkeys([_line(triple, own) for triple in new])
    return FactChanges(
        [line for line in said_after if line not in said_before],
        [line for line in said_before if line not in said_after],
        sum(line in said_before for line in said_after),
    )


def triples_of(facts: bytes) -> list[Triple]:
    lines = [line.removesuffix(" .").split(" ", 2) for line in facts.decode("utf-8", "replace").split("\n") if line]
    return [(line[0], line[1], line[2]) for line in lines if len(line) == 3]


def paired(old: Sequence[Triple], new: Sequence[Triple]) -> dict[str, str]:
    """For blank nodes in `new` the same ones in `old`; each at most once."""
    found: dict[str, str] = {}
    guesses = 0
    while True:
        olds, news = _by_look(old, {label: label for label in found.values()}), _by_look(new, found)
        alike = [(olds[look], labels) for look, labels in news.items() if look in olds]
        sure = [(mine, theirs) for mine, theirs in alike if len(mine) == len(theirs) == 1]
        for mine, theirs in sure:
            found[theirs[0]] = mine[0]
        if sure:
            continue
        if not alike:
            break
        guesses += 1
        for mine, theirs in alike if guesses > MOST_GUESSES else alike[:1]:
            number = None if guesses > MOST_GUESSES else 1
            found |= dict(zip(theirs[:number], mine[:number], strict=False))
    while more := _most_alike(old, new, found):
        found |= more
    return found


def _by_look(triples: Sequence[Triple], known: Mapping[str, str]) -> dict[bytes, list[str]]:
    """Unpaired nodes by a digest of their properties and surroundings, in document order."""
    looks = {label: known.get(label, "_").encode() for label in _blanks(triples)}
    if len(looks) == len(known):
        return {}
    for _ in range(ROUNDS):
        said: dict[str, list[bytes]] = {label: [] for label in looks if label not in known}
        for subject, predicate, term in triples:
            if subject in said:
                said[subject].append(b"> %b %b" % (predicate.encode(), looks.get(term) or term.encode()))
            if term in said:
                said[term].append(b"< %b %b" % (predicate.encode(), looks.get(subject) or subject.encode()))
        looks |= {label: _digest(looks[label] + b"\n".join(sorted(parts))) for label, parts in said.items()}
    found: dict[bytes, list[str]] = defaultdict(list)
    for label, look in looks.items():
        if label not in known:
            found[look].append(label)
    return found


def _most_alike(old: Sequence[Triple], new: Sequence[Triple], found: Mapping[str, str]) -> dict[str, str]:
    """The unpaired nodes with most in common. Their pairing may then identify others."""
    mine = _statements(old, {label: label for label in found.values()})
    theirs = _statements(new, found)
    if not mine or not theirs or len(mine) * len(theirs) > MOST_COMPARED * MOST_COMPARED:
        return {}
    where: dict[Statement, list[str]] = defaultdict(list)
    for label, statements in mine.items():
        for statement in statements:
            where[statement].append(label)
    shared: Counter[tuple[str, str]] = Counter()
    for label, statements in theirs.items():
        for statement in statements:
            if len(where.get(statement, ())) <= COMMON:
                shared.update([(label, other) for other in where.get(statement, ())])
    best = max(shared.values(), default=0)
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for (label, other), times in shared.items():
        if times == best and label not in pairs and other not in taken:
            pairs[label] = other
            taken.add(other)
    return pairs


def _statements(triples: Sequence[Triple], known: Mapping[str, str]) -> dict[str, dict[Statement, None]]:
    found: dict[str, dict[Statement, None]] = {}
    for subject, predicate, term in triples:
        if subject.startswith("_:") and subject not in known:
            other = known.get(term, "_:") if term.startswith("_:") else term
            found.setdefault(subject, {})[">", predicate, other] = None
        if term.startswith("_:") and term not in known:
            other = known.get(subject, "_:") if subject.startswith("_:") else subject
            found.setdefault(term, {})["<", predicate, other] = None
    return found


def _blanks(triples: Sequence[Triple]) -> dict[str, None]:
    return dict.fromkeys([term for subject, _, term in triples for term in (subject, term) if term.startswith("_:")])


def _line(triple: Triple, names: Mapping[str, str]) -> str:
    subject, predicate, term = triple
    return f"{names.get(subject, subject)} {predicate} {names.get(term, term)} ."


def _digest(octets: bytes) -> bytes:
    return hashlib.blake2b(octets, digest_size=16).digest()
