"""`gossamer simulate`: the real policies on a virtual clock."""

import json
import math
from pathlib import Path

import pytest
from bench.recrawl import MARKS, share_of_win
from lxml import etree

from gossamer.base.environment import seeded
from gossamer.base.errors import ConfigError
from gossamer.cli import main as cli
from gossamer.cli.tools.plots import as_svg, in_terminal
from gossamer.cli.tools.simulate import checked
from gossamer.lab.simulation import (
    BEST,
    CLASSES,
    WEBS,
    Nature,
    Result,
    Simulation,
    SyntheticWeb,
    links_of,
    parent_of,
    simulated,
)
from gossamer.recrawl.freshness import average_age, freshness, optimum

PAGES = 2_000
WINS = {3.0: 0.48, 10.0: 0.32, 30.0: 0.19}
"""How much lower the average age is with the optimum for the true rates than with `uniform`, as a share."""


def plan(
    every: float = 3.0, pages: int = PAGES, days: float = 180.0, web: str = "measured", seed: int = 1
) -> Simulation:
    return Simulation(pages, days, days / 3, pages / every, seed, web)


def grown(pages: int, web: str = "measured") -> SyntheticWeb:
    return SyntheticWeb(seeded(1), 180.0, pages, WEBS[web])


@pytest.mark.parametrize("every", [10.0, 30.0])
def test_M_C2_age_gains_most_of_what_is_possible_beats_paper_and_neglects_no_page(every: float) -> None:
    results = {name: simulated(name, plan(every)) for name in ("uniform", BEST, "paper", "age")}
    even, best = results["uniform"].average_age_days, results[BEST].average_age_days
    assert 1 - best / even == pytest.approx(WINS[every], abs=0.05)
    assert share_of_win(results, "age") >= MARKS[every]
    age = results["age"]
    assert age.average_age_days < results["paper"].average_age_days
    assert age.longest_gap_days < 120 * 1.2
    assert all(one.visits_per_day == pytest.approx(one.budget_per_day, rel=0.03) for one in results.values())


def test_M_C2_age_also_gains_most_with_a_fetch_every_three_days() -> None:
    results = {name: simulated(name, plan(3.0, pages=800, days=120.0)) for name in ("uniform", BEST, "paper", "age")}
    assert share_of_win(results, "age") >= MARKS[3.0]
    assert results["age"].average_age_days < results["paper"].average_age_days


def test_the_simulation_agrees_with_the_closed_form() -> None:
    simulation = plan(3.0)
    web = grown(PAGES)
    result = simulated("uniform", simulation)
    assert result.average_age_days == pytest.approx(
        math.fsum(average_age(page.rate, 3.0) for page in web.pages) / PAGES, rel=0.03
    )
    assert result.freshness == pytest.approx(
        math.fsum(freshness(page.rate, 3.0) for page in web.pages) / PAGES, rel=0.02
    )


@pytest.mark.parametrize(("every", "wins"), WINS.items())
def test_the_measured_web_has_the_known_optimum(every: float, wins: float) -> None:
    kinds = grown(20_000).kinds()
    pages = sum(kind.pages for kind in kinds)
    even = sum(kind.pages * average_age(kind.rate, every) for kind in kinds) / pages
    days = optimum(kinds, 1 / every)
    best = sum(kind.pages * average_age(kind.rate, one) for kind, one in zip(kinds, days, strict=True)) / pages
    assert 1 - best / even == pytest.approx(wins, abs=0.015)


def test_pages_change_at_the_measured_rates() -> None:
    web = grown(10_000)
    for share, slowest, fastest in CLASSES:
        found = sum(slowest <= page.rate < fastest for page in web.pages) / 10_000
        assert found == pytest.approx(share, abs=0.02)
    daily = sum(web.visit(page, 1.0) for page in web.pages) / 10_000
    assert daily == pytest.approx(sum(-math.expm1(-page.rate) for page in web.pages) / 10_000, abs=0.02)


def test_a_mixed_web_has_pages_of_every_nature_with_their_own_rates() -> None:
    web = grown(2_000, "mixed")
    changes = dict.fromkeys(Nature, 0.0)
    for step in range(1, 1441):
        for page in web.pages[::10]:
            changes[page.nature] += web.visit(page, step / 8)
    counts = {nature: sum(page.nature is nature for page in web.pages[::10]) for nature in Nature}
    assert changes[Nature.DAILY] / counts[Nature.DAILY] == pytest.approx(180, abs=1)
    assert 20 < changes[Nature.BURSTY] / counts[Nature.BURSTY] < 100
    late = {page.nature for page in web.pages if math.isinf(page.stale_at)}
    assert late == {Nature.DEAD}


def test_every_policy_is_simulated_and_results_are_given_by_nature() -> None:
    for name in ("uniform", "paper", "tree", "age", BEST):
        result = simulated(name, Simulation(300, 40.0, 20.0, 100.0, 1, "mixed", has_links=True))
        assert {share.nature for share in result.natures} == set(Nature)
        assert 0 < result.freshness < 1 and len(result.ages_by_day) == 40


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    one, same, other = (simulated("age", plan(3.0, 200, 30.0, seed=seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_links_and_parents_of_pages_agree() -> None:
    for page in range(250):
        assert all(parent_of(link) == page for link in links_of(page, 250))
    linked = [link for page in range(250) for link in links_of(page, 250)]
    assert len(linked) == len(set(linked)) == 250 - 3


def test_the_command_prints_a_list_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["simulate", "--pages", "150", "--days", "30", "--seed", "3", "--json", "--plot", str(tmp_path / "a.svg")]
    assert cli.app(words, result_action="return_value") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["policy"] for one in found] == ["uniform", "paper", "age", "optimum"]
    assert all(one["average_age_days"] > 0 and 0 < one["freshness"] < 1 for one in found)
    assert all(one["budget_per_day"] == 50 for one in found)
    drawn = etree.fromstring((tmp_path / "a.svg").read_bytes())
    names = [text.text for text in drawn.iter("{*}text")]
    assert {"uniform", "paper", "age", "optimum"} <= set(names)


def test_the_command_prints_policies_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--policy", "age", "uniform", "--pages", "150", "--days", "30", "--web", "mixed"]
    assert cli.app(words, result_action="return_value") == 0
    text = capsys.readouterr().out
    assert "150 pages, 50 fetches a day" in text and "bursty" in text and "* age   o uniform" in text


def test_a_web_with_one_page_that_never_changes_can_be_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.app(["simulate", "--pages", "1", "--days", "90"], result_action="return_value") == 0
    assert "optimum" in capsys.readouterr().out


@pytest.mark.parametrize(
    "invalid",
    [
        Simulation(0, 10.0, 5.0, 1.0, 1),
        Simulation(10, 0.5, 0.2, 1.0, 1),
        Simulation(10, 10.0, 11.0, 1.0, 1),
        Simulation(10, 10.0, 5.0, 0.0, 1),
        Simulation(10, 10.0, 5.0, float("nan"), 1),
    ],
)
def test_an_invalid_simulation_is_refused(invalid: Simulation) -> None:
    with pytest.raises(ConfigError):
        checked(invalid)


def test_an_empty_plot_is_valid() -> None:
    assert "day 0" in in_terminal({"age": ()})
    assert etree.fromstring(as_svg({"<age>": (), "even": (0.0, 1.0)}, "a & b").encode()) is not None


def test_a_result_is_frozen() -> None:
    assert Result.__struct_config__.frozen
