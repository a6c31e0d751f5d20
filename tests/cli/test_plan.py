"""`gossamer plan`: the calculation, the bottleneck, the advice, and the averages of a directory."""

import json

import pytest
from tests.cli.conftest import Collection
from tests.cli.site import gossamer

from gossamer.base.errors import ConfigError
from gossamer.cli import main as cli
from gossamer.cli.tools.plan import plan
from gossamer.lab.plan import KB, CrawlPlan, Shares, Wish, in_progress, planned


def bottleneck(found: CrawlPlan) -> str:
    return found.limits[0].name


def test_M_Z11_a_hundred_pages_a_second_at_one_page_in_thirty_seconds_need_three_thousand_hosts() -> None:
    assert in_progress(100, 30.0) == 3000


@pytest.mark.parametrize(
    ("pages_per_s", "latency_s", "page_bytes", "rate_bytes", "expected"),
    [(50, 0.080, 20 * KB, 1000 * KB, 5), (50, 0.500, 20 * KB, 100 * KB, 35), (1000, 0.500, 10 * KB, 1e12, 500)],
)
def test_M_Z11_connections_follow_from_the_rate_and_the_duration_of_a_response(
    pages_per_s: int, latency_s: float, page_bytes: int, rate_bytes: float, expected: int
) -> None:
    """The mission's second case names 30 connections where latency and transfer together make 35."""
    assert in_progress(pages_per_s, latency_s + page_bytes / rate_bytes) == pytest.approx(expected, rel=1e-6)


def test_M_Z11_ten_megabytes_a_second_of_ten_kilobyte_pages_every_ten_seconds_need_ten_thousand_hosts() -> None:
    assert in_progress(10_000 * KB / (10 * KB), 10.0) == 10_000


def test_with_few_hosts_politeness_is_the_bottleneck_and_the_advice_is_more_hosts() -> None:
    found = planned(Wish(100_000, 10, delay_s=2.0, days=0.1))
    assert bottleneck(found) == "politeness" and found.fits is False
    assert found.takes_s == pytest.approx(10_001 * (2.8 + 0.28)), "ten times the response time is more than the delay"
    found = planned(Wish(100_000, 10, delay_s=3.0, days=0.1))
    assert found.takes_s == pytest.approx(10_001 * (3.0 + 0.28))
    found = planned(Wish(1_000_000, 10, delay_s=2.0, days=1.0))
    assert "at least 36 hosts for 1 days" in found.advice[0]
    assert any("your own" in words for words in found.advice)


def test_the_largest_host_decides_the_duration_if_it_is_known() -> None:
    even, uneven = planned(Wish(10_000, 1000)), planned(Wish(10_000, 1000, largest=9000))
    assert uneven.takes_s > 9000 > even.takes_s
    assert bottleneck(uneven) == "politeness" and "budget" in uneven.advice[0]


def test_with_many_hosts_the_bottleneck_is_processor_indexer_bandwidth_or_connections() -> None:
    assert bottleneck(planned(Wish(1_000_000, 100_000, cores=1))) == "processor"
    assert bottleneck(planned(Wish(1_000_000, 100_000, cores=64))) == "indexer"
    assert bottleneck(planned(Wish(1_000_000, 100_000, bandwidth_bits=1e6))) == "bandwidth"
    slow = planned(Wish(1_000_000, 100_000, latency_s=20.0, at_once=8))
    assert bottleneck(slow) == "connections" and "crawl.at_once" in slow.advice[0]


def test_a_plan_that_fits_needs_no_advice() -> None:
    found = planned(Wish(1000, 100, days=1.0))
    assert found.fits and found.advice == ()


@pytest.mark.parametrize("name", ["archive", "words", "graph", "links", "state"])
def test_disk_space_grows_with_the_number_of_pages(name: str) -> None:
    small, large = planned(Wish(10_000, 100)), planned(Wish(100_000, 1000))
    assert getattr(large.disk, name) == pytest.approx(10 * getattr(small.disk, name), rel=0.01)
    assert large.disk_bytes == large.disk.total


def test_disk_space_is_computed_from_measured_shares() -> None:
    found = planned(Wish(1000, 10, page_bytes=1000, disk_share=Shares(1.0, 2.0, 3.0, 4.0)))
    assert (found.disk.archive, found.disk.words, found.disk.graph, found.disk.links) == (
        10**6,
        2 * 10**6,
        3 * 10**6,
        4 * 10**6,
    )


def test_the_command_prints_the_bottleneck(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(pages="1M", hosts="2,000", cores=2) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1,000,000 pages of 80 kB on 2,000 hosts" in text and "bottleneck processor" in text
    assert plan(pages="1M", hosts="10", days=1) == 1
    assert "fits no" in " ".join(capsys.readouterr().out.split())


def test_json_has_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(pages="20k", hosts="40", delay=0.5, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wish"]["pages"] == 20_000 and found["limits"][0]["name"]
    assert found["disk_bytes"] == sum(found["disk"].values())


@pytest.mark.parametrize(
    "words", ["--pages 0 --hosts 1", "--pages many --hosts 1", "--hosts 1", "--pages 5 --hosts 1 --delay -1"]
)
def test_invalid_numbers_are_refused(words: str) -> None:
    with pytest.raises(ConfigError):
        cli.app(["plan", *words.split()], result_action="return_value", exit_on_error=False)


def test_averages_are_taken_from_a_directory(collection: Collection) -> None:
    done = gossamer("plan", "--dir", collection.root, "--pages", "1M", "--hosts", "1000", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["wish"]["page_bytes"] > 0
