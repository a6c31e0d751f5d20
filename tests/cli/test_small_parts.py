import asyncio
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from gossamer.base.errors import ConfigError
from gossamer.base.tell import CRASH_POINTS, crashing, silent
from gossamer.cli.output import Progress
from gossamer.config.settings import FetchSettings, Settings
from gossamer.crawler.pace import Backlog
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.testing import FakeClock
from gossamer.values.url import Url


def test_the_lag_is_the_age_of_the_oldest_group_that_is_not_searchable() -> None:
    clock = FakeClock()
    backlog = Backlog(clock)
    assert backlog.lag_s() == 0.0
    backlog.added("a", 5)
    clock.advance(2)
    backlog.added("a", 9)
    clock.advance(1)
    assert backlog.lag_s() == 3.0
    backlog.passed("a", 6)
    assert backlog.lag_s() == 1.0
    backlog.passed("b", 0)
    assert backlog.lag_s() == 0.0


def test_a_position_counts_the_next_record_so_an_equal_number_has_not_been_passed() -> None:
    backlog = Backlog(FakeClock())
    backlog.added("a", 5)
    backlog.passed("a", 5)
    assert backlog._waiting


def test_without_a_crash_point_the_tell_is_left_alone() -> None:
    assert crashing(silent, None) is silent
    assert crashing(silent, "") is silent


@pytest.mark.parametrize("at", ["frontier.taken", "frontier.taken:x", "nothing.known:1", ":1"])
def test_a_crash_point_that_is_none_is_refused(at: str) -> None:
    with pytest.raises(ConfigError, match="GOSSAMER_CRASH_AT must be one of"):
        crashing(silent, at)


def test_the_process_ends_at_the_kth_telling_and_tells_it_first() -> None:
    script = (
        "from gossamer.base.tell import crashing\n"
        "tell = crashing(lambda event, **facts: print(event, facts, flush=True), 'archive.synced:2')\n"
        "for number in range(5):\n"
        "    tell('archive.appended', number=number)\n"
        "    tell('archive.synced', number=number)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == -9
    assert done.stdout.splitlines()[-1] == "archive.synced {'number': 1}"
    assert len(done.stdout.splitlines()) == 4


def test_crash_points_are_told_once_each() -> None:
    assert len(set(CRASH_POINTS)) == len(CRASH_POINTS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("example.org", "https://example.org/"),
        ("example.org/a b", "https://example.org/a%20b"),
        ("example.org:8080", "http://example.org:8080/"),
        ("example.org:443", "https://example.org/"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("[::1]:8080/x", "http://[::1]:8080/x"),
        ("localhost", "http://localhost/"),
        ("http://example.org", "http://example.org/"),
        ("https://user:secret@example.org/#part", "https://example.org/"),
    ],
)
def test_a_seed_is_read_as_it_was_meant(typed: str, meant: str) -> None:
    assert checked_seeds([typed]) == [Url(meant)]


@pytest.mark.parametrize("typed", ["", "ftp://example.org/", "/tmp/page.html", "./page", "mailto:a@b.c", "http://"])
def test_a_seed_that_is_no_web_address_is_refused(typed: str) -> None:
    with pytest.raises(ConfigError, match="not an http or https URL"):
        checked_seeds([typed])


class Names:
    """A resolver of a few names; what it does not know has no address."""

    def __init__(self, **addresses: str) -> None:
        self._addresses = {f"{name}.test": address for name, address in addresses.items()}
        self.asked: list[str] = []

    async def addresses(self, hostname: str) -> list[str]:
        self.asked.append(hostname)
        if hostname == "broken.test":
            raise OSError("no answer")
        return [found] if (found := self._addresses.get(hostname)) else []


def asked(seeds: list[str], settings: Settings, names: Names | None = None) -> tuple[list[Url], list[str]]:
    return asyncio.run(admitted([Url(seed) for seed in seeds], settings, names or Names()))


def refusal(seed: str, settings: Settings, names: Names | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        asked([seed], settings, names)
    return str(caught.value)


NOBODY = Settings()
SOMEBODY = Settings(contact="me@example.org")


def test_a_public_address_is_refused_until_a_contact_is_set() -> None:
    names = Names()
    assert "--contact" in refusal("https://example.test/", NOBODY, names)
    assert names.asked == [], "nobody needs to be asked to know that"
    assert "--contact" in refusal("http://93.184.216.34/", NOBODY)
    assert asked(["http://93.184.216.34/"], SOMEBODY) == ([Url("http://93.184.216.34/")], [])


def test_a_private_address_names_the_flag_that_opens_it_and_nothing_more() -> None:
    assert "--allow-address 127.0.0.1" in refusal("http://127.0.0.1:8000/", SOMEBODY)
    assert "--allow-address 10.1.2.3" in refusal("http://inner.test/", SOMEBODY, Names(inner="10.1.2.3"))
    assert "this machine" in refusal("http://localhost/", SOMEBODY)
    opened = Settings(fetch=FetchSettings(allow_addresses=("10.1.0.0/16",)))
    assert asked(["http://inner.test/"], opened, Names(inner="10.1.2.3"))[0]
    assert "--contact" in refusal("http://outer.test/", opened, Names(outer="93.184.216.34"))


def test_a_metadata_service_is_refused_without_a_hint_how_to_open_it() -> None:
    assert "--allow-address" not in refusal("http://169.254.169.254/", SOMEBODY)


def test_a_name_that_does_not_exist_is_told_at_once_and_one_that_may_is_tried() -> None:
    assert "is it spelled right?" in refusal("https://misspelt.test/", SOMEBODY)
    assert asked(["https://broken.test/"], SOMEBODY)[0] == [Url("https://broken.test/")]


def test_a_port_without_web_pages_is_refused() -> None:
    assert "port 22" in refusal("http://93.184.216.34:22/", SOMEBODY)


def test_one_bad_seed_among_good_ones_is_left_out_with_its_reason() -> None:
    good, left_out = asked(["http://93.184.216.34/", "http://misspelt.test/"], SOMEBODY)
    assert good == [Url("http://93.184.216.34/")]
    assert left_out == ["misspelt.test does not resolve to any address: is it spelled right?"]


def test_work_that_takes_long_is_told_in_plain_lines_where_there_is_no_terminal() -> None:
    clock, out = FakeClock(), StringIO()
    with Progress("working", clock, Console(file=out)) as progress:
        for number in range(30):
            progress.show(f"working: {number}")
            clock.advance(0.5)
    assert out.getvalue().splitlines() == ["working: 4", "working: 14", "working: 24"]


def test_a_crawl_may_open_as_many_sockets_as_the_system_lets_it() -> None:
    program = (
        "import resource; from gossamer.base.tuning import MOST_OPEN_FILES, allow_open_files\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "allow_open_files()\n"
        "soft, still = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "assert soft == (MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)), soft\n"
        "assert still == hard"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
