"""Gossamer with everything on, in a process of its own: robots, archive, extraction, all views.

Prints one JSON line: how far the views were behind at worst, and the results of the crawl.
"""

import argparse
import json
from pathlib import Path

import uvloop

from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.config.settings import CrawlSettings, FetchSettings, PolitenessSettings, Settings
from gossamer.crawler.heartbeat import Tally
from gossamer.store.directory import Directory
from gossamer.values.url import Url


class LagDisplay:
    """A display that shows nothing and records how far words and facts were behind."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self.lags: list[float] = [0.0]
        self.facts_lags: list[float] = [0.0]

    def heard(self, event: str, facts: dict[str, object]) -> None:
        pass

    def beat(self) -> None:
        self.lags.append(self._tally.lag_s)
        self.facts_lags.append(self._tally.facts_lag_s)

    def close(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--dir", required=True, type=Path)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--authority", help="PEM file of the certificate authority, for TLS")
    given = parser.parse_args()
    seeds = [Url(line) for line in Path(given.seeds).read_text().split()]
    plan = AddressPlan({seed.hostname: {given.port: given.port} for seed in seeds})
    settings = Settings(
        contact="https://bench.test/",
        crawl=CrawlSettings(scope="host"),
        politeness=PolitenessSettings(delay_s=0.0, times_took=0.0),
        fetch=FetchSettings(tls_authorities=given.authority),
    )
    outside = real_outside()
    tally = Tally(outside.clock)
    display = LagDisplay(tally)
    uvloop.run(crawl_to_end(Directory(given.dir), settings, seeds, Network(plan, plan), outside, display, tally))
    ordered = sorted(display.lags)
    print(
        json.dumps(
            {
                "pages": tally.pages,
                "outcomes": dict(tally.reasons),
                "worst_lag_s": ordered[-1],
                "median_lag_s": ordered[len(ordered) // 2],
                "worst_facts_lag_s": max(display.facts_lags),
            }
        )
    )


if __name__ == "__main__":
    main()
