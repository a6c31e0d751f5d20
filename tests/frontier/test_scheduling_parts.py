"""Priorities, bands, budgets, back queues, codes and clock steps: the parts that need no database."""

import random
from collections import Counter

import pytest

from gossamer.base.clock import SECOND
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier.back_queues import Backs
from gossamer.frontier.leases import AskFirst, gate_of
from gossamer.frontier.politeness import Steps, gap_s, is_to_retire, troubles_after
from gossamer.frontier.postgres.sieve import SourcedOffer, linked_of
from gossamer.frontier.priority import (
    LAST,
    LOWEST,
    MOST_RAISED,
    band_of,
    is_over_budget,
    linked,
    linked_by,
    links_in,
    pick_band,
    priority_of,
    raised,
)
from gossamer.frontier.requeue import priority_again
from gossamer.frontier.rows import HOW_CODES, REASON_CODES
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

NOW = 1_700_000_000 * SECOND


def test_every_value_on_disk_has_one_permanent_number() -> None:
    assert set(HOW_CODES) == set(How) and len(set(HOW_CODES.values())) == len(How)
    assert set(REASON_CODES) == set(Reason) and len(set(REASON_CODES.values())) == len(Reason)
    assert (REASON_CODES[Reason.FETCHED], REASON_CODES[Reason.ROBOTS_UNREACHABLE]) == (1, 11)
    assert (HOW_CODES[How.SEED], HOW_CODES[How.LINK], HOW_CODES[How.MAP]) == (0, 1, 6)


def test_M_E7_depth_source_hints_rules_and_links_make_the_priority() -> None:
    plain = priority_of(How.LINK, 2)
    assert priority_of(How.SEED, 0) < priority_of(How.LINK, 1) < plain < priority_of(How.LINK, 3)
    assert priority_of(How.SITEMAP, 2, hint=-4) == plain - 4 == priority_of(How.SITEMAP, 2, hint=-100)
    assert priority_of(How.LINK, 2, nudge=-100) == plain - 8
    assert priority_of(How.LINK, 2, others=2) == plain - 2
    assert priority_of(How.ROBOTS, 1) < priority_of(How.LINK, 1)
    assert (priority_of(How.LINK, 1000), priority_of(How.SEED, 0, -4, -8, 9)) == (LOWEST, 0)


def test_a_link_from_another_host_raises_a_url_by_one_up_to_a_limit() -> None:
    first = priority_of(How.LINK, 2)
    places = [first]
    for _ in range(5):
        places.append(raised(places[-1], How.LINK, 2, 0))
    assert places == [first, first - 1, first - 2, first - 3, first - 3, first - 3]
    assert raised(first + 8, How.LINK, 2, 8) == first + 7, "the user's rules still count"
    assert raised(first - 8, How.LINK, 2, 0) == first - 8, "a better place is kept"


def test_bands_follow_priorities_and_the_last_is_for_spent_budgets() -> None:
    bands = [band_of(priority) for priority in range(LOWEST + 1)]
    assert bands == sorted(bands) and set(bands) == set(range(LAST))
    assert band_of(0, is_over_budget=True) == LAST


def test_a_band_is_drawn_half_as_often_as_the_one_before_and_each_sometimes() -> None:
    chance = random.Random(4)
    drawn = Counter(pick_band([0, 2, 5, 7], chance.random()) for _ in range(8000))
    assert 3800 < drawn[0] < 4200 and 1800 < drawn[2] < 2200 and 850 < drawn[5] < 1150 and 850 < drawn[7] < 1150
    assert pick_band([6], 0.999) == 6


def test_budgets_grow_with_the_number_of_linking_hosts() -> None:
    budget = SiteBudget(visits=10, visits_per_link=5, time_s=60.0)
    assert not is_over_budget(budget, 9, 0.0, 0) and is_over_budget(budget, 10, 0.0, 0)
    assert not is_over_budget(budget, 14, 0.0, linked(0, "one.test")) and is_over_budget(
        budget, 15, 0.0, linked(0, "one.test")
    )
    assert is_over_budget(budget, 0, 61.0, 0)
    with pytest.raises(ValueError):
        SiteBudget(visits=-1)


