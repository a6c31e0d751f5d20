"""FAULTS D4 to D9, D11 and D13: connections go only to IP addresses that were checked."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.hostile.harness import OneServer, answering

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, DirectDialer, Endpoint, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.guard import BAD_PORTS
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Failed, Fetched, Moved, Outcome, Reason, Refused
from gossamer.values.url import Url, url_of

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, connect_s=60.0)


class Names:
    """A resolver with the answers of a test, one after the other; the last one repeats."""

    def __init__(self, answers: Mapping[str, Sequence[list[str]]]) -> None:
        self._answers = {name: list(lists) for name, lists in answers.items()}

    async def addresses(self, hostname: str) -> list[str]:
        lists = self._answers.get(hostname, [[]])
        return lists.pop(0) if len(lists) > 1 else lists[0]


def fetch(
    urls: Sequence[str],
    names: Mapping[str, Sequence[list[str]]],
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    settings: Fetch = SETTINGS,
) -> tuple[list[Outcome], list[tuple[str, int]]]:
    async def fetch_all(port: int) -> tuple[list[Outcome], list[tuple[str, int]]]:
        dialer = OneServer(port)
        async with Client(Connections(settings, Network(Names(names), dialer), SystemClock(), silent)) as client:
            return [await client.fetch(_url(text)) for text in urls], dialer.dialled

    return asyncio.run(answering(answer, fetch_all))


def _url(text: str) -> Url:
    url = url_of(text)
    assert url is not None
    return url


@pytest.mark.parametrize("bad", ["10.0.0.1", "::1", "169.254.169.254", "::ffff:192.168.0.1"])
def test_F_D4_one_private_record_makes_the_whole_name_refused(bad):
    outcomes, dialled = fetch(["http://mixed.test/"], {"mixed.test": [["20.0.0.1", bad, "20.0.0.2"]]})
    assert isinstance(outcomes[0], Refused) and outcomes[0].reason is Reason.ADDRESS
    assert bad in outcomes[0].detail
    assert dialled == []


def test_F_D5_a_name_that_changes_is_resolved_once_per_fetch_and_only_that_answer_is_dialled():
    answers = {"rebind.test": [["20.0.0.1"], ["127.0.0.1"], ["127.0.0.1"]]}
    outcomes, dialled = fetch(["http://rebind.test/", "http://rebind.test/"], answers)
    assert isinstance(outcomes[0], Fetched) and outcomes[0].capture.address == "20.0.0.1"
    assert isinstance(outcomes[1], Refused) and outcomes[1].reason is Reason.ADDRESS
    assert dialled == [("20.0.0.1", 80)]


def test_F_D5_a_second_try_dials_a_checked_ip_address_too():
    class OneDead(OneServer):
        def endpoint(self, address: str, port: int) -> Endpoint:
            self.dialled.append((address, port))
            return Endpoint("127.0.0.1", self._port if address == "20.0.0.2" else 1)

    async def both(port: int) -> tuple[Outcome, list[tuple[str, int]]]:
        dialer = OneDead(port)
        async with Client(
            Connections(
                SETTINGS, Network(Names({"two.test": [["20.0.0.1", "20.0.0.2"]]}), dialer), SystemClock(), silent
            )
        ) as client:
            return await client.fetch(_url("http://two.test/")), dialer.dialled

    outcome, dialled = asyncio.run(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", both))
    assert isinstance(outcome, Fetched) and outcome.capture.address == "20.0.0.2"
    assert dialled == [("20.0.0.1", 80), ("20.0.0.2", 80)]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_F_D6_a_redirect_to_a_private_ip_address_is_returned_and_refused_at_that_hop(status):
    answer = f"HTTP/1.1 {status} Go\r\nLocation: http://10.0.0.1/admin\r\nContent-Length: 0\r\n\r\n".encode()
    outcomes, dialled = fetch(["http://good.test/", "http://10.0.0.1/admin"], {"good.test": [["20.0.0.1"]]}, answer)
    assert isinstance(outcomes[0], Moved) and outcomes[0].to.text == "http://10.0.0.1/admin"
    assert isinstance(outcomes[1], Refused) and outcomes[1].reason is Reason.ADDRESS
    assert dialled == [("20.0.0.1", 80)]


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://a.test/", "gopher://a.test/", "data:text/html,x", "javascript:x", "ws://a"],
)
def test_F_D7_a_redirect_to_another_scheme_is_refused(location):
    answer = f"HTTP/1.1 302 Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    outcomes, dialled = fetch(["http://good.test/"], {"good.test": [["20.0.0.1"]]}, answer)
    assert isinstance(outcomes[0], Refused) and outcomes[0].reason is Reason.REDIRECT_OUT
    assert location in outcomes[0].detail
    assert len(dialled) == 1


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://good.test@127.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1#@good.test/", "127.0.0.1"),
        ("http://127.0.0.1\\@good.test/", "127.0.0.1"),
        ("http://127.0\t.0.1/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://[::ffff:7f00:1]/", "::ffff:7f00:1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
        ("http://localhost./", "localhost"),
        ("http://a.localhost/", "a.localhost"),
    ],
)
def test_F_D8_the_host_of_the_url_is_the_host_that_is_checked(text, host):
    url = _url(text)
    assert url.hostname == host
    outcomes, dialled = fetch([text], {name: [["20.0.0.1"]] for name in ("good.test", "localhost", "a.localhost")})
    assert isinstance(outcomes[0], Refused) and outcomes[0].reason is Reason.ADDRESS
    assert dialled == []


def test_F_D11_proxy_variables_and_netrc_are_ignored(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine good.test login me password secret\n")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://20.9.9.9:3128/")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    outcomes, dialled = fetch(["http://good.test/"], {"good.test": [["20.0.0.1"]]})
    assert isinstance(outcomes[0], Fetched)
    assert dialled == [("20.0.0.1", 80)]


def test_F_D11_a_contact_is_needed_for_public_ip_addresses_only():
    alone = Fetch(allow_addresses=("127.0.0.0/8",), timeout_s=60.0)
    outcomes, dialled = fetch(["http://good.test/", "http://127.0.0.1/"], {"good.test": [["20.0.0.1"]]}, settings=alone)
    assert isinstance(outcomes[0], Refused) and outcomes[0].reason is Reason.CONTACT
    assert isinstance(outcomes[1], Fetched)
    assert dialled == [("127.0.0.1", 80)]


def test_an_ip_address_outside_the_plan_is_never_dialled():
    async def outside() -> Outcome:
        plan = AddressPlan({"known.test": {80: 1}})
        async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
            return await client.fetch(_url("http://8.8.8.8/"))

    outcome = asyncio.run(outside())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.CONNECT
    assert outcome.detail == "no IP address of the host could be reached"


def test_F_D5_an_ip_address_in_an_unusual_spelling_of_the_system_raises_nothing() -> None:
    class Mapped:
        async def addresses(self, hostname: str) -> list[str]:
            return ["::ffff:127.0.0.1", "127.0.0.1"]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    async def fetched() -> Outcome:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        settings = Fetch(allow_addresses=("127.0.0.0/8",))
        async with (
            server,
            Client(Connections(settings, Network(Mapped(), DirectDialer()), SystemClock(), silent)) as client,
        ):
            return await client.fetch(Url(f"http://mapped.test:{port}/"))

    assert isinstance(asyncio.run(fetched()), Fetched | Failed | Refused)


@pytest.mark.parametrize("port", sorted(BAD_PORTS))
def test_F_D9_ports_of_other_services_are_refused(port):
    outcomes, dialled = fetch([f"http://good.test:{port}/", f"https://20.0.0.1:{port}/"], {"good.test": [["20.0.0.1"]]})
    for outcome in outcomes:
        assert isinstance(outcome, Refused) and outcome.reason is Reason.ADDRESS and str(port) in outcome.detail
    assert dialled == []


def test_F_D13_a_range_that_the_operator_allows_is_dialled_and_no_other():
    settings = replace(SETTINGS, allow_addresses=("10.1.0.0/16", "169.254.0.0/16", "fd00::/8", "100.64.0.0/10"))
    names = {
        "in.test": [["10.1.2.3"]],
        "out.test": [["10.2.0.1"]],
        "both.test": [["10.1.2.3", "10.2.0.1"]],
        "meta.test": [["169.254.169.254"]],
        "six.test": [["fd00:ec2::254"]],
        "ali.test": [["100.100.100.200"]],
        "mapped.test": [["::ffff:169.254.169.254"]],
    }
    outcomes, dialled = fetch([f"http://{name}/" for name in names], names, settings=settings)
    allowed, *others = outcomes
    assert isinstance(allowed, Fetched)
    assert all(isinstance(outcome, Refused) and outcome.reason is Reason.ADDRESS for outcome in others)
    assert dialled == [("10.1.2.3", 80)]
