"""The two ways out of the machine, as seams: names to addresses, addresses to sockets."""

from typing import NamedTuple, Protocol


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
