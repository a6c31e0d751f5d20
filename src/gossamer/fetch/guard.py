"""Which IP addresses and ports are never dialled. Pure.

The table follows the IANA special-purpose registries (RFC 6890 and its successors). Python's `ipaddress` knows some of
them only, and takes addresses that wrap a private one for public: here the wrapped address is checked too.
"""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gossamer.base.errors import ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Network | ipaddress.IPv6Network

_SPECIAL = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by carriers",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4 relays",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
    "::1/128": "loopback",
    "::/96": "IPv4-compatible",
    "64:ff9b:1::/48": "local translation",
    "100::/63": "discard-only",
    "2001::/23": "protocol assignments",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "5f00::/16": "segment routing",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}
_NETWORKS = tuple((ipaddress.ip_network(text), why) for text, why in _SPECIAL.items())
SPECIAL = {
    version: tuple((int(given[0]), int(given[-1]), why) for given, why in _NETWORKS if given.version == version)
    for version in (4, 6)
}
"""First and last address of each range as numbers, by version."""

GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
"""All public addresses that have been assigned so far."""

_CREDENTIALS = """
    169.254.169.254 169.254.169.253 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
    fd00:ec2::254 fd00:ec2::23 fd20:ce::254
"""
METADATA = frozenset(map(ipaddress.ip_address, _CREDENTIALS.split()))
"""Where clouds give their machines credentials: no setting allows these."""

_TEREDO = ipaddress.IPv6Network("2001::/32")
_WRAPPED_AT = {  # IPv4 inside IPv6: the range, and the bits to the right of the address
    ipaddress.IPv6Network("::ffff:0:0/96"): 0,  # mapped
    ipaddress.IPv6Network("::ffff:0:0:0/96"): 0,  # translated
    ipaddress.IPv6Network("64:ff9b::/96"): 0,  # NAT64
    ipaddress.IPv6Network("::/96"): 0,  # compatible
    ipaddress.IPv6Network("2002::/16"): 80,  # 6to4
}
_ONLY_A_WRAPPING = tuple(_WRAPPED_AT)[:3]
_NO_WRAPPING = frozenset({ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1")})
"""In the range of IPv4-compatible addresses, but none of them (RFC 4291, 2.5.2 and 2.5.3)."""
_THIS_MACHINE = ("127.0.0.1", "::1")

_NOT_WEB = """
    0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123
    135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995
    1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
"""The blocked ports of the Fetch standard."""
_STORES = "1433 1521 2181 3306 5432 5672 6379 9042 11211 27017"
"""Databases, queues and caches, some of which execute any line of text."""
_BRACKETS = re.compile(r"^\[([0-9a-fA-F:.]+)\]")
BAD_PORTS = frozenset(map(int, (_NOT_WEB + _STORES).split()))
_NOT_PUBLIC = re.compile(r"(\S+) is not public \(.*\)")
_IS_THIS_MACHINE = " is this machine"


def ranges(texts: Sequence[str]) -> tuple[Range, ...]:
    """The operator's ranges, IPv6 with or without the brackets of a URL. A ConfigError names an invalid one."""
    found: list[Range] = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(_BRACKETS.sub(r"\1", text)))
        except ValueError as trouble:
            raise ConfigError(f"allow_addresses: {text!r} is not a range of IP addresses ({trouble})") from None
    return tuple(found)


def address_of(hostname: str) -> str | None:
    """The IP address, if the host name is one."""
    try:
        return str(ipaddress.ip_address(hostname))
    except ValueError:
        return None


@lru_cache(maxsize=16_384)
def forbidden(address: str, opened: tuple[Range, ...]) -> str | None:
    """Why `address` must not be dialled; None if it may be. `opened`: the ranges that the operator allowed."""
    try:
        whole = ipaddress.ip_address(address)
    except ValueError:
        return f"{address} is not an IP address"
    if isinstance(whole, ipaddress.IPv6Address) and whole.scope_id is not None:
        return f"{address} is tied to one network interface"
    for one in _with_wrapped(whole):
        if one in METADATA:
            return f"{address} is a cloud's metadata service"
        if any(one in given for given in opened):
            continue
        if why := _special(one):
            return f"{address} is not public ({why})"  # parsed by `closed_address`
    return None


def is_opened(address: str, opened: Sequence[Range]) -> bool:
    """Whether it is in a range that the operator allowed."""
    return bool(opened) and any(
        one in given for one in _with_wrapped(ipaddress.ip_address(address)) for given in opened
    )


def forbidden_name(hostname: str, opened: Sequence[Range]) -> str | None:
    """RFC 6761, 6.3: `localhost` and its subdomains mean this machine, no matter what a name server answers."""
    name = hostname.rstrip(".").lower()
    is_local = name == "localhost" or name.endswith(".localhost")
    if is_local and not any(is_opened(address, opened) for address in _THIS_MACHINE):
        return hostname + _IS_THIS_MACHINE
    return None


def closed_address(why: str) -> str | None:
    """The range to allow, from the message of `forbidden` or `forbidden_name`; None: no setting allows it."""
    if found := _NOT_PUBLIC.fullmatch(why):
        return found[1]
    return "127.0.0.0/8" if why.endswith(_IS_THIS_MACHINE) else None


def _with_wrapped(address: Address) -> Iterator[Address]:
    """The address itself, and the IPv4 addresses inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    if not any(address in wrapping for wrapping in _ONLY_A_WRAPPING):
        yield address
    if address in _NO_WRAPPING:
        return
    bits = int(address)
    for wrapping, from_the_right in _WRAPPED_AT.items():
        if address in wrapping:
            yield ipaddress.IPv4Address(bits >> from_the_right & 0xFFFF_FFFF)
    if address in _TEREDO:  # RFC 4380, 4: the server, and the client with its bits inverted
        yield ipaddress.IPv4Address(bits >> 64 & 0xFFFF_FFFF)
        yield ipaddress.IPv4Address(~bits & 0xFFFF_FFFF)


def _special(address: Address) -> str | None:
    number = int(address)
    for first, last, why in SPECIAL[address.version]:
        if first <= number <= last:
            return why
    if address.version == 6 and address not in GLOBAL_IPV6:
        return "not assigned"
    return None
