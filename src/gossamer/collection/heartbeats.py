"""The processes at work on a collection, by their heartbeats."""

from collections.abc import Sequence

from gossamer.base.clock import SECOND
from gossamer.base.environment import Outside
from gossamer.monitor.control import Beat


def at_work(beats: Sequence[Beat], outside: Outside) -> list[dict[str, object]]:
    """Those that live, with what each said of itself."""
    now = outside.clock.now()
    return [
        {"name": beat.name, "pid": beat.pid, "silent_s": round((now - beat.at) / SECOND, 1), **beat.facts}
        for beat in beats
        if beat.facts.get("state") != "ended" and outside.processes.is_alive(beat.pid)
    ]