def test_linking_hosts_are_counted_once_each_and_approximately() -> None:
    assert linked(linked(0, "a"), "a") == linked(0, "a")
    for many in (1, 5, 30, 100):
        assert many * 0.7 <= links_in(linked_by(f"host{n}.test" for n in range(many))) <= many * 1.3
    assert links_in(linked_by(map(str, range(100_000)))) < 300


def test_hosts_are_handed_out_when_they_are_ready_the_longest_ready_first() -> None:
    backs = Backs(per_address=4, apart=SECOND // 10)
    for host_id, at in ((1, 30), (2, 10), (3, 20), (4, 99)):
        backs.enter(host_id, NOW + at, None, 0)
    assert backs.next_at() == NOW + 10
    assert backs.ready(NOW + 50, 2) == [2, 3] and backs.ready(NOW + 50, 5) == [1] and backs.ready(NOW + 50, 5) == []
    backs.waits(2, NOW + 60)
    backs.leave(3)
    assert backs.next_at() == NOW + 60 and 3 not in backs and len(backs) == 3
    assert backs.ready(NOW + 200, 9) == [2, 4]


def test_F_H17_an_ip_address_has_at_most_four_requests_a_tenth_of_a_second_apart() -> None:
    """A long random run with many hosts on few IP addresses and visits of random length."""
    chance = random.Random(7)
    backs = Backs(per_address=4, apart=100_000)
    address = {host_id: f"20.0.0.{host_id % 3}" for host_id in range(50)}
    now, out, last = NOW, dict[int, int](), dict[str, int]()
    for host_id, name in address.items():
        backs.enter(host_id, now, name, 0)
    visits = 0
    for _ in range(4000):
        now += chance.randrange(60_000)
        for host_id in [one for one, until in out.items() if until <= now]:
            del out[host_id]
            backs.waits(host_id, now + 1_000_000)
        for host_id in backs.ready(now, 10):
            name = address[host_id]
            assert host_id not in out and now >= last.get(name, 0) + 100_000
            last[name] = now
            out[host_id] = now + chance.randrange(1_000_000)
            backs.leased(host_id)
            visits += 1
            assert Counter(address[one] for one in out)[name] <= 4
        next_at = backs.next_at()
        assert next_at is None or next_at > now or len(out) > 9
    assert visits > 1000


def test_after_a_restart_an_ip_address_is_not_contacted_too_soon() -> None:
    backs = Backs(per_address=4, apart=100_000, started_at=NOW)
    backs.enter(1, 0, "20.0.0.1", 0)
    assert backs.ready(NOW + 99_999, 1) == [] and backs.ready(NOW + 100_000, 1) == [1]
    backs.shift(-86_400 * SECOND)
    backs.enter(2, 0, "20.0.0.2", 0)
    assert backs.next_at() == NOW + 100_000 - 86_400 * SECOND


def test_when_a_host_leaves_another_on_its_ip_address_is_not_contacted_too_soon() -> None:
    backs = Backs(per_address=4, apart=0)
    backs.enter(1, NOW, "192.0.2.1", 0)
    backs.enter(2, NOW + 5 * SECOND, "192.0.2.1", 0)
    backs.leave(1)
    assert backs.ready(NOW + SECOND, 9) == []
    assert backs.next_at() == NOW + 5 * SECOND
    assert backs.ready(NOW + 5 * SECOND, 9) == [2]


def test_a_turn_is_over_after_the_set_number_of_visits() -> None:
    backs = Backs(per_address=4, apart=0, turn=2)
    backs.enter(1, NOW, None, 0)
    for _ in range(2):
        assert not backs.is_turn_over(1)
        assert backs.ready(NOW, 1) == [1]
        backs.leased(1)
        backs.waits(1, NOW)
    assert backs.is_turn_over(1)


def test_only_hosts_on_lease_keep_their_back_queues_when_a_transaction_failed() -> None:
    backs = Backs(per_address=1, apart=0)
    for host_id in (1, 2, 3):
        backs.enter(host_id, NOW, "20.0.0.1", 0)
    assert backs.ready(NOW, 3) == [1]
    backs.keep_only({2})
    assert len(backs) == 1 and backs.next_at() is None
    backs.waits(2, NOW + 5)
    assert backs.ready(NOW + 5, 3) == [2]


def test_F_U1_ip_addresses_without_hosts_are_dropped() -> None:
    backs = Backs(per_address=4, apart=100)
    for host_id in range(10_000):
        backs.enter(host_id, NOW, f"20.0.{host_id >> 8}.{host_id & 255}", 0)
        assert backs.ready(NOW, 1) == [host_id]
        backs.leave(host_id)
    assert len(backs._addresses) < 3000 and len(backs._heap) < 3000


def test_F_P10_a_step_of_the_clock_is_distinguished_from_time_that_passed() -> None:
    steps = Steps()
    assert steps.since(NOW, 100.0) == 0
    assert steps.since(NOW + 5 * SECOND, 105.0) == 0
    assert steps.since(NOW + 6 * SECOND, 105.5) == 0  # slewed
    assert steps.since(NOW + 86_407 * SECOND, 106.5) == 86_400 * SECOND
    assert steps.since(NOW + 7 * SECOND, 106.5) == -86_400 * SECOND
    assert steps.since(NOW + 8 * SECOND, 107.5) == 0


def test_F_P10_a_robots_txt_read_in_the_future_is_requested_again() -> None:
    entry = Robots("https://a.test", RobotsState.UNREACHABLE, NOW + 10, NOW + 10**12, failures=1)
    assert gate_of(entry, NOW, 4) == AskFirst(entry)


def test_back_off_is_lengthened_at_random_within_its_share() -> None:
    politeness = Politeness(delay_s=1.0, jitter=0.5)
    assert gap_s(politeness, None, troubles=2, draw=0.0) == 4.0
    assert gap_s(politeness, None, troubles=2, draw=0.5) == 5.0
    assert gap_s(politeness, None, draw=0.9) == 1.0


def test_a_success_halves_the_troubles() -> None:
    assert troubles_after(3, Reason.TIMEOUT) == 4
    assert [troubles_after(n, Reason.FETCHED) for n in (5, 2, 1, 0)] == [2, 1, 0, 0]


def test_M_B9_a_host_is_retired_for_failures_in_a_row_over_a_span_of_time() -> None:
    politeness = Politeness(retire_failures=3, retire_span_s=10.0)
    page = VisitKind.PAGE
    assert is_to_retire(politeness, page, 3, NOW, NOW + 10 * SECOND)
    assert not is_to_retire(politeness, page, 2, NOW, NOW + 10 * SECOND)
    assert not is_to_retire(politeness, page, 3, NOW, NOW + 9 * SECOND)
    assert not is_to_retire(politeness, page, 0, None, NOW)
    assert not is_to_retire(politeness, VisitKind.ROBOTS, 3, NOW, NOW + 10 * SECOND)
    with pytest.raises(ValueError):
        Politeness(retire_failures=0)


def test_a_host_that_waits_again_does_not_delay_another_on_its_ip_address() -> None:
    backs = Backs(per_address=4, apart=0)
    backs.enter(1, NOW + 10, "20.0.0.1", 0)
    backs.enter(2, NOW + 20, "20.0.0.1", 0)
    backs.waits(1, NOW + 30)
    assert backs.next_at() == NOW + 20 and backs.ready(NOW + 20, 9) == [2]
    assert backs.next_at() == NOW + 30 and backs.ready(NOW + 30, 9) == [1]


def test_a_url_queued_again_goes_before_others_of_its_depth() -> None:
    for depth in range(40):
        others = [priority_of(how, depth) for how in How]
        assert priority_again(depth) <= min(others), depth
        assert priority_again(depth) >= max(0, min(priority_of(how, depth - 2) for how in How)), depth
    assert [priority_again(depth) for depth in (0, 1, 3, 40)] == [0, 4, 12, LOWEST]


def test_only_a_link_from_another_host_raises_a_url() -> None:
    def link(text: str, source: str | None) -> SourcedOffer:
        return SourcedOffer(Offer(Url(text), How.LINK), source)

    known = [
        ((1, 1), link("http://a.test/deep/er/page", "b.test")),
        ((1, 2), link("http://a.test/", "a.test")),
        ((1, 3), link("http://a.test/seed", None)),
        ((1, 4), link("https://a.test/secure", "b.test")),
        ((2, 5), link("gemini://a.test/page", "a.test")),
    ]
    assert list(linked_of(known)) == [(1, 1), (1, 4), (2, 5)]
    many = [((1, number), link(f"http://a.test/{number}", "b.test")) for number in range(MOST_RAISED + 5)]
    assert list(linked_of(many)) == [(1, number) for number in range(MOST_RAISED)]
