"""Domains that answer for any name under them, each time as another host: endless, though every host is small."""

from collections.abc import Iterator

from gossamer.rules.learned.sketch import Sketch
from gossamer.rules.learned.snapshot import DomainRow, DomainsKept, batches
from gossamer.rules.learned.traps import TemplateRun, after, is_trap
from gossamer.rules.scope import domain_of
from gossamer.rules.verdict import ALLOWED, Allowed, Denied
from gossamer.values.messages import Marks
from gossamer.values.url import Url

MOST_DOMAINS = 10_000
MOST_HOSTS = 1_000
_NO_RUN = TemplateRun()


class Farms:
    """The first page of each host counts: whether it says anything that hosts of the same domain have not said."""

    def __init__(self) -> None:
        self._domains: dict[str, _Domain] = {}

    def learn(self, url: Url, marks: Marks, is_asked_for: bool = False) -> None:
        """A page that was fetched. `is_asked_for`: the user named it, so its host is no accident."""
        name = url.hostname
        domain = domain_of(name)
        known = self._domains.pop(domain, None) or _Domain()
        self._domains[domain] = known
        known.learn(name, marks, is_asked_for)
        if len(self._domains) > MOST_DOMAINS:
            del self._domains[next(iter(self._domains))]

    def kept(self) -> Iterator[DomainsKept]:
        """All of it, to be written down; only looks, so that another thread may ask."""
        for batch in batches(list(self._domains.items())):
            yield DomainsKept(tuple([domain.kept(name) for name, domain in batch]))

    def recall(self, part: DomainsKept) -> None:
        self._domains.update((row[0], _Domain.of(row)) for row in part.rows)

    def judge(self, url: Url) -> Allowed | Denied:
        """May a host like this be asked? Those that brought something go on being asked."""
        if not self._domains:
            return ALLOWED
        name = url.hostname
        domain = domain_of(name)
        known = self._domains.get(domain)
        if known is None or not is_trap(known.run) or name == domain or name in known.good:
            return ALLOWED
        return Denied(f"hosts under {domain} have no end: of {known.run.fetched:,} {known.run.new:,} said anything new")


class _Domain:
    __slots__ = ("_met", "_sketch", "good", "run")

    def __init__(self) -> None:
        self._sketch = Sketch(is_folded=True)
        self._met: set[str] = set()
        self.good: set[str] = set()
        self.run = _NO_RUN

    def kept(self, name: str) -> DomainRow:
        return name, self._sketch.kept(), tuple(sorted(self._met.copy())), tuple(sorted(self.good.copy())), self.run

    @classmethod
    def of(cls, row: DomainRow) -> "_Domain":
        domain = cls()
        domain._sketch, domain.run = Sketch.of(row[1]), row[4]
        domain._met, domain.good = set(row[2]), set(row[3])
        return domain

    def learn(self, name: str, marks: Marks, is_asked_for: bool) -> None:
        if is_asked_for and len(self.good) < MOST_HOSTS:
            self.good.add(name)
        if name in self._met or name in self.good:
            return
        if len(self._met) < MOST_HOSTS:
            self._met.add(name)
        new = self._sketch.met(marks)
        self.run = after(self.run, new.text or new.facts)
        if (new.text or new.facts) and len(self.good) < MOST_HOSTS:
            self.good.add(name)
