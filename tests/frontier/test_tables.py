"""The frontier's tables, row by row, and its arithmetic at every limit."""

import asyncio
import random

import pytest

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier.back_queues import MOST_RESOLVING, NEVER, Backs, Resolving, hostname_of
from gossamer.frontier.leases import LONG_KNOWN, AskFirst, Away, GivenUp, Open, Shut, gate_of, is_given_up
from gossamer.frontier.politeness import (
    DOWN,
    FAILED,
    FAILURES,
    LONGEST_READING_GAP_S,
    TOLERANCE,
    TROUBLES,
    UNTOUCHED,
    Steps,
    free_at,
    gap_s,
    is_to_retire,
    troubles_after,
)
from gossamer.frontier.priority import (
    LAST,
    LINK_BITS,
    LOWEST,
    band_of,
    is_over_budget,
    linked_by,
    links_in,
    pick_band,
    priority_of,
    raised,
    with_links,
)
from gossamer.frontier.rows import HOW_CODES, HOWS, REASON_CODES, REASONS, lane_of, name_in, next_id, parts_of, text_of
from gossamer.frontier.seen import SeenTable
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import HOPELESS, Robots, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

NOW = 1_700_000_000 * SECOND


def test_the_numbers_on_disk_never_change() -> None:
    hows = ["seed", "link", "redirect", "sitemap", "feed", "robots", "map"]
    assert {how.value: code for how, code in HOW_CODES.items()} == {how: code for code, how in enumerate(hows)}
    reasons = {
        1: "fetched unchanged moved gone soft-404",
        10: "robots robots-unreachable scope too-many-redirects redirect-out address contact media-type filter trap "
            "retired forgotten",
        30: "dns connect tls timeout too-slow protocol headers-too-large disconnected coding slow-down server-error "
            "client-error unfinished filter-error",
        50: "read-timeout read-crash read-memory",
    }  # fmt: skip
    numbers = {word: first + at for first, words in reasons.items() for at, word in enumerate(words.split())}
    assert {reason.value: code for reason, code in REASON_CODES.items()} == numbers
    assert all(HOWS[code] is how for how, code in HOW_CODES.items())
    assert all(REASONS[code] is reason for reason, code in REASON_CODES.items())


ENDS = {  # what each end means: F failure of the URL, L listed later, T trouble of the host, D it is down, U untouched
    "fetched": "", "unchanged": "", "moved": "", "gone": "L", "soft-404": "L", "robots": "U", "robots-unreachable": "U",
    "scope": "U", "too-many-redirects": "L", "redirect-out": "L", "address": "U", "contact": "U", "media-type": "",
    "filter": "U", "trap": "U", "retired": "U", "forgotten": "U", "dns": "FLD", "connect": "FLTD", "tls": "FL",
    "timeout": "FLTD", "too-slow": "FLD", "unfinished": "FLD", "protocol": "FL", "headers-too-large": "FL",
    "disconnected": "FLTD", "coding": "FL", "slow-down": "FLT", "server-error": "FLTD", "client-error": "FL",
    "filter-error": "LU", "read-timeout": "L", "read-crash": "L", "read-memory": "L",
}  # fmt: skip


@pytest.mark.parametrize(("reason", "marks"), [(Reason(word), marks) for word, marks in ENDS.items()])
def test_what_each_reason_means_for_the_url_and_its_host(reason: Reason, marks: str) -> None:
    groups = {"F": FAILURES, "L": FAILED, "T": TROUBLES, "D": DOWN, "U": UNTOUCHED}
    assert {mark for mark, group in groups.items() if reason in group} == set(marks)
    assert troubles_after(5, reason) == (6 if "T" in marks else 2)
    assert set(ENDS) == {one.value for one in Reason}


