"""A private network, in which every packet stays on `lo` and is counted.

In a new user, network and mount namespace all IP addresses, IPv4 and IPv6, are routed to this machine. A packet to any
IP address, public or private, is on `lo` with its true destination: `Packets` counts them.
"""

import ctypes
import ipaddress
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Self

from tests.attack.plan import CLIENT, NAME_SERVER

ENTER = ("unshare", "--user", "--map-root-user", "--net", "--mount")
ROUTES = (
    "ip link set lo up",
    f"ip address add {CLIENT}/32 dev lo",
    f"ip route add local 0.0.0.0/0 dev lo src {CLIENT}",
    "ip -6 route add local ::/0 dev lo",
)
ETH_P_ALL, PACKET_OUTGOING, SOL_PACKET, PACKET_STATISTICS = 3, 4, 263, 6
SO_ATTACH_FILTER, BUFFER = 26, 8 << 20
TCP, UDP, ICMP, ICMP_V6 = 6, 17, 1, 58


def refusal() -> str:
    """Why there can be no such namespace here; empty if there can."""
    if not sys.platform.startswith("linux") or not all(map(shutil.which, ("unshare", "ip", "mount"))):
        return "unshare, ip and mount are needed (Linux)"
    tried = subprocess.run([*ENTER, "sh", "-ec", ROUTES[0]], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


def enter(module: str, arguments: list[str]) -> None:
    """Run the module again inside. Does not return."""
    os.execvp(ENTER[0], [*ENTER, sys.executable, "-m", module, *arguments])


def furnish(root: Path) -> None:
    """REQUIRES: inside, and no connection was made yet."""
    for route in ROUTES:
        subprocess.run(route.split(), check=True)
    resolver = root / "resolv.conf"
    resolver.write_text(f"nameserver {NAME_SERVER}\n")
    subprocess.run(["mount", "--bind", str(resolver), str(Path("/etc/resolv.conf").resolve())], check=True)
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "there is another network interface"


def _instruction(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


FILTER = b"".join(  # classic BPF over the IP header: new TCP connections, and all that is not TCP
    (
        _instruction(0x30, 0, 0, 0),  # A = first byte
        _instruction(0x54, 0, 0, 0xF0),
        _instruction(0x15, 0, 5, 0x40),  # IPv4?
        _instruction(0x30, 0, 0, 9),  # its protocol
        _instruction(0x15, 0, 8, TCP),
        _instruction(0xB1, 0, 0, 0),  # X = header length
        _instruction(0x50, 0, 0, 13),  # TCP flags
        _instruction(0x05, 0, 0, 3),  # to the flags' test
        _instruction(0x30, 0, 0, 6),  # IPv6: next header
        _instruction(0x15, 0, 3, TCP),
        _instruction(0x30, 0, 0, 53),  # TCP flags
        _instruction(0x54, 0, 0, 0x12),
        _instruction(0x15, 0, 1, 0x02),  # SYN without ACK
        _instruction(0x06, 0, 0, 128),
        _instruction(0x06, 0, 0, 0),
    )
)


class Packets:
    """`with Packets() as packets`: counts connections and datagrams by (protocol, IP address, port)."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[int, str, int]] = Counter()
        self.dropped = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        program = ctypes.create_string_buffer(FILTER)
        attached = struct.pack("HL", len(FILTER) // 8, ctypes.addressof(program))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, attached)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.dropped = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        self._socket.close()

    def outside(self, public: frozenset[str], ports: tuple[int, ...]) -> dict[str, int]:
        """All traffic except to the plan's web servers and its name server."""
        found = {}
        for (protocol, address, port), times in self.seen.items():
            is_web = protocol == TCP and address in public and port in ports
            is_name = address in (NAME_SERVER, CLIENT) and protocol in (TCP, UDP) and (port == 53 or address == CLIENT)
            if not (is_web or is_name):
                found[f"{protocol} {address} port {port}"] = times
        return found

    def _listen(self) -> None:
        while not self._ended.is_set():
            if select.select([self._socket], [], [], 0.1)[0]:
                packet, where = self._socket.recvfrom(128)
                if where[2] == PACKET_OUTGOING and (read := destination(packet)):
                    self.seen[read] += 1


def destination(packet: bytes) -> tuple[int, str, int] | None:
    """Protocol, address and port. None: an ICMP message of the kernel, which follows a packet that was counted."""
    if packet[0] >> 4 == 4:
        protocol, address, at = packet[9], str(ipaddress.IPv4Address(packet[16:20])), (packet[0] & 15) * 4
    else:
        protocol, address, at = packet[6], str(ipaddress.IPv6Address(packet[24:40])), 40
    if protocol in (ICMP, ICMP_V6):
        return None
    port = struct.unpack(">H", packet[at + 2 : at + 4])[0] if protocol in (TCP, UDP) else 0
    return protocol, address, port
