"""`gossamer simulate`: compares revisit policies before a single page is fetched."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Json
from gossamer.cli.output import Progress, console, table
from gossamer.cli.tools.plots import as_svg, in_terminal
from gossamer.lab.simulation import BEST, Result, Simulation, simulated
from gossamer.values.format import as_json

Named = Literal["uniform", "paper", "tree", "age", "optimum"]
SIDE_BY_SIDE: tuple[Named, ...] = ("uniform", "paper", "age", "optimum")
EVERY_DAYS = 3.0


def simulate(
    *,
    policy: Annotated[
        tuple[Named, ...],
        Parameter(
            consume_multiple=True,
            help="The policies to compare; may be repeated. optimum knows the true rates, which no real crawler does.",
        ),
    ] = SIDE_BY_SIDE,
    days: Annotated[float, Parameter(help="How long the virtual clock runs.")] = 180.0,
    count: Annotated[float | None, Parameter(help="Count only so many days at the end; a third if not given.")] = None,
    pages: Annotated[int, Parameter(help="Pages of the synthetic web.")] = 100_000,
    budget: Annotated[
        float | None, Parameter(help="Fetches a day in total; one for each page every 3 days if not given.")
    ] = None,
    seed: Annotated[int, Parameter(help="Random seed; the same seed gives the same web.")] = 1,
    web: Annotated[
        Literal["measured", "mixed"],
        Parameter(help="measured: rates of change as found on the real web. mixed: bursty, daily and dead pages too."),
    ] = "measured",
    links: Annotated[bool, Parameter(help="paper also fetches pages whose links changed (its 40 % rule).")] = False,
    plot: Annotated[Path | None, Parameter(help="Write the ages over time to this SVG file.")] = None,
    json: Json = False,
) -> int:
    fetches = budget if budget is not None else pages / EVERY_DAYS
    plan = checked(Simulation(pages, days, count if count is not None else days / 3.0, fetches, seed, web, links))
    outside = real_outside()
    with Progress("simulating", outside.clock) as progress:
        results = [simulated(name, plan, partial(show_share, progress, name)) for name in dict.fromkeys(policy)]
    curves = {one.policy: one.ages_by_day for one in results}
    if plot is not None:
        title = f"Average age in days, {plan.pages:,} pages, {plan.budget:,.0f} fetches a day"
        outside.files.write(plot, as_svg(curves, title).encode())
    if json:
        print(as_json(results))
        return 0
    show(results, plan)
    print(in_terminal(curves))
    if plot is not None:
        print(f"\nThe plot is in {plot}.")
    return 0


def show_share(progress: Progress, name: str, done: float) -> None:
    progress.show(f"simulating {name}: {done:.0%}")


def checked(plan: Simulation) -> Simulation:
    """Raises ConfigError for a plan that cannot be simulated."""
    if plan.pages < 1:
        raise ConfigError(f"--pages {plan.pages}: at least 1 is needed")
    if not 1.0 <= plan.days <= 36_500.0:
        raise ConfigError(f"--days {plan.days:g}: from 1 to 36500")
    if not 0.0 < plan.counted_days <= plan.days:
        raise ConfigError(f"--count {plan.counted_days:g}: more than 0, and not more than --days")
    if not plan.pages / 10_000.0 <= plan.budget <= plan.pages * 100.0:
        raise ConfigError(f"--budget {plan.budget:g}: between one fetch in 10,000 days and 100 a day for each page")
    return plan


def show(results: list[Result], plan: Simulation) -> None:
    title = (
        f"{plan.pages:,} pages, {plan.budget:,.0f} fetches a day, {plan.days:g} days of which the last "
        f"{plan.counted_days:g} count"
    )
    by_name = {one.policy: one for one in results}
    policies = table(
        "policy",
        ">age, days",
        ">fresh",
        ">vs. uniform",
        ">of possible gain",
        ">fetches/day",
        ">longest gap, days",
        title=title,
    )
    for one in results:
        policies.add_row(
            one.policy,
            f"{one.average_age_days:.3f}",
            f"{one.freshness:.1%}",
            *_against(one, by_name),
            f"{one.visits_per_day:,.0f}",
            f"{one.longest_gap_days:.1f}",
        )
    console().print(policies)
    if len(results[0].natures) > 1:
        console().print(by_nature(results))


def by_nature(results: list[Result]) -> Table:
    natures = [f">{share.nature} ({share.pages:,})" for share in results[0].natures]
    ages = table("policy", *natures, title="Age in days, by type of page")
    for one in results:
        ages.add_row(one.policy, *(f"{share.average_age_days:.3f}" for share in one.natures))
    return ages


def _against(one: Result, by_name: dict[str, Result]) -> tuple[str, str]:
    even, best = by_name.get("uniform"), by_name.get(BEST)
    if even is None or one is even or not even.average_age_days:
        return "", ""
    won = even.average_age_days - one.average_age_days
    part = f"{-won / even.average_age_days:+.1%}"
    if best is None or one is best or even.average_age_days <= best.average_age_days:
        return part, ""
    return part, f"{won / (even.average_age_days - best.average_age_days):.0%}"