@pytest.mark.parametrize(
    ("how", "first"),
    [("seed", 6), ("link", 8), ("redirect", 8), ("sitemap", 8), ("feed", 6), ("robots", 4), ("map", 4)],
)
def test_each_way_to_find_a_url_has_its_priority_and_each_step_of_depth_adds_four(how: str, first: int) -> None:
    assert [priority_of(How(how), depth) for depth in range(4)] == [first, first + 4, first + 8, first + 12]
    assert priority_of(How(how), 100) == LOWEST == 63


def test_hints_rules_and_links_change_the_priority_within_their_bounds() -> None:
    assert [priority_of(How.LINK, 2, hint) - 16 for hint in (-9, -5, -4, -1, 0, 1, 4, 5)] == [
        -4,
        -4,
        -4,
        -1,
        0,
        1,
        4,
        4,
    ]
    assert [priority_of(How.LINK, 2, 0, nudge) - 16 for nudge in (-9, -8, -1, 1, 8, 9)] == [-8, -8, -1, 1, 8, 8]
    assert [priority_of(How.LINK, 2, others=others) - 16 for others in range(6)] == [0, -1, -2, -3, -3, -3]
    assert [with_links(priority, 2) for priority in range(4)] == [0, 0, 0, 1]
    assert [raised(priority, How.LINK, 0, 0) for priority in (4, 5, 6, 7, 8, 12)] == [4, 5, 5, 6, 7, 11]
    assert raised(1, How.SEED, 0, -8) == 0 == raised(0, How.SEED, 0, -8)


def test_bands_are_nine_priorities_wide_and_each_is_drawn_half_as_often() -> None:
    assert [band_of(priority) for priority in (0, 8, 9, 17, 18, 53, 54, 62, 63)] == [0, 0, 1, 1, 2, 5, 6, 6, 6]
    assert band_of(63, True) == LAST == 7
    draws = [(0.0, 1), (0.499, 1), (0.5, 3), (0.749, 3), (0.75, 4), (0.999, 4)]
    assert [pick_band([1, 3, 4], draw) for draw, _ in draws] == [band for _, band in draws]


def test_a_budget_is_spent_at_its_limit() -> None:
    budget, linked = SiteBudget(visits=10, visits_per_link=5, time_s=60.0), linked_by(["one.test", "two.test"])
    assert [is_over_budget(budget, visits, 60.0, linked) for visits in (19, 20)] == [False, True]
    assert is_over_budget(budget, 0, 60.001, linked) and not is_over_budget(SiteBudget(time_s=None), 0, 1e9, 0)
    assert not is_over_budget(SiteBudget(visits=10, visits_per_link=0), 9, 0.0, linked)


def test_linking_hosts_are_estimated_from_the_bits_set() -> None:
    counted = [links_in((1 << bits) - 1) for bits in (0, 1, 2, 31, 61, 62, 63)]
    assert counted == [0, 1, 2, 43, 217, 261, 261] and LINK_BITS == 63
    bits = [linked_by([f"h{number}.test"]) for number in range(300)]
    assert all(one.bit_count() == 1 and one < 1 << 63 for one in bits) and len(set(bits)) > 55
    assert linked_by(["a", "b"]) == linked_by(["a"]) | linked_by(["b"])


@pytest.mark.parametrize(
    ("given", "gap"),
    [
        ({"crawl_delay_s": 0.0}, 2.0),
        ({"crawl_delay_s": 2.5}, 2.5),
        ({"crawl_delay_s": 31.0}, 30.0),
        ({"took_s": 0.19}, 2.0),
        ({"took_s": 0.3}, 3.0),
        ({"took_s": 3.0}, 20.0),
        ({"cpu_s": 0.25}, 2.0),
        ({"cpu_s": 0.75}, 2.5),
        ({"cpu_s": 1e6}, LONGEST_READING_GAP_S),
        ({"troubles": 1}, 4.0),
        ({"troubles": 2}, 8.0),
        ({"troubles": 3}, 10.0),
        ({"troubles": 1, "draw": 0.5}, 5.0),
        ({"troubles": 0, "draw": 0.5}, 2.0),
        ({"troubles": 10_000, "draw": 0.0}, 10.0),
        ({"crawl_delay_s": 4.0, "took_s": 0.5, "cpu_s": 1.25}, 5.0),
    ],
)
def test_the_longest_of_the_possible_gaps_is_kept(given: dict[str, float], gap: float) -> None:
    politeness = Politeness(
        delay_s=2.0, longest_crawl_delay_s=30.0, times_took=10.0, longest_gap_s=20.0, times_read=5.0, most_back_off=5.0,
        jitter=0.5,
    )  # fmt: skip
    assert gap_s(politeness, given.pop("crawl_delay_s", None), **given) == gap  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["delay_s", "longest_crawl_delay_s", "longest_gap_s", "times_took", "times_read",
                                  "apart_s", "retire_span_s"])  # fmt: skip
