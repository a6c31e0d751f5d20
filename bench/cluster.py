"""What a page costs on a cluster beside the same crawl on one machine, embedded.

`python -m bench.cluster [--pages N] [--nodes 1 3] [--statements]`: crawls one demonstration web embedded and then by
so many nodes, with PostgreSQL, an S3 server, OpenSearch and a SPARQL server on this machine, and prints the CPU time of
a page by part and by service, and the bytes that services sent and received. `--statements` adds what each statement
took in PostgreSQL.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from tests.cluster.harness import SETTINGS, TestCluster, cluster
from tests.cluster.services import Services, why_absent
from tests.cluster.web import ServedWeb, WebPlan, served

from bench.measure import part_of, run
from gossamer.base.clock import SECOND

PAGES_A_HOST = 25
"""Few, so that gaps between fetches do not hold up the crawl; and groups of pages are as large as in a wide crawl."""
USUAL = SETTINGS | {"archive.segment_s": "1.0", "politeness.delay_s": "1.0"}
"""As they are without being set: what makes tests quick makes a page dear."""
Costs = dict[str, float]
"""CPU microseconds a page, by part."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--statements", action="store_true")
    given = parser.parse_args()
    if why := why_absent():
        sys.exit(f"a cluster needs its services: {why}")
    plan = WebPlan(max(12, given.pages // PAGES_A_HOST), given.pages)
    table: dict[str, Costs] = {"embedded": embedded(plan)}
    for nodes in given.nodes:
        table[f"nodes: {nodes}"] = clustered(plan, nodes, given.statements)
    print_table(table)


def embedded(plan: WebPlan) -> Costs:
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder, served(Path(folder) / "web", plan) as web:
        root = Path(folder) / "collection"
        root.mkdir()
        (root / "gossamer.toml").write_text(as_toml(USUAL))
        measured = run("tests.cluster.crawler", [str(web.file), str(root)], every_s=0.5)
        assert measured.exit_code == 0, measured.output[-2000:]
        pages = fetched(web)
        parts: Counter[str] = Counter()
        for name, used_s in measured.cpu_by_part.items():
            parts[name.split()[0]] += used_s  # type: ignore[assignment]
        parts["crawler"] += measured.cpu_s - sum(parts.values())  # type: ignore[assignment]
        return per_page(parts, pages) | {"pages/s": pages / measured.wall_s}


def as_toml(settings: dict[str, str]) -> str:
    lines = []
    for name, value in settings.items():
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(f"x = {value}")
            lines.append(f"{name} = {value}")
            continue
        lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def as_keywords(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "__"): value for name, value in settings.items()}


def fetched(web: ServedWeb) -> int:
    return sum(hit.target != "/robots.txt" for hit in web.hits())


def per_page(used_s: dict[str, Any], pages: int) -> Costs:
    return {name: 1e6 * seconds / pages for name, seconds in used_s.items()}


def clustered(plan: WebPlan, nodes: int, has_statements: bool) -> Costs:
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as temporary:
        folder = Path(temporary)
        with (
            Services(counts=has_statements) as services,
            served(folder / "web", plan) as web,
            cluster(services, web, folder, **as_keywords(USUAL)) as running,
        ):
            if has_statements:
                watch_statements(services)
            for _ in range(nodes):
                running.add("--roles", "crawl,index")
            running.wait_until(lambda: all(node.of("tests.cluster.crawler") for node in running.nodes), "crawlers")
            started = used(running)
            before, served_before = services.cpu_s(), passed(services)
            running.seed()
            running.wait_until_over()
            pages, hits = fetched(web), web.hits()
            costs = per_page(used(running) - started, pages)
            costs |= per_page({name: spent - before[name] for name, spent in services.cpu_s().items()}, pages)
            costs |= {f"{name}, bytes": (n - served_before[name]) / pages for name, n in passed(services).items()}
            if has_statements:
                print_statements(services, pages)
            return costs | {"pages/s": pages * SECOND / (hits[-1].asked_at - hits[0].asked_at)}


def used(running: TestCluster) -> "Counter[str]":
    """CPU seconds of the processes of all nodes, by part."""
    found: Counter[str] = Counter()
    for node in running.nodes:
        for one in node.tree():
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                found[part_of(one)] += times.user + times.system
    return found


def passed(services: Services) -> dict[str, int]:
    return {name: proxy.passed for name, proxy in services.proxies.items()}


def watch_statements(services: Services) -> None:
    with psycopg.connect(services.database.primary.local, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")


def print_statements(services: Services, pages: int) -> None:
    sql = (
        "SELECT total_exec_time, calls, rows, regexp_replace(query, '\\s+', ' ', 'g') FROM pg_stat_statements "
        "ORDER BY total_exec_time DESC LIMIT 40"
    )
    with psycopg.connect(services.database.primary.local, autocommit=True) as connection:
        for took_ms, calls, rows, query in connection.execute(sql).fetchall():
            print(f"{1000 * took_ms / pages:8.1f} us/page {calls:8} calls {rows:9} rows  {query[:110]}")


def print_table(table: dict[str, Costs]) -> None:
    names: Sequence[str] = list(dict.fromkeys(name for costs in table.values() for name in costs))
    print(f"{'a page':18}" + "".join(f"{column:>14}" for column in table))
    for name in names:
        cells = (f"{costs[name]:14,.0f}" if name in costs else f"{'':14}" for costs in table.values())
        print(f"{name:18}" + "".join(cells))


if __name__ == "__main__":
    main()
