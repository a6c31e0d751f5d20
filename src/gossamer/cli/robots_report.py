"""What `gossamer robots` found, and how it is told: to people, and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from gossamer.cli.inspection import counted, plain
from gossamer.rules.robots import Explained, RobotsNotice
from gossamer.rules.robots import in_words as rule_in_words
from gossamer.values.robots import Robots, RobotsRule, RobotsState

MOST_SHOWN = 50
"""Rules or sitemaps; JSON has them all."""
STATES = {
    RobotsState.READ: "read",
    RobotsState.MISSING: "there is none: everything may be fetched",
    RobotsState.UNREACHABLE: "it could not be read: nothing may be fetched for now",
    RobotsState.PENDING: "endless redirects",
}


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One hop."""

    url: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RobotsReport:
    """A robots.txt that was looked at."""

    name: str
    agent: str
    robots: Robots
    oddities: tuple[RobotsNotice, ...] = ()
    asked: tuple[RobotsHop, ...] = ()
    """Where it was asked for, in order; nothing for a file."""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Tested:
    url: str
    is_allowed: bool
    explained: Explained


def show(found: RobotsReport, tests: Sequence[Tested], console: Console) -> None:
    for line in lines_of(found):
        console.print(line, soft_wrap=True)
    for one in tests:
        console.print(_test_line(one), soft_wrap=True)


def lines_of(found: RobotsReport) -> list[Text]:
    robots = found.robots
    size = f", {counted(found.size, 'byte')}" if robots.state is RobotsState.READ else ""
    lines = [Text.assemble((plain(found.name), "bold"), f": {STATES[robots.state]}{size}")]
    if len(found.asked) > 1 or robots.state is not RobotsState.READ:
        lines += [Text(f"  {plain(hop.url)}: {plain(hop.outcome)}") for hop in found.asked]
    if robots.state is not RobotsState.READ:
        return lines
    lines.append(Text(f"{plain(found.agent)}: {group_in_words(robots)}"))
    by_line = sorted(robots.rules, key=lambda rule: rule.line)
    lines += _cut([Text(f"  line {rule.line}: {plain(_rule(rule))}") for rule in by_line])
    if robots.crawl_delay_s is not None:
        lines.append(Text(f"crawl delay: {robots.crawl_delay_s:g} s"))
    if robots.recrawl_delay_s is not None:
        lines.append(Text(f"recrawl delay: {robots.recrawl_delay_s:g} s between two fetches of one page"))
    lines += _cut([Text(f"sitemap: {plain(sitemap)}") for sitemap in robots.sitemaps])
    if robots.signals:
        lines.append(Text("signals: " + plain(", ".join(f"{name}={value}" for name, value in robots.signals))))
    lines += [Text(f"{plain(name)}: {plain(value)}") for name, value in robots.extensions]
    return lines + [_oddity_line(found.name, oddity) for oddity in found.oddities]


def group_in_words(robots: Robots) -> str:
    if not robots.group:
        return "no group applies: everything may be fetched"
    places = ", ".join(map(str, robots.group_lines))
    where = f" ({'line' if len(robots.group_lines) == 1 else 'lines'} {places})" if places else ""
    return f"the group of {plain(robots.group)}{where}, {counted(len(robots.rules), 'rule')}"


def _rule(rule: RobotsRule) -> str:
    return f"{'Allow' if rule.allows else 'Disallow'}: {rule.pattern}"


def _cut(lines: list[Text]) -> list[Text]:
    if len(lines) <= MOST_SHOWN:
        return lines
    return [*lines[:MOST_SHOWN], Text(f"  ... and {len(lines) - MOST_SHOWN:,} more: see --json", style="dim")]


def _oddity_line(name: str, oddity: RobotsNotice) -> Text:
    """As compilers write it, so that editors can jump to the place."""
    where = f"{name}:{oddity.line}" if oddity.line is not None else name
    return Text.assemble((plain(where), "bold"), f": {plain(oddity.says)}", (f" [{oddity.kind}]", "dim"))


def _test_line(tested: Tested) -> Text:
    verdict = ("allowed    ", "green") if tested.is_allowed else ("not allowed", "bold red")
    return Text.assemble(verdict, f"  {plain(tested.url)}  ", (plain(tested.explained.because), "dim"))


def as_json(found: RobotsReport, tests: Sequence[Tested]) -> dict[str, object]:
    robots = found.robots
    return {
        "name": found.name,
        "state": robots.state.value,
        "asked": [{"url": hop.url, "outcome": hop.outcome} for hop in found.asked],
        "bytes": found.size,
        "agent": found.agent,
        "group": {"name": robots.group, "lines": robots.group_lines} if robots.group else None,
        "rules": [rule_as_json(rule) for rule in sorted(robots.rules, key=lambda rule: rule.line)],
        "crawl_delay_s": robots.crawl_delay_s,
        "recrawl_delay_s": robots.recrawl_delay_s,
        "sitemaps": robots.sitemaps,
        "signals": [{"name": name, "value": value} for name, value in robots.signals],
        "extensions": [{"name": name, "value": value} for name, value in robots.extensions],
        "flags": robots.flags,
        "oddities": found.oddities,
        "tests": [tested_as_json(one) for one in tests],
    }


def rule_as_json(rule: RobotsRule) -> dict[str, object]:
    return {"line": rule.line, "allows": rule.allows, "pattern": rule.pattern, "says": rule_in_words(rule)}


def tested_as_json(tested: Tested) -> dict[str, object]:
    explained = tested.explained
    return {
        "url": tested.url,
        "allowed": tested.is_allowed,
        "because": explained.because,
        "rule": rule_as_json(explained.rule) if explained.rule else None,
        "candidates": [rule_as_json(rule) for rule in explained.candidates],
    }