def test_no_politeness_setting_is_negative_or_infinite(name: str) -> None:
    assert Politeness(**{name: 0.0})
    for wrong in (-0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="invalid politeness"):
            Politeness(**{name: wrong})


@pytest.mark.parametrize(
    ("name", "good", "wrong"),
    [("robots_tries", (1, None), (0,)), ("per_address", (1,), (0,)), ("retire_failures", (1,), (0,)),
     ("most_back_off", (1.0,), (0.9, float("nan"))), ("jitter", (0.0, 1.0), (-0.1, 1.1, float("nan")))],
)  # fmt: skip
def test_politeness_counts_and_shares_are_bounded(
    name: str, good: tuple[float | None, ...], wrong: tuple[float, ...]
) -> None:
    for value in good:
        assert Politeness(**{name: value})  # type: ignore[arg-type]
    for value in wrong:
        with pytest.raises(ValueError, match="invalid politeness"):
            Politeness(**{name: value})  # type: ignore[arg-type]


def test_a_crawl_delay_of_any_length_counts_when_the_configured_delay_is_shorter() -> None:
    assert [gap_s(Politeness(delay_s=0.1), asked) for asked in (0.05, 0.5, 1.0, 1.5)] == [0.1, 0.5, 1.0, 1.5]


def test_the_gap_of_a_host_is_counted_from_the_response() -> None:
    assert free_at(NOW, 0.0, None) == NOW == free_at(NOW, 0.0, 0.0)
    assert free_at(NOW, 1e-7, None) == NOW + 1, "rounded up, never too early"
    assert free_at(NOW, 0.5, 0.25) == NOW + 750_000
    assert free_at(NOW, 0.0, 86_400.0) == free_at(NOW, 0.0, 86_401.0) == NOW + 86_400 * SECOND


@pytest.mark.parametrize(
    ("failing", "for_s", "is_out"), [(20, 100.0, True), (19, 100.0, False), (20, 99.999, False), (21, 101.0, True)]
)
def test_a_host_is_retired_when_both_limits_are_reached(failing: int, for_s: float, is_out: bool) -> None:
    politeness = Politeness(retire_failures=20, retire_span_s=100.0)
    now = NOW + round(for_s * SECOND)
    assert is_to_retire(politeness, VisitKind.PAGE, failing, NOW, now) is is_out
    assert is_to_retire(politeness, VisitKind.LIST, failing, NOW, now) is is_out
    assert not is_to_retire(politeness, VisitKind.ROBOTS, failing, NOW, now)
    assert not is_to_retire(politeness, VisitKind.PAGE, failing, None, now)


def entry(state: RobotsState, failures: int = 0, read_at: Instant | None = None, **more: Instant) -> Robots:
    given = {"fetched_at": NOW - 5, "expires_at": NOW + 5, **more}
    return Robots(origin="http://a.test", state=state, failures=failures, read_at=read_at, **given)


