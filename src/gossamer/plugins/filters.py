"""The user's own filters, named in the settings.

Each is a function `(url, depth)`, or a class with a method `crawl(url)`.

    crawl.filters = ["filters.py:is_news"]     a function in a file, relative to the data directory
    crawl.filters = ["filters.py:News"]        a class: made once, without arguments, when the crawl starts
    crawl.filters = ["news"]                   an entry point of the group `gossamer.filters`, from an installed package

It returns True, False, or the reason for a rejection as text. It is called in the crawler, once for each URL when it is
first found: it must be quick, and use no network.
"""

import faulthandler
import inspect
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.tell import Tell, silent
from gossamer.plugins.code import loaded
from gossamer.rules.user.rulebook import OwnFilter
from gossamer.store.trust import Code, is_allowed
from gossamer.values.outcome import ALLOWED, Allowed, Denied, FilterFailed

GROUP = "gossamer.filters"
LIMIT_S = 2.0
"""How long a filter may take for one URL; the crawler does nothing else meanwhile."""
MOST_SLOW = 3
"""Calls that took too long, after which a filter ends the crawl: the next would be no faster."""
STUCK_S, LOOK_S = 30.0, 1.0
"""CPU seconds after which the process ends if no other thread has run; how often the timer is reset."""
EXPECTED = "a function f(url, depth), or a class with a method crawl(url), that returns True, False or a reason as text"
Judge = Callable[[str, int], object]
Answers = queue.SimpleQueue[tuple[bool, object]]


class TooSlow(Exception):
    """A filter has not returned in time."""


def own_filters(names: Sequence[str], folder: Path, tell: Tell, are_watched: bool = False) -> tuple[OwnFilter, ...]:
    """Load them, once, at start-up. Raises ConfigError, saying what to do, if one cannot be loaded.

    `are_watched`: for a process that should rather end than hang."""
    if names and are_watched:
        end_when_stuck()
    return tuple([safe(name, judge_of(name, loaded("filter", GROUP, name, folder)), tell) for name in names])


def filters_to_ask(names: Sequence[str], folder: Path) -> tuple[OwnFilter, ...]:
    """For explanations: a filter that the user has not allowed to run is replaced by one that reports that."""
    return tuple([_filter_to_ask(name, folder) for name in names])


def _filter_to_ask(name: str, folder: Path) -> OwnFilter:
    if is_allowed(Code(GROUP, name, folder)):
        return safe(name, judge_of(name, loaded("filter", GROUP, name, folder)), silent)
    unasked = Denied(f"filter {name} was not run: it has not been allowed; see `gossamer trust`")
    return lambda _url, _depth: unasked


def judge_of(name: str, found: object) -> Judge:
    """What was named, as a function of a URL and its depth. Raises ConfigError, saying what is expected, for anything
    that cannot be called so. A method or function that takes one argument is given the URL alone."""
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as trouble:
            raise ConfigError(
                f"the filter {name}: the class could not be made without arguments "
                f"({type(trouble).__name__}: {trouble}); expected is {EXPECTED}"
            ) from trouble
    judge = getattr(found, "crawl", found)
    if not callable(judge) or inspect.iscoroutinefunction(judge):
        raise ConfigError(f"the filter {name} cannot be used: it is {_kind(judge)}; expected is {EXPECTED}")
    arguments = _arguments(judge)
    if arguments == 1:
        return lambda url, _depth: judge(url)
    if arguments == 2:
        return lambda url, depth: judge(url, depth)
    raise ConfigError(f"the filter {name} cannot be called with a URL, or a URL and its depth; expected is {EXPECTED}")


def _kind(found: object) -> str:
    return "a coroutine function" if inspect.iscoroutinefunction(found) else f"of type {type(found).__name__}"


def _arguments(judge: Callable[..., object]) -> int:
    """How many arguments it takes: the URL, and the depth if it wants that. 0: it cannot be called so."""
    try:
        signature = inspect.signature(judge)
    except (TypeError, ValueError):  # some built-in functions do not say
        return 2
    fits = [len(given) for given in (("",), ("", 0)) if _binds(signature, given)]
    return max(fits, default=0) if "depth" in signature.parameters else min(fits, default=0)


def _binds(signature: inspect.Signature, given: tuple[object, ...]) -> bool:
    try:
        signature.bind(*given)
    except TypeError:
        return False
    return True


def safe(name: str, judge: Judge, tell: Tell) -> OwnFilter:
    """The filter's answer as a verdict. If it fails, nothing is decided; that is logged with its name the first time,
    and then whenever there are ten times as many failures. Failures never end the crawl, but a filter that hangs again
    and again does, with a GossamerError that names it."""
    slow, failed, thread = 0, 0, FilterThread(judge)

    def failing(url: str, trouble: str) -> FilterFailed:
        nonlocal failed
        failed += 1
        if str(failed).strip("0") == "1":
            tell("filter.failed", filter=name, url=url, trouble=trouble, times=failed)
        return FilterFailed(f"filter {name} failed: {trouble}")

    def asked(url: str, depth: int) -> Allowed | Denied | FilterFailed:
        nonlocal slow
        if slow >= MOST_SLOW:
            raise GossamerError(
                f"the filter {name} took longer than {LIMIT_S:g} s, {MOST_SLOW} times, last for a URL before "
                f"{url[:200]}. Repair it, or remove it from crawl.filters; the same command then continues from here"
            )
        try:
            said = thread.ask(url, depth)
        except TooSlow:
            slow += 1
            return failing(url, f"it took longer than {LIMIT_S:g} s")
        except Exception as trouble:  # noqa: BLE001  # third-party code: it may raise anything
            return failing(url, f"{type(trouble).__name__}: {trouble}"[:200])
        if said is True:
            return ALLOWED
        if isinstance(said, str):
            return Denied(f"filter {name}: {said}")
        return (
            Denied(f"filter {name}")
            if said is False
            else failing(url, f"it returned {_shown(said)}, not True or False")
        )

    return asked


def _shown(said: object) -> str:
    """What a filter returned; its `repr` is third-party code too."""
    try:
        return f"{said!r:.100}"
    except Exception:  # noqa: BLE001
        return f"a {type(said).__name__}"


class FilterThread:
    """A separate thread that runs a filter. One that hangs is abandoned and replaced."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._turn = threading.Lock()
        self._questions: queue.SimpleQueue[tuple[str, int, Answers] | None] | None = None

    def ask(self, url: str, depth: int) -> object:
        """Its answer. Raises what it raises, or TooSlow."""
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
            except Exception as trouble:  # noqa: BLE001  # raised again in `ask`
                answers.put((False, trouble))


def end_when_stuck() -> None:
    """Ends the process when code never releases the interpreter, such as a regular expression that never ends: it stops
    every thread, so no timeout in Python works. The system's timer counts the CPU time since another thread last ran;
    at STUCK_S the stacks of all threads are printed, and the process ends. What was acknowledged is on disk, as after
    any crash. Time in which the process is stopped (Ctrl-Z) does not count."""

    def reset_timer() -> None:
        never = threading.Event()
        while True:
            signal.setitimer(signal.ITIMER_VIRTUAL, STUCK_S)
            never.wait(LOOK_S)

    faulthandler.register(signal.SIGVTALRM, chain=True)
    threading.Thread(target=reset_timer, name="watches over filters", daemon=True).start()
