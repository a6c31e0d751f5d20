"""The table of IP addresses that are never contacted (D2, D3 and D13 of the bad input catalogue)."""

import ipaddress
import re

import pytest
from tests.hostile.special import ADDRESSES

from gossamer.base.errors import ConfigError
from gossamer.fetch.guard import (
    BAD_PORTS,
    METADATA,
    address_of,
    closed_address,
    forbidden,
    forbidden_name,
    is_opened,
    ranges,
)

PUBLIC = "1.1.1.1 8.8.8.8 20.0.0.1 93.184.216.34 172.32.0.1 192.0.1.1 2606:4700::1111 2a00:1450::1 2620:fe::fe"


@pytest.mark.parametrize("address", ADDRESSES)
def test_F_D2_special_addresses_are_forbidden(address):
    assert forbidden(address, ()) is not None


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses_may_be_contacted(address):
    assert forbidden(address, ()) is None


def test_a_wrapped_public_address_is_treated_as_the_address():
    assert forbidden("::ffff:8.8.8.8", ()) is None
    assert forbidden("64:ff9b::808:808", ()) is None
    assert forbidden("2002:808:808::1", ()) is None


@pytest.mark.parametrize("text", ["fe80::1%eth0", "2606:4700::1111%1", "localhost", "", "127.1", "0x7f000001"])
def test_F_D3_text_that_is_no_plain_address_is_forbidden(text):
    assert forbidden(text, ()) is not None


@pytest.mark.parametrize("name", ["localhost", "localhost.", "LOCALHOST", "a.localhost", "a.b.localhost."])
def test_F_D3_names_of_this_machine_are_forbidden_without_a_lookup(name):
    assert forbidden_name(name, ()) is not None
    assert forbidden_name(name, ranges(["127.0.0.0/8"])) is None


def test_a_name_that_only_looks_like_this_machine_is_not_forbidden():
    assert forbidden_name("localhost.example.org", ()) is None
    assert forbidden_name("mylocalhost", ()) is None


def test_F_D13_the_operators_range_is_allowed_and_nothing_outside_it():
    opened = ranges(["10.1.0.0/16", "fd12::/16"])
    assert forbidden("10.1.2.3", opened) is None
    assert forbidden("fd12::1", opened) is None
    assert forbidden("::ffff:10.1.2.3", opened) is None
    assert forbidden("10.2.0.1", opened) is not None
    assert forbidden("fd13::1", opened) is not None
    assert forbidden("127.0.0.1", opened) is not None
    assert is_opened("10.1.2.3", opened) and not is_opened("8.8.8.8", opened)


@pytest.mark.parametrize(
    ("given", "address"),
    [("::1", "::1"), ("[::1]", "::1"), ("::1/128", "::1"), ("[::1]/128", "::1"), ("fd00::/8", "fd12:3456::1"),
     ("[fd00::]/8", "fdff::2"), ("fe80::/10", "fe80::1"), ("::/0", "::1"), ("fc00::/7", "fd00::")],
)  # fmt: skip
def test_an_ipv6_address_or_range_allows_exactly_its_addresses(given, address):
    assert forbidden(address, ()) is not None
    assert forbidden(address, ranges([given])) is None and is_opened(address, ranges([given]))


@pytest.mark.parametrize("address", ["::", "::2", "::127.0.0.1", "127.0.0.1", "::ffff:127.0.0.1", "fd00::1"])
def test_allowing_the_ipv6_loopback_allows_no_other_address(address):
    assert forbidden(address, ranges(["::1"])) is not None


def test_the_name_of_this_machine_is_allowed_by_either_of_its_addresses():
    assert forbidden_name("localhost", ranges(["::1"])) is None
    assert forbidden_name("localhost", ranges(["10.0.0.0/8", "fd00::/8"])) is not None


def test_F_D13_metadata_addresses_are_never_allowed():
    opened = ranges(["0.0.0.0/0", "::/0"])
    assert forbidden("10.0.0.1", opened) is None
    for address in METADATA:
        assert forbidden(str(address), opened) is not None
        if isinstance(address, ipaddress.IPv4Address):
            assert forbidden(f"::ffff:{address}", opened) is not None
            assert forbidden(str(ipaddress.IPv6Address(0x64FF9B << 96 | int(address))), opened) is not None


def test_an_invalid_range_is_refused_by_name():
    for wrong in ("10.1", "[10.1.0.0/16", "[::1", "::1]", "[fd00::/8]", "fd00::1/8", "example.org"):
        with pytest.raises(ConfigError, match=re.escape(repr(wrong))):
            ranges([wrong])


def test_a_host_that_is_an_ip_address_is_recognized():
    assert address_of("20.0.0.1") == "20.0.0.1"
    assert address_of("2606:4700:0::1111") == "2606:4700::1111"
    assert address_of("example.org") is None


@pytest.mark.parametrize("ends", [("8.8.8.8", "8.8.4.4"), ("10.0.0.1", "8.8.4.4"), ("8.8.8.8", "10.0.0.1")])
def test_F_D2_a_tunnel_address_is_judged_by_both_ends_of_the_tunnel(ends):
    server, client = (int(ipaddress.IPv4Address(end)) for end in ends)
    tunnel = str(ipaddress.IPv6Address(0x2001_0000 << 96 | server << 64 | (~client & 0xFFFF_FFFF)))
    assert forbidden(tunnel, ()) is not None
    assert is_opened(tunnel, ranges(["10.0.0.0/8"])) is ("10.0.0.1" in ends)


