"""The servers of an attack, each kind in a process of its own: `python -m tests.attack.web KIND ROOT ...`.

Inside a network namespace they listen on the IP addresses of the plan; elsewhere on ports of loopback, written to a
file for the crawler's dialer. SIGTERM ends them; the hostile one then writes counts of requests and bytes to a file.
"""

import asyncio
import contextlib
import json
import logging
import signal
import sys
from pathlib import Path

import trustme
from tests.attack.plan import GATE, HTTP, HTTPS, NAME_SERVER, Plan, gate_page
from tests.hostile.behaviour import Behaviour, sending, whole
from tests.hostile.behaviours.load import Copied
from tests.hostile.names import NameServer
from tests.hostile.server import BY_HOST, HostileServer

from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.demo.server import LONGEST_HEAD, AccessLog, DemoServer

PORTS, SENT, AUTHORITY = "ports-{}.json", "sent.json", "authority.pem"
Ports = dict[str, dict[str, int]]
"""`ports[address][port]` is the loopback port in its place."""


class HonestServer(DemoServer):
    """The demonstration server at the plan's IP addresses."""

    async def listen(self, addresses: list[str], port: int) -> None:
        self._server = await asyncio.start_server(
            self._serve, addresses, port, limit=LONGEST_HEAD, backlog=1024, reuse_port=port != 0
        )
        self.port = self._server.sockets[0].getsockname()[1]


async def honest(root: Path, plan: Plan, is_inside: bool, stop: asyncio.Event) -> None:
    log = AccessLog(DiskFiles().appender(root / "access.log"))
    server = HonestServer(plan.web, SystemClock(), log)
    addresses = [plan.addresses[name] for name in plan.honest]
    await server.listen(addresses if is_inside else ["127.0.0.1"], HTTP if is_inside else 0)
    write_ports(root, "honest", {address: {str(HTTP): server.port} for address in addresses})
    await stop.wait()


async def hostile(root: Path, plan: Plan, is_inside: bool, stop: asyncio.Event) -> None:
    Copied.web = plan.web
    BY_HOST[GATE] = Behaviour("gate", sending([whole(gate_page(plan.behaviours))], "links to all of them"))
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # handshakes fail here by design
    logging.disable()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(root / AUTHORITY)
    async with contextlib.AsyncExitStack() as running:
        plain = await running.enter_async_context(
            HostileServer("0.0.0.0" if is_inside else "127.0.0.1", HTTP if is_inside else 0)
        )
        ports: Ports = {address: {str(HTTP): plain.port} for address in plan.public}
        servers = [plain]
        for one in plan.tls:
            address = plan.addresses[one.host]
            server = HostileServer(
                address if is_inside else "127.0.0.1", HTTPS if is_inside else 0, only=one, authority=authority
            )
            servers.append(await running.enter_async_context(server))
            ports[address][str(HTTPS)] = server.port
        write_ports(root, "hostile", ports)
        await stop.wait()
        write_counts(root, servers)


async def names(root: Path, plan: Plan, is_inside: bool, stop: asyncio.Event) -> None:
    """A process of its own, so that no other load makes it slow."""
    place = (NAME_SERVER, 53) if is_inside else ("127.0.0.1", 0)
    async with NameServer(plan.names, *place) as server:
        write_ports(root, "names", {"names": {"port": server.port}})
        await stop.wait()


KINDS = {"honest": honest, "hostile": hostile, "names": names}


def write_counts(root: Path, servers: list[HostileServer]) -> None:
    sent: dict[str, int] = {}
    requests: dict[str, int] = {}
    for server in servers:
        for host, size in server.sent.items():
            sent[host] = sent.get(host, 0) + size
        for (host, _), times in server.requests.items():
            requests[host] = requests.get(host, 0) + times
    (root / SENT).write_text(json.dumps({"sent": sent, "requests": requests}))


def write_ports(root: Path, kind: str, ports: Ports) -> None:
    """The file exists once the servers listen."""
    path = root / PORTS.format(kind)
    path.with_suffix(".new").write_text(json.dumps(ports))
    path.with_suffix(".new").rename(path)


async def main(kind: str, root: Path, plan: Plan, is_inside: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await KINDS[kind](root, plan, is_inside, stop)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Plan(*map(int, sys.argv[3:6])), sys.argv[6:] == ["inside"]))