def test_a_robots_txt_opens_the_gate_until_it_expires() -> None:
    for state in (RobotsState.READ, RobotsState.MISSING):
        for expires_at, fetched_at, is_open in ((NOW + 1, NOW, True), (NOW, NOW - 1, False), (NOW + 9, NOW + 1, False)):
            one = entry(state, expires_at=expires_at, fetched_at=fetched_at)
            assert gate_of(one, NOW, 4) == (Open(one) if is_open else AskFirst(one))
    moved = entry(RobotsState.PENDING, expires_at=NOW - 1)
    assert gate_of(moved, NOW, 4) == Away() and gate_of(None, NOW, None) == AskFirst(None)


@pytest.mark.parametrize(
    ("failures", "tries", "read_at", "is_out"),
    [
        (3, 4, None, False), (4, 4, None, True), (5, 4, None, True), (4, 4, NOW, False),
        (LONG_KNOWN - 1, 4, NOW, False), (LONG_KNOWN, 4, NOW, True), (30, 40, NOW, False), (40, 40, NOW, True),
        (HOPELESS - 1, None, None, False), (HOPELESS, None, NOW, True),
    ],
)  # fmt: skip
def test_a_robots_txt_is_given_up_after_some_failures_and_later_if_it_was_read_before(
    failures: int, tries: int | None, read_at: Instant | None, is_out: bool
) -> None:
    one = entry(RobotsState.UNREACHABLE, failures, read_at)
    assert is_given_up(one, tries) is is_out
    assert gate_of(one, NOW, tries) == (GivenUp(failures) if is_out else Shut(NOW + 5))
    for state in (RobotsState.READ, RobotsState.MISSING, RobotsState.PENDING):
        assert not is_given_up(entry(state, HOPELESS), tries)


@pytest.mark.parametrize(
    ("text", "parts", "hostname"),
    [
        ("http://a.test/x/y?z", (0, "a.test", "x/y?z"), "a.test"),
        ("https://a.test:8443/", (1, "a.test:8443", ""), "a.test"),
        ("http://[::1]:80/x", (0, "[::1]:80", "x"), "::1"),
        ("gemini://a.test/x", (0, "gemini|a.test", "x"), "a.test"),
        ("gopher://a.test:7070/", (0, "gopher|a.test:7070", ""), "a.test"),
    ],
)
def test_a_url_is_split_and_joined_again(text: str, parts: tuple[int, str, str], hostname: str) -> None:
    assert parts_of(text) == parts and text_of(*parts) == text
    assert lane_of(text) == parts[0] and hostname_of(parts[1]) == hostname
    scheme, _, authority, _ = text.split("/", 3)
    assert name_in(scheme, authority) == parts[1]


def test_ids_wrap_around_at_the_largest_integer_of_a_row() -> None:
    largest = (1 << 63) - 1
    assert [next_id(number) for number in (0, -1, largest - 1, largest, -largest)] == [
        1, 0, largest, -largest - 1, 1 - largest,
    ]  # fmt: skip


def test_a_clock_was_set_when_it_differs_by_over_two_seconds_from_the_time_that_passed() -> None:
    for by in (TOLERANCE, -TOLERANCE, TOLERANCE + 1, -TOLERANCE - 1):
        steps = Steps()
        assert steps.since(NOW, 50.0) == 0
        assert steps.since(NOW + 10 * SECOND + by, 60.0) == (0 if abs(by) <= TOLERANCE else by)
        assert steps.since(NOW + 11 * SECOND + by, 61.0) == 0


def offer(text: str, depth: int = 0) -> Offer:
    return Offer(Url(text), How.LINK, None, depth)


@pytest.mark.parametrize("slots", [0, -1, 3, 1000])
def test_a_table_of_marks_has_a_power_of_two_slots(slots: int) -> None:
    with pytest.raises(ValueError, match=f"a table of {slots} slots"):
        SeenTable(slots)
    one = SeenTable(1)
    fresh, marks = one.sift([offer("http://a.test/")], lambda _: True)
    one.remember(marks)
    assert len(fresh) == 1 and one.sift([offer("http://a.test/")], lambda _: True) == ([], set())