SPECIAL = [  # first and last address, and why they are not public
    ("0.0.0.0", "0.255.255.255", "this network"),
    ("10.0.0.0", "10.255.255.255", "private"),
    ("100.64.0.0", "100.127.255.255", "shared by carriers"),
    ("127.0.0.0", "127.255.255.255", "loopback"),
    ("169.254.0.0", "169.254.255.255", "link-local"),
    ("172.16.0.0", "172.31.255.255", "private"),
    ("192.0.0.0", "192.0.0.255", "protocol assignments"),
    ("192.0.2.0", "192.0.2.255", "documentation"),
    ("192.88.99.0", "192.88.99.255", "6to4 relays"),
    ("192.168.0.0", "192.168.255.255", "private"),
    ("198.18.0.0", "198.19.255.255", "benchmarking"),
    ("198.51.100.0", "198.51.100.255", "documentation"),
    ("203.0.113.0", "203.0.113.255", "documentation"),
    ("224.0.0.0", "239.255.255.255", "multicast"),
    ("240.0.0.0", "255.255.255.255", "reserved"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local translation"),
    ("100::", "100:0:0:1:ffff:ffff:ffff:ffff", "discard-only"),
    ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
]
CLOUDS = (
    "169.254.169.254", "169.254.169.253", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16",
    "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
)  # fmt: skip


@pytest.mark.parametrize(("first", "last", "why"), SPECIAL)
def test_F_D2_each_special_range_is_forbidden_from_its_first_to_its_last_address(first, last, why):
    for address in (first, last):
        assert forbidden(address, ()) == f"{address} is not public ({why})"
        assert closed_address(f"{address} is not public ({why})") == address
    inside = ipaddress.ip_address(int(ipaddress.ip_address(first)) + 1)
    assert forbidden(str(inside), ()) == f"{inside} is not public ({why})"
    for neighbour in (int(ipaddress.ip_address(first)) - 1, int(ipaddress.ip_address(last)) + 1):
        if ":" not in first and 0 <= neighbour < 1 << 32:
            address = str(ipaddress.IPv4Address(neighbour))
            is_special = any(
                int(ipaddress.ip_address(a)) <= neighbour <= int(ipaddress.ip_address(b))
                for a, b, _ in SPECIAL
                if ":" not in a
            )
            assert (forbidden(address, ()) is not None) is is_special, address


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("::", "IPv4-compatible"),
        ("::1", "loopback"),
        ("::2", "IPv4-compatible"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("2001::", "protocol assignments"),
        ("2001::1", "protocol assignments"),
        ("2002::1", "this network"),
        ("2002:a00:1::", "private"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:0:10.0.0.1", "private"),
        ("64:ff9b::a00:1", "private"),
        ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not assigned"),
        ("4000::", "not assigned"),
        ("64:ff9b:2::", "not assigned"),
        ("100:0:0:2::", "not assigned"),
        ("fbff::1", "not assigned"),
    ],
)
def test_F_D2_an_address_that_is_not_public_is_refused_with_the_reason(address, why):
    assert (
        forbidden(address, ()) == f"{ipaddress.ip_address(address)} is not public ({why})"
        or forbidden(address, ()) == f"{address} is not public ({why})"
    )


@pytest.mark.parametrize(
    "address",
    ["2000::", "2001:200::", "2001:db7:ffff::", "2001:db9::", "3ffe:ffff::", "3fff:1000::", "3fff:ffff::1",
     "2003::", "2002:808:808::", "::ffff:0:8.8.8.8", "64:ff9b::8.8.8.8"],
)  # fmt: skip
def test_addresses_next_to_the_special_ranges_may_be_contacted(address):
    assert forbidden(address, ()) is None


@pytest.mark.parametrize("address", CLOUDS)
def test_F_D13_each_cloud_metadata_address_is_forbidden_in_every_form(address):
    words = f"{address} is a cloud's metadata service"
    assert forbidden(address, ()) == forbidden(address, ranges(["0.0.0.0/0", "::/0"])) == words
    assert closed_address(words) is None
    if ":" not in address:
        number = int(ipaddress.ip_address(address))
        for wrapped in (
            0xFFFF << 32 | number,
            0xFFFF << 48 | number,
            0x64FF9B << 96 | number,
            0x2002 << 112 | number << 80,
        ):
            text = str(ipaddress.IPv6Address(wrapped))
            assert forbidden(text, ranges(["0.0.0.0/0", "::/0"])) == f"{text} is a cloud's metadata service"


def test_a_refusal_of_an_address_shows_which_range_would_allow_it():
    assert forbidden_name("x.LOCALHOST.", ()) == "x.LOCALHOST. is this machine"
    assert closed_address("x.LOCALHOST. is this machine") == "127.0.0.0/8"
    assert forbidden("no address", ()) == "no address is not an IP address"
    assert forbidden("fe80::1%eth0", ()) == "fe80::1%eth0 is tied to one network interface"
    for words in ("no address is not an IP address", "fe80::1%eth0 is tied to one network interface", "", "refused"):
        assert closed_address(words) is None


PORTS = (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 "
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 "
    "995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080 "
    "1433 1521 2181 3306 5432 5672 6379 9042 11211 27017"
)


def test_ports_of_mail_shells_and_databases_are_refused_and_web_ports_are_not():
    assert {int(port) for port in PORTS.split()} == BAD_PORTS
    assert not BAD_PORTS & {80, 443, 8000, 8080, 8443, 3000, 5000}
