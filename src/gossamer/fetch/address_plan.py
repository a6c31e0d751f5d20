"""A virtual address plan: made-up public addresses that lead to loopback ports, and nowhere else.

The demonstration web, the benchmarks and the tests run the production guard unchanged on top of it: names resolve
to addresses that look public, and dialling any of them ends at a server on this machine.
"""

from collections.abc import Mapping

from gossamer.base.environment import Endpoint

LOOPBACK = "127.0.0.1"


class AddressPlan:
    """Resolver and dialer in one. Names not in the plan do not exist; addresses not in it are never dialled."""

    def __init__(self, ports: Mapping[str, Mapping[int, int]]) -> None:
        """`ports[name][asked_port]` is the loopback port that answers for that name on that port."""
        self._address_of = {name: made_up_address(number) for number, name in enumerate(sorted(ports))}
        self._ports = {self._address_of[name]: dict(given) for name, given in ports.items()}

    async def addresses(self, hostname: str) -> list[str]:
        found = self._address_of.get(hostname)
        return [found] if found else []

    def endpoint(self, address: str, port: int) -> Endpoint:
        try:
            return Endpoint(LOOPBACK, self._ports[address][port])
        except KeyError:
            raise ConnectionRefusedError(f"{address} port {port} is not in the address plan") from None


def made_up_address(number: int) -> str:
    """The number-th address of 20.0.0.0/8: public in form, and ours in this plan only."""
    if not 0 <= number < 1 << 24:
        raise ValueError(f"an address plan holds at most {1 << 24} names")
    return f"20.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
