"""The trap sites: they are endless, their real pages are in the manifest, and the verdict counts both kinds."""

import pytest
from tests.demo.hits import hits_of

from gossamer.demo.pages import DemoRequest
from gossamer.demo.traps import MOST_WASTED, TRAP_HOSTS, TRAPS
from gossamer.demo.verdict import ExpectedTrap, check, manifest_of, trapped
from gossamer.demo.web import DemoWeb

WEB = DemoWeb(seed=1, hosts=3, pages=30, traps=45)
EXPECTED = manifest_of(WEB)


def status(host: str, target: str, web: DemoWeb = WEB) -> int:
    return web.answer(DemoRequest(host, target)).status


def test_there_are_no_traps_by_default() -> None:
    plain = DemoWeb(seed=1, hosts=3, pages=30)
    assert not set(TRAP_HOSTS) & set(plain.host_names) and manifest_of(plain).traps == ()
    assert status("almanac.demo.test", "/", plain) == 421
    assert b"almanac" not in plain.answer(DemoRequest("museum.demo.test", "/")).body


def test_start_pages_of_ordinary_sites_lead_to_them() -> None:
    body = WEB.answer(DemoRequest("museum.demo.test", "/")).body.decode()
    assert all(f"http://{host}/" in body for host in TRAP_HOSTS)
    assert {host.name for host in EXPECTED.hosts} >= set(TRAP_HOSTS)


@pytest.mark.parametrize("trap", EXPECTED.traps, ids=lambda trap: trap.what)
def test_every_real_page_is_answered_and_different(trap: ExpectedTrap) -> None:
    bodies = {WEB.answer(DemoRequest(trap.hosts[0], path)).body for path in trap.real}
    assert len(bodies) == len(trap.real) >= 45
    assert all(status(host, "/robots.txt") == 200 for host in trap.hosts)


@pytest.mark.parametrize(
    ("host", "target"),
    [
        ("almanac", "/calendar/4711/2/28"),
        ("almanac", "/calendar/1805/12"),
        ("bazaar", "/shop?colour=amber&size=40&brand=boats&sort=name&view=table&page=7"),
        ("desk", "/about?visit=0123456789abcdef"),
        ("maze", "/hall/stairs/hall/stairs/hall/hall/"),
        ("serial", "/page/99999999"),
        ("lost", "/there/is/no/such/page?at=all"),
        ("babble", "/b/anything"),
    ],
)
def test_traps_are_endless(host: str, target: str) -> None:
    request = DemoRequest(f"{host}.demo.test", target)
    assert WEB.answer(request).status == 200 and WEB.answer(request) == WEB.answer(request)


def test_other_paths_are_not_found() -> None:
    for host, target in (("almanac", "/event/46"), ("almanac", "/calendar/2026/13"), ("serial", "/page/0"),
                         ("bazaar", "/shop?colour=loud"), ("twin", "/picture/46"), ("babble", "/b/a/b")):  # fmt: skip
        assert status(f"{host}.demo.test", target) == 404


def test_a_mirror_has_the_same_pages_as_its_original() -> None:
    for target in ("/", "/pictures/2", "/picture/17"):
        one, other = (WEB.answer(DemoRequest(f"{host}.demo.test", target)) for host in ("gallery", "twin"))
        assert one == other


def test_the_verdict_counts_real_pages_once_and_all_other_fetches_as_wasted() -> None:
    desk = next(trap for trap in EXPECTED.traps if trap.void)
    urls = [f"http://desk.demo.test{path}?visit={code}" for path in desk.real[1:] for code in ("ab12", "cd34")]
    verdict = trapped(desk, hits_of(["http://desk.demo.test/robots.txt", *urls]))
    assert (verdict.real, verdict.found, verdict.wasted) == (46, 45, 45)
    assert not verdict.is_escaped  # 45 of 46 are fewer than 99 %
    whole = trapped(desk, hits_of(["http://desk.demo.test/", *urls]))
    assert whole.is_escaped


def test_a_crawl_that_is_caught_in_a_trap_does_not_pass() -> None:
    fetched = [f"http://{trap.hosts[0]}{path}" for trap in EXPECTED.traps for path in trap.real]
    found = check(EXPECTED, {}, hits_of(fetched), 0.1)
    assert all(trap.is_escaped and trap.wasted == 0 for trap in found.traps) and len(found.traps) == len(TRAPS)
    more = [f"http://babble.demo.test/b/x{number}" for number in range(MOST_WASTED + 1)]
    caught = check(EXPECTED, {}, hits_of(fetched + more), 0.1)
    assert [trap.what for trap in caught.traps if not trap.is_escaped] == ["random pages"] and not caught.passes
