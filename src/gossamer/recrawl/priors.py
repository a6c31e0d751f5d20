"""Pages of one kind resemble each other: what is common to a site, a template, the whole collection (empirical Bayes).

A panel of pages is followed for each group: not its visits, which would count the busy pages more, but its pages, each
once, with all that is known of it. The prior of the group is the mixture of rates under which the panel is likeliest
(expectation maximisation), drawn towards the prior of the next larger group as long as the panel is small.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gossamer.recrawl.rates import IGNORANT, Prior, likelihoods, prior_of
from gossamer.values.history import History

Group = tuple[str, ...]
_MIXING, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Panels:
    """How much is looked at to know a group."""

    pages: int = 48
    """Followed in a group."""
    pages_of_all: int = 600
    """Followed in the whole collection."""
    enough: int = 8
    """Fewer pages say nothing about a group."""
    pull: float = 16.0
    """The prior of the next larger group counts as so many pages."""
    pull_of_all: float = 30.0
    """And for the whole collection, what is known of the web at large: that any order of magnitude is possible."""
    groups: int = 4_000
    """Known at one time; the one met longest ago is forgotten, and learnt anew when it is met again."""
    rounds: int = 2
    """Of expectation maximisation, each time; the next time goes on from there."""


def learnt(histories: Iterable[History], start: Prior, parent: Prior, pull: float, rounds: int) -> Prior:
    """The prior under which these pages are likeliest, `parent` counting as `pull` pages more.

    Left alone the method ends with a few spikes, fitted to chance; each round is therefore smoothed over neighbouring
    rates (Silverman, Jones, Wilson and Nychka, "A smoothed EM approach", J. R. Statist. Soc. B 52, 1990).
    """
    followed, prior = list(histories), start
    for _ in range(rounds):
        sums = [pull * weight for weight in parent.weights]
        for history in followed:
            found = likelihoods(history, prior)
            scale = 1.0 / sum(found)
            sums = [one + scale * share for one, share in zip(sums, found)]  # noqa: B905
        prior = prior_of(smoothed(sums))
    return prior


def smoothed(weights: Sequence[float]) -> list[float]:
    """Each rate shares with the two on either side, the nearer twice the farther; the sum stays."""
    return _shared(_shared(weights))


def _shared(weights: Sequence[float]) -> list[float]:
    below, above = [weights[0], *weights[:-1]], [*weights[1:], weights[-1]]
    return [(low + one + high) / 3.0 for low, one, high in zip(below, weights, above, strict=True)]


@dataclass(slots=True)
class _Panel:
    """The pages with the lowest keys of all that were met: a sample in which each page is as likely as any other."""

    prior: Prior
    pages: dict[int, History] = field(default_factory=dict)
    highest: int = -1
    visits: int = 0
    learn_at: int = 0

    def wants(self, key: int, most: int) -> bool:
        return key <= self.highest or len(self.pages) < most

    def keep(self, key: int, history: History, most: int) -> None:
        self.pages[key] = history
        if len(self.pages) > most:
            del self.pages[self.highest]
            self.highest = max(self.pages)
        elif key > self.highest:
            self.highest = key


class PriorLearning:
    """The priors of all groups, and the panels they are learnt from. `()` is the group of all pages."""

    def __init__(self, settings: Panels | None = None, start: Prior = IGNORANT) -> None:
        self._settings = settings or Panels()
        self._start = start
        self._all = _Panel(start)
        self._groups: OrderedDict[Group, _Panel] = OrderedDict()

    @property
    def all(self) -> Prior:
        return self._all.prior

    def panel(self) -> Sequence[History]:
        """The pages followed for the collection as a whole."""
        return list(self._all.pages.values())

    def prior_for(self, group: Group) -> Prior:
        """Of the smallest group around it that is known."""
        while group:
            if (known := self._groups.get(group)) is not None and known.learn_at:
                return known.prior
            group = group[:-1]
        return self._all.prior

    def followed(self, page: int, group: Group, history: History) -> None:
        """A page was visited again."""
        settings, key = self._settings, page * _MIXING & _MASK
        if self._all.wants(key, settings.pages_of_all):
            self._follow(self._all, key, history, settings.pages_of_all, self._start, settings.pull_of_all)
        for depth in range(1, len(group) + 1):
            panel = self._panel(group[:depth])
            if panel.wants(key, settings.pages):
                self._follow(panel, key, history, settings.pages, self.prior_for(group[: depth - 1]), settings.pull)

    def _panel(self, group: Group) -> _Panel:
        if (found := self._groups.get(group)) is None:
            found = self._groups[group] = _Panel(self._all.prior)
            if len(self._groups) > self._settings.groups:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(group)
        return found

    def _follow(self, panel: _Panel, key: int, history: History, most: int, parent: Prior, pull: float) -> None:
        panel.keep(key, history, most)
        panel.visits += 1
        if len(panel.pages) >= self._settings.enough and panel.visits >= panel.learn_at:
            panel.prior = learnt(panel.pages.values(), panel.prior, parent, pull, self._settings.rounds)
            # Soon again while every visit teaches something, seldom later: learning costs as much as a panel's visits.
            panel.learn_at = panel.visits + max(len(panel.pages), min(panel.visits // 2, 16 * most))
