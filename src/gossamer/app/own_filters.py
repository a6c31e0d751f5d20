"""The user's own filters: a function `(url: str, depth: int) -> bool | str` that is named in the settings.

    crawl.filters = ["filters.py:is_news"]     a function in a file, relative to the data directory
    crawl.filters = ["news"]                   an entry point of the group `gossamer.filters`, from an installed package

It is called in the crawler, for each address met for the first time: it must be quick, and ask nobody.
"""

import faulthandler
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.app.allowed_code import Code, is_allowed
from gossamer.app.foreign import loaded
from gossamer.errors import GossamerError
from gossamer.rules.filters import OwnFilter
from gossamer.rules.verdict import ALLOWED, Allowed, Denied
from gossamer.values.tell import Tell, silent

GROUP = "gossamer.filters"
LIMIT_S = 2.0
"""A filter that is asked about one address has this long; nothing else is done meanwhile."""
MOST_SLOW = 3
"""Calls that took too long, after which a filter ends the crawl: the next would not be quicker."""
STUCK_S, LOOK_S = 30.0, 1.0
"""Seconds of work after which the process ends when nothing else in it had a turn; how often that is seen to."""
Judge = Callable[[str, int], object]
Answers = queue.SimpleQueue[tuple[bool, object]]


class TooSlow(Exception):
    """A filter has not answered in time."""


def own_filters(names: Sequence[str], folder: Path, tell: Tell, are_watched: bool = False) -> tuple[OwnFilter, ...]:
    """Load them, once, at start-up. Raises ConfigError, saying what to do, when one cannot be had.

    `are_watched`: for a process that had better end than stand still."""
    if names and are_watched:
        end_when_stuck()
    return tuple([safe(name, loaded("filter", GROUP, name, folder), tell) for name in names])


def filters_to_ask(names: Sequence[str], folder: Path) -> tuple[OwnFilter, ...]:
    """For those who only ask why: in the place of a filter that the user has not allowed to run stands one that says
    so."""
    return tuple([_filter_to_ask(name, folder) for name in names])


def _filter_to_ask(name: str, folder: Path) -> OwnFilter:
    if is_allowed(Code(GROUP, name, folder)):
        return safe(name, loaded("filter", GROUP, name, folder), silent)
    unasked = Denied(f"filter {name} was not asked: it has not been allowed to run; see `gossamer trust`")
    return lambda _url, _depth: unasked


def safe(name: str, judge: Judge, tell: Tell) -> OwnFilter:
    """What the function says, as a verdict. Its faults refuse the address, are told, and never end the crawl; but one
    that hangs again and again does, with GossamerError that names it."""
    slow, beside = 0, Beside(judge)

    def asked(url: str, depth: int) -> Allowed | Denied:
        nonlocal slow
        if slow >= MOST_SLOW:
            raise GossamerError(
                f"the filter {name} took longer than {LIMIT_S:g} s, {MOST_SLOW} times, last for an address before "
                f"{url[:200]}. Mend it, or take it out of crawl.filters; the same command then goes on from here"
            )
        try:
            said = beside.ask(url, depth)
        except TooSlow:
            slow += 1
            tell("filter.failed", filter=name, url=url, trouble=f"it took longer than {LIMIT_S:g} s")
            return Denied(f"filter {name} took longer than {LIMIT_S:g} s")
        except Exception as trouble:  # noqa: BLE001  # somebody else's code: it may raise anything
            tell("filter.failed", filter=name, url=url, trouble=f"{type(trouble).__name__}: {trouble}"[:200])
            return Denied(f"filter {name} failed: {type(trouble).__name__}")
        if said is True:
            return ALLOWED
        if isinstance(said, str):
            return Denied(f"filter {name}: {said}")
        return Denied(f"filter {name}" if said is False else f"filter {name} answered {said!r:.100}, not True or False")

    return asked


class Beside:
    """A thread of its own in which a filter is asked. One that hangs is left behind, and another takes its place."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._turn = threading.Lock()
        self._questions: queue.SimpleQueue[tuple[str, int, Answers] | None] | None = None

    def ask(self, url: str, depth: int) -> object:
        """What it says. Raises what it raises, or TooSlow."""
        with self._turn:
            if self._questions is None:
                self._questions = queue.SimpleQueue()
                threading.Thread(target=self._answer, args=(self._questions,), name="a filter", daemon=True).start()
            answers: Answers = queue.SimpleQueue()
            self._questions.put((url, depth, answers))
            try:
                has_said, said = answers.get(timeout=LIMIT_S)
            except queue.Empty:
                self._questions.put(None)
                self._questions = None
                raise TooSlow from None
        if has_said:
            return said
        assert isinstance(said, Exception)
        raise said

    def _answer(self, questions: "queue.SimpleQueue[tuple[str, int, Answers] | None]") -> None:
        while (question := questions.get()) is not None:
            url, depth, answers = question
            try:
                answers.put((True, self._judge(url, depth)))
            except Exception as trouble:  # noqa: BLE001  # raised again by whoever asked
                answers.put((False, trouble))


def end_when_stuck() -> None:
    """Code that never lets go of the interpreter, such as a regular expression with no end, stops every thread of the
    program, and whoever waits for it in Python too. The system's timer counts the work done since we last had a turn;
    when it is too much, where everybody stands is written to the terminal, and the process ends. What was acknowledged
    is on disk, as after any crash. Time in which we are stopped (Ctrl-Z) does not count."""

    def set_back() -> None:
        never = threading.Event()
        while True:
            signal.setitimer(signal.ITIMER_VIRTUAL, STUCK_S)
            never.wait(LOOK_S)

    faulthandler.register(signal.SIGVTALRM, chain=True)
    threading.Thread(target=set_back, name="watches over filters", daemon=True).start()
