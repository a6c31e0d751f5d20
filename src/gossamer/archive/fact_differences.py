"""Which facts came and which went between two versions of a page. Pure, and called in a worker.

Things without a name (blank nodes) have other labels in every capture. They are told apart by what is said of them:
first those of which exactly the same is said, as far as the graph reaches; then those that have most in common. However
they are paired, what is told is true: the facts before, less those that went, and those that came make the facts after.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gossamer.archive.versions import FactChanges

ROUNDS = 6
"""Steps along the graph in which a thing is known by its neighbours."""
MOST_GUESSES = 20
"""Times that one of several that look the same is taken, and all looked at anew."""
MOST_COMPARED = 2_000
COMMON = 60
"""What is said of more things than this does not tell them apart."""

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
    """For things without a name in `new` the same ones in `old`; each at most once."""
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
    """Things not yet known, by a digest of all that is said of them and around them; in document order."""
    looks = {label: known.get(label, "_").encode() for label in _blanks(triples)}
    if len(looks) == len(known):
        return {}
    for _ in range(ROUNDS):
        said: dict[str, list[bytes]] = {label: [] for label in looks if label not in known}
        for subject, predicate, thing in triples:
            if subject in said:
                said[subject].append(b"> %b %b" % (predicate.encode(), looks.get(thing) or thing.encode()))
            if thing in said:
                said[thing].append(b"< %b %b" % (predicate.encode(), looks.get(subject) or subject.encode()))
        looks |= {label: _digest(looks[label] + b"\n".join(sorted(parts))) for label, parts in said.items()}
    found: dict[bytes, list[str]] = defaultdict(list)
    for label, look in looks.items():
        if label not in known:
            found[look].append(label)
    return found


def _most_alike(old: Sequence[Triple], new: Sequence[Triple], found: Mapping[str, str]) -> dict[str, str]:
    """Of those still single the pairs that have most in common. What they share may then tell others."""
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
    for subject, predicate, thing in triples:
        if subject.startswith("_:") and subject not in known:
            other = known.get(thing, "_:") if thing.startswith("_:") else thing
            found.setdefault(subject, {})[">", predicate, other] = None
        if thing.startswith("_:") and thing not in known:
            other = known.get(subject, "_:") if subject.startswith("_:") else subject
            found.setdefault(thing, {})["<", predicate, other] = None
    return found


def _blanks(triples: Sequence[Triple]) -> dict[str, None]:
    return dict.fromkeys([term for subject, _, thing in triples for term in (subject, thing) if term.startswith("_:")])


def _line(triple: Triple, names: Mapping[str, str]) -> str:
    subject, predicate, thing = triple
    return f"{names.get(subject, subject)} {predicate} {names.get(thing, thing)} ."


def _digest(octets: bytes) -> bytes:
    return hashlib.blake2b(octets, digest_size=16).digest()