def test_offers_sifted_just_before_are_not_sifted_again() -> None:
    seen, asked = SeenTable(1 << 20), []

    def may_enter(one: Offer) -> bool:
        asked.append(one.url.path)
        return one.url.path != "/no"

    page = [
        offer("http://a.test/yes"),
        offer("http://a.test/no"),
        offer("http://a.test/no"),
        offer("http://a.test/yes"),
    ]
    fresh, marks = seen.sift(page, may_enter, "b.test")
    assert [one.url.path for one in fresh] == ["/yes"] and asked == ["/yes", "/no"]
    repeats: list[Offer] = []
    again, marks = seen.sift(page, may_enter, "c.test", marks, repeats)
    assert again == [] and [one.url.path for one in repeats] == ["/yes"] and asked == ["/yes", "/no"]
    seen.remember(marks)
    for source, expected in (("b.test", 0), ("c.test", 0), ("d.test", 1), ("a.test", 0)):
        repeats = []
        assert seen.sift(page[:1], may_enter, source, None, repeats)[0] == [] and len(repeats) == expected, source
    assert seen.sift(page[:1], may_enter, "e.test") == ([], set()), "repeats are not counted"
    secure: list[Offer] = []
    assert seen.sift([offer("https://a.test/yes")], may_enter, "a.test", None, secure)[0] != [] and secure == []


class Model:
    """Slow back queues to compare with: they look at every host and IP address each time."""

    def __init__(self, per_address: int, apart: int) -> None:
        self.per_address, self.apart = per_address, apart
        self.hosts: dict[int, tuple[str | None, Instant]] = {}
        self.out: set[int] = set()
        self.start_at: dict[str, Instant] = {}

    def may_start(self, host_id: int, now: Instant) -> bool:
        address, at = self.hosts[host_id]
        if host_id in self.out or at > now:
            return False
        if address is None:
            return True
        busy = sum(1 for one in self.out if self.hosts[one][0] == address)
        return busy < self.per_address and self.start_at.get(address, 0) <= now

    def started(self, host_id: int, now: Instant) -> None:
        self.out.add(host_id)
        address = self.hosts[host_id][0]
        if address is not None:
            self.start_at[address] = now + self.apart


@pytest.mark.parametrize("seed", range(12))
def test_back_queues_hand_out_exactly_the_hosts_that_are_ready(seed: int) -> None:
    """Random steps, compared with a model without heaps."""
    chance = random.Random(seed)
    per_address, apart = chance.choice([1, 2, 4]), chance.choice([0, 7, 100])
    backs, model, now = Backs(per_address, apart), Model(per_address, apart), NOW
    for host_id in range(40):
        address = chance.choice([None, "20.0.0.1", "20.0.0.2", "20.0.0.3"])
        at = now + chance.randrange(50)
        backs.enter(host_id, at, address, 0)
        model.hosts[host_id] = (address, at)
    for _ in range(600):
        now += chance.randrange(8)
        match chance.randrange(5):
            case 0 | 1:
                found = backs.ready(now, chance.choice([1, 3, 100]))
                for host_id in found:
                    assert model.may_start(host_id, now), "too early, or too many at once"
                    model.started(host_id, now)
            case 2 if model.out:
                host_id, at = chance.choice(sorted(model.out)), now + chance.randrange(60)
                backs.waits(host_id, at)
                model.out.discard(host_id)
                model.hosts[host_id] = (model.hosts[host_id][0], at)
            case 3 if model.hosts:
                host_id = chance.choice(sorted(model.hosts))
                backs.leave(host_id)
                model.out.discard(host_id)
                address, _ = model.hosts.pop(host_id)
                backs.leave(host_id)
                at = now + chance.randrange(30)
                backs.enter(host_id, at, address, 0)
                model.hosts[host_id] = (address, at)
            case _:
                for host_id in backs.ready(now, 1000):
                    assert model.may_start(host_id, now)
                    model.started(host_id, now)
                assert not [one for one in model.hosts if model.may_start(one, now)], "a ready host was left out"
                next_at = backs.next_at()
                assert next_at is None or now < next_at < NEVER
        assert set(backs) == set(model.hosts) and len(backs) == len(model.hosts)


