"""The seams as the running program uses them."""

from dataclasses import dataclass

from gossamer.base.calendar import ShortDays
from gossamer.base.chance import Chance, system_chance
from gossamer.base.clock import Clock, SystemClock
from gossamer.base.files import DiskFiles, Files
from gossamer.base.network import Dialer, Resolver
from gossamer.base.processes import Processes, SystemProcesses


@dataclass(frozen=True, slots=True)
class Outside:
    """Time, chance, disk and processes."""

    clock: Clock
    chance: Chance
    files: Files
    processes: Processes
    calendar: ShortDays | None = None
    """What pages are dated and come again by, where that is another clock: the days of a demonstration are short."""

    @property
    def dates(self) -> Clock:
        """Whatever is compared with a date in the collection is compared with this clock."""
        return self.calendar or self.clock

    def lasting_s(self, seconds: float) -> float:
        """How long so many seconds between two dates of the collection take."""
        return seconds if self.calendar is None else self.calendar.lasting_s(seconds)


@dataclass(frozen=True, slots=True)
class Network:
    """Names to addresses, addresses to sockets."""

    resolver: Resolver
    dialer: Dialer


def real_outside() -> Outside:
    return Outside(SystemClock(), system_chance(), DiskFiles(), SystemProcesses())
