"""The seams as the running program uses them."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.base.chance import Chance, system_chance
from gossamer.base.clock import Clock, FastCalendar, SystemClock
from gossamer.base.files import DiskFiles, Files
from gossamer.base.processes import Processes, SystemProcesses


class Endpoint(NamedTuple):
    address: str
    port: int


class Resolver(Protocol):
    """Real ones: `DnsResolver` in `resolve.py`, `AddressPlan` in `plan.py`."""

    async def addresses(self, hostname: str) -> list[str]:
        """Every IPv4 and IPv6 address of the name, as text. An empty list or OSError: it does not resolve."""
        ...


class Dialer(Protocol):
    """Real ones: `DirectDialer` here, `AddressPlan` in `plan.py`."""

    def endpoint(self, address: str, port: int) -> Endpoint:
        """Where to connect for a *checked* address. OSError when it must not be dialled at all."""
        ...


class DirectDialer:
    def endpoint(self, address: str, port: int) -> Endpoint:
        return Endpoint(address, port)


@dataclass(frozen=True, slots=True)
class Outside:
    """Time, chance, disk and processes."""

    clock: Clock
    chance: Chance
    files: Files
    processes: Processes
    calendar: FastCalendar | None = None
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
