"""FAULTS D2, D3, D13: the table of addresses that are never dialled."""

import ipaddress

import pytest

from gossamer.errors import ConfigError
from gossamer.fetch.guard import METADATA, address_of, forbidden, forbidden_name, is_opened, ranges

SPECIAL = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.0.1
    169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1
    198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
    :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
    64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 5f00::1
    fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1 4000::1
"""
PUBLIC = "1.1.1.1 8.8.8.8 20.0.0.1 93.184.216.34 172.32.0.1 192.0.1.1 2606:4700::1111 2a00:1450::1 2620:fe::fe"


@pytest.mark.parametrize("address", SPECIAL.split())
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


def test_F_D13_metadata_addresses_are_opened_by_nothing():
    opened = ranges(["0.0.0.0/0", "::/0"])
    assert forbidden("10.0.0.1", opened) is None
    for address in METADATA:
        assert forbidden(str(address), opened) is not None
        if isinstance(address, ipaddress.IPv4Address):
            assert forbidden(f"::ffff:{address}", opened) is not None
            assert forbidden(str(ipaddress.IPv6Address(0x64FF9B << 96 | int(address))), opened) is not None


def test_a_range_that_is_none_is_named():
    with pytest.raises(ConfigError, match="10\\.1"):
        ranges(["10.1"])


def test_a_host_that_is_an_address_is_known_as_one():
    assert address_of("20.0.0.1") == "20.0.0.1"
    assert address_of("2606:4700:0::1111") == "2606:4700::1111"
    assert address_of("example.org") is None
