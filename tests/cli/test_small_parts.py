import asyncio
import os
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from gossamer.base.errors import ConfigError
from gossamer.base.tell import CRASH_POINTS, crashing, silent
from gossamer.cli.output import Progress, console
from gossamer.config.settings import FetchSettings, Settings
from gossamer.crawler.pace import Backlog
from gossamer.crawler.seeds import admitted, checked_seeds
from gossamer.testing import FakeClock
from gossamer.values.url import Url


def test_the_delay_is_the_age_of_the_oldest_group_that_is_not_searchable() -> None:
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


def test_without_a_crash_point_tell_is_unchanged() -> None:
    assert crashing(silent, None) is silent
    assert crashing(silent, "") is silent


@pytest.mark.parametrize("at", ["frontier.taken", "frontier.taken:x", "nothing.known:1", ":1"])
def test_an_unknown_crash_point_is_refused(at: str) -> None:
    with pytest.raises(ConfigError, match="GOSSAMER_CRASH_AT must be one of"):
        crashing(silent, at)


def test_the_process_ends_at_the_kth_event_after_reporting_it() -> None:
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


def test_crash_points_are_distinct() -> None:
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
def test_a_seed_without_a_scheme_is_completed(typed: str, meant: str) -> None:
    assert checked_seeds([typed]) == [Url(meant)]


@pytest.mark.parametrize("typed", ["", "ftp://example.org/", "/tmp/page.html", "./page", "mailto:a@b.c", "http://"])
def test_a_seed_that_is_not_a_web_url_is_refused(typed: str) -> None:
    with pytest.raises(ConfigError, match="not an http or https URL"):
        checked_seeds([typed])


class Names:
    """A resolver for a few names; other names have no IP address."""

    def __init__(self, **addresses: str) -> None:
        self._addresses = {f"{name}.test": address for name, address in addresses.items()}
        self.lookups: list[str] = []

    async def addresses(self, hostname: str) -> list[str]:
        self.lookups.append(hostname)
        if hostname == "broken.test":
            raise OSError("no answer")
        return [found] if (found := self._addresses.get(hostname)) else []


def checked(seeds: list[str], settings: Settings, names: Names | None = None) -> tuple[list[Url], list[str]]:
    return asyncio.run(admitted([Url(seed) for seed in seeds], settings, names or Names()))


def refusal(seed: str, settings: Settings, names: Names | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        checked([seed], settings, names)
    return str(caught.value)


NO_CONTACT = Settings()
CONTACT = Settings(contact="me@example.org")


def test_a_public_address_is_refused_until_a_contact_is_set() -> None:
    names = Names()
    assert "--contact" in refusal("https://example.test/", NO_CONTACT, names)
    assert names.lookups == [], "this needs no lookup"
    assert "--contact" in refusal("http://93.184.216.34/", NO_CONTACT)
    assert checked(["http://93.184.216.34/"], CONTACT) == ([Url("http://93.184.216.34/")], [])


def test_a_private_address_is_refused_with_the_flag_that_allows_it() -> None:
    assert "--allow-address 127.0.0.1" in refusal("http://127.0.0.1:8000/", CONTACT)
    assert "--allow-address 10.1.2.3" in refusal("http://inner.test/", CONTACT, Names(inner="10.1.2.3"))
    assert "this machine" in refusal("http://localhost/", CONTACT)
    allowed = Settings(fetch=FetchSettings(allow_addresses=("10.1.0.0/16",)))
    assert checked(["http://inner.test/"], allowed, Names(inner="10.1.2.3"))[0]
    assert "--contact" in refusal("http://outer.test/", allowed, Names(outer="93.184.216.34"))


def test_a_metadata_service_is_refused_without_naming_the_flag() -> None:
    assert "--allow-address" not in refusal("http://169.254.169.254/", CONTACT)


def test_a_name_that_does_not_exist_is_refused_and_one_that_cannot_be_looked_up_is_tried() -> None:
    assert "is it spelled correctly?" in refusal("https://misspelt.test/", CONTACT)
    assert checked(["https://broken.test/"], CONTACT)[0] == [Url("https://broken.test/")]


def test_a_port_without_web_pages_is_refused() -> None:
    assert "port 22" in refusal("http://93.184.216.34:22/", CONTACT)


def test_a_bad_seed_among_good_ones_is_left_out_with_the_reason() -> None:
    good, left_out = checked(["http://93.184.216.34/", "http://misspelt.test/"], CONTACT)
    assert good == [Url("http://93.184.216.34/")]
    assert left_out == ["misspelt.test does not resolve to an IP address: is it spelled correctly?"]


def test_progress_is_printed_in_plain_lines_without_a_terminal() -> None:
    clock, out = FakeClock(), StringIO()
    with Progress("working", clock, Console(file=out)) as progress:
        for number in range(30):
            progress.show(f"working: {number}")
            clock.advance(0.5)
    assert out.getvalue().splitlines() == ["working: 4", "working: 14", "working: 24"]


def test_the_limit_of_open_files_is_raised_as_far_as_the_system_allows() -> None:
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


def test_a_console_whose_reader_has_gone_says_so_as_plain_output_does(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("sys.stdout", os.fdopen(writer, "w"))
    with pytest.raises(BrokenPipeError):
        console().print("has no reader")