def test_after_a_start_hosts_on_a_known_ip_address_wait_as_if_it_had_just_been_contacted() -> None:
    backs = Backs(per_address=4, apart=100, started_at=NOW)
    backs.enter(1, NOW, "20.0.0.1", 3)
    backs.enter(2, NOW, None, 0)
    assert backs.next_at() == NOW and backs.ready(NOW, 9) == [2] and backs.next_at() == NOW + 100
    assert backs.ready(NOW + 99, 9) == [] and backs.ready(NOW + 100, 9) == [1]


def test_the_turn_of_a_host_ends_after_its_visits() -> None:
    backs = Backs(per_address=4, apart=0, turn=2)
    backs.enter(1, NOW, None, 0)
    for is_over in (False, False, True):
        assert backs.is_turn_over(1) is is_over
        backs.leased(1)


def test_when_the_clock_is_set_every_wait_keeps_its_length() -> None:
    backs = Backs(per_address=1, apart=100, started_at=NOW)
    for host_id in (1, 2):
        backs.enter(host_id, NOW + 10 * host_id, "20.0.0.1", 0)
    backs.enter(3, NOW + 500, None, 0)
    backs.shift(-1000)
    assert backs.next_at() == NOW - 900 and backs.ready(NOW - 901, 9) == [] and backs.ready(NOW - 900, 9) == [1]
    backs.waits(1, NOW - 850)
    assert backs.next_at() == NOW - 800 and backs.ready(NOW - 800, 9) == [2] and backs.ready(NOW - 500, 9) == [3]
    backs.shift(50)
    backs.waits(2, NOW)
    assert backs.ready(NOW - 651, 9) == [] and backs.ready(NOW - 650, 9) == [1]


def test_all_hosts_without_a_lease_can_be_removed() -> None:
    backs = Backs(per_address=1, apart=0)
    for host_id in (1, 2, 3):
        backs.enter(host_id, NOW, "20.0.0.1", 0)
    backs.keep_only({2})
    assert set(backs) == {2} and backs.ready(NOW + 9, 9) == [] and backs.next_at() is None
    backs.enter(4, NOW, "20.0.0.1", 0)
    assert backs.ready(NOW, 9) == [], "the leased host counts against its IP address"
    backs.waits(2, NOW + 5)
    assert backs.ready(NOW, 9) == [4]


def test_a_host_is_resolved_once_at_a_time_and_the_answer_kept_until_it_is_taken() -> None:
    async def story() -> None:
        asked: list[str] = []
        may_answer = asyncio.Event()

        async def resolve(hostname: str) -> str | None:
            asked.append(hostname)
            await may_answer.wait()
            return None if hostname == "none.test" else "20.0.0.1"

        resolving = Resolving(resolve)
        for _ in range(3):
            resolving.ask(["a.test:81", "none.test", "a.test:81"])
            await asyncio.sleep(0)
        assert asked == ["a.test", "none.test"] and resolving.busy() == 2 and not resolving.is_known("a.test:81")
        may_answer.set()
        while resolving.busy():
            await asyncio.sleep(0)
        resolving.ask(["a.test:81"])
        assert resolving.busy() == 0 and resolving.is_known("a.test:81") and resolving.is_known("none.test")
        assert (resolving.take("a.test:81"), resolving.take("none.test")) == ("20.0.0.1", None)
        assert not resolving.is_known("a.test:81")
        may_answer.clear()
        resolving.ask([f"h{number}.test" for number in range(MOST_RESOLVING + 9)])
        resolving.ask(["late.test"])
        assert resolving.busy() == MOST_RESOLVING
        await asyncio.sleep(0)
        await resolving.close()
        assert resolving.busy() == 0 and not resolving.is_known("h0.test")

    asyncio.run(story())
