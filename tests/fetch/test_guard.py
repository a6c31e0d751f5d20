"""FAULTS D2, D3, D13: the table of addresses that are never dialled."""

import ipaddress
import re

import pytest
from tests.hostile.special import ADDRESSES

from gossamer.base.errors import ConfigError
from gossamer.fetch.guard import METADATA, address_of, forbidden, forbidden_name, is_opened, ranges

PUBLIC = "1.1.1.1 8.8.8.8 20.0.0.1 93.184.216.34 172.32.0.1 192.0.1.1 2606:4700::1111 2a00:1450::1 2620:fe::fe"


@pytest.mark.parametrize("address", ADDRESSES)
def test_F_D2_special_addresses_are_forbidden(address):
    assert forbidden(address, ()) is not None


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses_may_be_dialled(address):
    assert forbidden(address, ()) is None


def test_a_wrapping_of_a_public_address_is_as_good_as_the_address():
    assert forbidden("::ffff:8.8.8.8", ()) is None
    assert forbidden("64:ff9b::808:808", ()) is None
    assert forbidden("2002:808:808::1", ()) is None


@pytest.mark.parametrize("text", ["fe80::1%eth0", "2606:4700::1111%1", "localhost", "", "127.1", "0x7f000001"])
def test_F_D3_what_is_no_plain_address_is_forbidden(text):
    assert forbidden(text, ()) is not None


@pytest.mark.parametrize("name", ["localhost", "localhost.", "LOCALHOST", "a.localhost", "a.b.localhost."])
def test_F_D3_names_of_this_machine_are_forbidden_without_asking(name):
    assert forbidden_name(name, ()) is not None
    assert forbidden_name(name, ranges(["127.0.0.0/8"])) is None


def test_a_name_that_only_looks_like_this_machine_is_not_forbidden():
    assert forbidden_name("localhost.example.org", ()) is None
    assert forbidden_name("mylocalhost", ()) is None


def test_F_D13_the_operators_range_opens_and_nothing_beside_it():
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
def test_an_ipv6_address_or_range_opens_what_it_names(given, address):
    assert forbidden(address, ()) is not None
    assert forbidden(address, ranges([given])) is None and is_opened(address, ranges([given]))


@pytest.mark.parametrize("address", ["::", "::2", "::127.0.0.1", "127.0.0.1", "::ffff:127.0.0.1", "fd00::1"])
def test_this_machine_by_ipv6_opens_nothing_beside_it(address):
    assert forbidden(address, ranges(["::1"])) is not None


def test_the_name_of_this_machine_is_opened_by_either_of_its_addresses():
    assert forbidden_name("localhost", ranges(["::1"])) is None
    assert forbidden_name("localhost", ranges(["10.0.0.0/8", "fd00::/8"])) is not None


def test_F_D13_metadata_addresses_are_opened_by_nothing():
    opened = ranges(["0.0.0.0/0", "::/0"])
    assert forbidden("10.0.0.1", opened) is None
    for address in METADATA:
        assert forbidden(str(address), opened) is not None
        if isinstance(address, ipaddress.IPv4Address):
            assert forbidden(f"::ffff:{address}", opened) is not None
            assert forbidden(str(ipaddress.IPv6Address(0x64FF9B << 96 | int(address))), opened) is not None


def test_a_range_that_is_none_is_named():
    for wrong in ("10.1", "[10.1.0.0/16", "[::1", "::1]", "[fd00::/8]", "fd00::1/8", "example.org"):
        with pytest.raises(ConfigError, match=re.escape(repr(wrong))):
            ranges([wrong])


def test_a_host_that_is_an_address_is_known_as_one():
    assert address_of("20.0.0.1") == "20.0.0.1"
    assert address_of("2606:4700:0::1111") == "2606:4700::1111"
    assert address_of("example.org") is None


@pytest.mark.parametrize("ends", [("8.8.8.8", "8.8.4.4"), ("10.0.0.1", "8.8.4.4"), ("8.8.8.8", "10.0.0.1")])
def test_F_D2_an_address_that_tunnels_is_known_by_both_ends_of_the_tunnel(ends):
    server, client = (int(ipaddress.IPv4Address(end)) for end in ends)
    tunnel = str(ipaddress.IPv6Address(0x2001_0000 << 96 | server << 64 | (~client & 0xFFFF_FFFF)))
    assert forbidden(tunnel, ()) is not None
    assert is_opened(tunnel, ranges(["10.0.0.0/8"])) is ("10.0.0.1" in ends)
