"""What a crawl has learned about hosts is kept for the next one, and a damaged file is ignored."""

import asyncio
from pathlib import Path

import pytest
from tests.demo.hits import hits_of
from tests.rules.roaming import Roamed, roam
from tests.rules.test_novelty import at, marks, prose

from gossamer.base.environment import Outside, seeded
from gossamer.base.files import DiskFiles
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.crawler import learned
from gossamer.crawler.learned import NAME, load_learned, packed, save_learned, unpacked
from gossamer.demo.pages import DemoRequest
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED
from gossamer.demo.verdict import ExpectedTrap, manifest_of, trapped
from gossamer.demo.web import DemoWeb
from gossamer.rules.learned.model import LearnedHosts
from gossamer.testing import FakeClock, FaultyFiles
from gossamer.values.messages import NotFoundClaim
from gossamer.values.url import Url

RESTARTS = 20


def outside(files: object = None) -> Outside:
    return Outside(FakeClock(), seeded(1), files or DiskFiles(), SystemProcesses())  # type: ignore[arg-type]


def sample(pages: int = 300) -> LearnedHosts:
    """Learned hosts with entries of every kind."""
    learning = LearnedHosts(key=7)
    for number in range(pages):
        page = marks(prose(number), f"value {number}", prose(-number, 2))
        learning.learn(at(f"/p/{number}"), page, b"%d" % number, links=[at(f"/p/{number + 1}").text])
        learning.learn(Url(f"http://twin.org/p/{number}"), page, b"%d" % number)
        learning.learn(at(f"/same?code={number:x}"), marks(prose(1)), b"same")
        learning.learn(at(f"/gone/{number}"), marks("There is no such page here"), b"gone", NotFoundClaim.PLAINLY)
        learning.learn(Url(f"http://x{number}.farm.org/"), marks("Welcome to all that there is"), b"farm")
    return learning


def recorder() -> tuple[list[str], object]:
    events: list[str] = []
    return events, lambda event, /, **_facts: events.append(event)


def test_unpacked_and_packed_again_it_is_the_same() -> None:
    content = packed(sample())
    again = unpacked(content, key=1)
    assert packed(again) == content


def test_unpacked_it_gives_the_same_verdicts() -> None:
    before = sample()
    after = unpacked(packed(before), key=1)
    for url in (at("/same?code=fffff"), Url("http://another.farm.org/"), at("/p/7")):
        assert before.judge_visit(url) == after.judge_visit(url)
    for learning in (before, after):
        assert learning.learn(at("/p/900"), marks(prose(5)), b"x").yielded.has_new_text is False
        assert learning.learn(at("/p/901"), marks(prose(9_999)), b"y").yielded.has_new_text is True


@pytest.mark.parametrize("damage", ["", "short", "flipped", "older", "foreign"])
def test_a_damaged_file_is_reported_and_ignored(tmp_path: Path, damage: str) -> None:
    content = packed(sample(20))
    damaged = {
        "": b"",
        "short": content[:-9],
        "flipped": content[:200] + bytes([content[200] ^ 1]) + content[201:],
        "older": content.replace(b"learned 2", b"learned 1", 1),
        "foreign": b"SQLite format 3\0" + content,
    }[damage]
    (tmp_path / NAME).write_bytes(damaged)
    events, tell = recorder()
    assert load_learned(tmp_path, outside(), tell).pages == 0  # type: ignore[arg-type]
    assert events == ["learned.unreadable"]


def test_a_missing_file_is_not_reported(tmp_path: Path) -> None:
    events, tell = recorder()
    load_learned(tmp_path, outside(), tell)  # type: ignore[arg-type]
    assert events == []


def test_a_full_disk_costs_only_the_snapshot(tmp_path: Path) -> None:
    save_learned(sample(5), tmp_path, DiskFiles(), silent)
    before = (tmp_path / NAME).read_bytes()
    events, tell = recorder()
    save_learned(sample(20), tmp_path, FaultyFiles(DiskFiles(), fail_at=1), tell)  # type: ignore[arg-type]
    assert events == ["learned.unkept"] and (tmp_path / NAME).read_bytes() == before


def test_it_is_saved_every_minute_and_at_the_end(tmp_path: Path) -> None:
    events, tell = recorder()

    async def crawl() -> None:
        learning, around = LearnedHosts(), outside()
        async with learned.saving_learned(learning, tmp_path, around, tell):  # type: ignore[arg-type]
            learning.learn(at("/"), marks(prose(1)), b"1")
            while not events:
                await asyncio.sleep(0.001)
            assert around.clock.elapsed_s() > FakeClock().elapsed_s() + learned.EVERY_S - 1

    asyncio.run(crawl())
    assert events[0] == events[-1] == "learned.kept" and len(events) >= 2
    assert load_learned(tmp_path, outside(), silent).kept()


WEB = DemoWeb(hosts=1, pages=30, traps=20)
TRAPS = manifest_of(WEB).traps


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.what)
def test_F_U6_a_trap_is_left_in_time_although_the_crawl_is_restarted_repeatedly(trap: ExpectedTrap) -> None:
    """The crawl is stopped after every few pages; each run begins with the file of the one before."""
    requests = 0

    def fetch(url: Url) -> bytes | None:
        nonlocal requests
        requests += 1
        response = WEB.answer(DemoRequest(url.host.name, url.target))
        return response.body if response.status == 200 else None

    class Restarted(LearnedHosts):
        """Keeps only the contents of the file, at intervals."""

        def __init__(self) -> None:
            super().__init__()
            self.restarts = 0

        def learn(self, *values: object, **named: object) -> object:  # type: ignore[override]
            if requests > 6 * (self.restarts + 1) and self.restarts < RESTARTS:
                self.restarts += 1
                self.__dict__ |= {**unpacked(packed(self), 0).__dict__, "restarts": self.restarts}
            return super().learn(*values, **named)  # type: ignore[arg-type]

    learning = Restarted()
    roamed: Roamed = roam(fetch, [f"http://{host}/" for host in trap.hosts], 3_000, learning)
    verdict = trapped(trap, hits_of(roamed.fetched))
    assert learning.restarts > 3
    assert verdict.found >= LEAST_FOUND * verdict.real
    assert verdict.wasted <= 250 < MOST_WASTED
