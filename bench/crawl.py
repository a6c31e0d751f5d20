"""Pages per CPU-second on the same web: Gossamer with everything on, compared with Scrapy that only follows links.

    python -m bench.crawl --pages 100000 --hosts 120

Both crawl the benchmark web from nginx on loopback with no delay. CPU is that of each crawler and all its children;
nginx's is not counted. It fails unless both fetched the same pages and Gossamer's facts equal the manifest. The last
line is `ratio N`.

Each crawler runs on one CPU with all its processes, and nginx on the others: where two CPUs are threads of one core,
a second busy process makes every CPU-second of the first worth a third less, and only one of the two crawlers has a
second process. `--all-cpus` lets them use every CPU. `--rounds 3` alternates between them: on a shared host the speed
of the machine changes from minute to minute, which should affect both alike.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Measured, compile_once, run
from bench.nginx import Serving, serving
from bench.web import DOMAIN, PORT, BenchManifest, Size, read_manifest, write_web
from gossamer.base.files import DiskFiles
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.views.facts.checkpoints import newest
from gossamer.views.facts.store import opened, page_facts
from gossamer.views.words.searcher import Searcher

OUT = Path(__file__).parent / "out"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of the benchmark web under one scheme."""

    manifest: BenchManifest
    scheme: str

    def all(self) -> list[str]:
        return [self._with_scheme(url) for url in self.manifest.urls]

    def starts(self) -> list[str]:
        return [self._with_scheme(host.start) for host in self.manifest.hosts]

    def _with_scheme(self, url: str) -> str:
        return f"{self.scheme}:{url.removeprefix('http:')}"


def digest(urls: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(urls)).encode()).hexdigest()


def the_web(size: Size) -> tuple[Path, BenchManifest]:
    root = OUT / f"web-{size.hosts}-{size.pages}-{size.seed}"
    if not (root / "manifest.json").is_file():
        print(f"writing {size.pages:,} pages on {size.hosts} hosts ...", flush=True)
        write_web(size, root)
    return root, read_manifest(root)


def gossamer(addresses: Addresses, served: Serving, work: Path, cpu: int | None) -> tuple[Measured, dict[str, object]]:
    """Crawl, then compare the collection with the manifest; the checks are not measured."""
    directory = Directory(work / f"gossamer-{addresses.scheme}")
    shutil.rmtree(directory.root, ignore_errors=True)
    seeds = work / "seeds.txt"
    seeds.write_text("\n".join(addresses.starts()))
    arguments = ["--seeds", str(seeds), "--dir", str(directory.root), "--port", str(PORT)]
    if addresses.scheme == "https":
        arguments += ["--authority", str(served.authority)]
    measured = run("bench.gossamer_side", arguments, cpu)
    if measured.exit_code:
        sys.exit(f"gossamer ended with exit code {measured.exit_code}")
    report: dict[str, object] = json.loads(measured.output.splitlines()[-1])
    check(directory, addresses)
    return measured, report


def check(directory: Directory, addresses: Addresses) -> None:
    wanted = addresses.all()
    with closing(read_only(directory.state)) as state:
        pages = [kept.url.text for kept in captures.pages(state)]
    if digest(pages) != digest(wanted):
        lost = sorted(set(wanted) - set(pages))[:3]
        sys.exit(f"gossamer kept {len(pages):,} pages of {len(wanted):,}; missing, for example: {lost}")
    searcher = Searcher(directory.index)
    searcher.open()
    if searcher.pages != len(wanted):
        sys.exit(f"{searcher.pages:,} pages can be found of {len(wanted):,}")
    checkpoint = newest(DiskFiles(), directory.checkpoints)
    facts = sum(piece.count(b"\n") for piece in page_facts(opened(checkpoint.folder))) if checkpoint else 0
    if facts != addresses.manifest.facts:
        sys.exit(f"the graph holds {facts:,} facts, and the manifest says {addresses.manifest.facts:,}")


def scrapy(addresses: Addresses, work: Path, cpu: int | None) -> Measured:
    arguments = ["--seeds", str(work / "seeds.txt"), "--domain", DOMAIN]
    measured = run("bench.scrapy_side", arguments, cpu)
    report = json.loads(measured.output.splitlines()[-1])
    if report["digest"] != digest(addresses.all()):
        sys.exit(f"scrapy fetched {report['pages']:,} pages, and not those of the manifest: no comparison")
    return measured


def row(name: str, measured: Measured, pages: int) -> None:
    rate = pages / measured.cpu_s
    print(
        f"{name:18} {rate:8.1f} pages per CPU-second   {measured.cpu_s:8.1f} CPU s   {measured.wall_s:7.1f} s   "
        f"{pages / measured.wall_s:7.1f} pages/s   {measured.peak_mib:6.0f} MiB at most",
        flush=True,
    )


def parts(measured: Measured) -> str:
    totals: dict[str, float] = {}
    for name, seconds in measured.cpu_by_part.items():
        part = name.split()[0]
        totals[part] = totals.get(part, 0.0) + seconds
    return ", ".join(f"{part} {seconds:.1f} s" for part, seconds in sorted(totals.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-tls", action="store_true", help="leave out the second run over TLS")
    parser.add_argument("--without-scrapy", action="store_true", help="to see where our time goes; no ratio")
    parser.add_argument("--all-cpus", action="store_true", help="do not limit each crawler to one CPU")
    parser.add_argument("--rounds", type=int, default=1, help="crawls by each, in turns")
    given = parser.parse_args()
    root, manifest = the_web(Size(given.hosts, given.pages, given.seed))
    work = OUT / "work"
    work.mkdir(parents=True, exist_ok=True)
    print(
        f"Python {platform.python_version()}, {platform.machine()}; {manifest.pages:,} pages, {manifest.facts:,} facts"
    )
    cpu = None if given.all_cpus else the_cpu()
    print(f"each crawler on {'all CPUs' if cpu is None else f'CPU {cpu}'} of {os.cpu_count()}")
    compile_once(
        "bench.gossamer_side",
        "bench.scrapy_side",
        "gossamer.reader.reading",
        "gossamer.indexer.process",
        "gossamer.indexer.graph_process",
    )
    turns = Turns(given.rounds, not given.without_scrapy, cpu)
    ratio = compare(Addresses(manifest, "http"), root, work, (), turns)
    if not given.without_tls:
        names = [host.name for host in manifest.hosts]
        over_tls = compare(Addresses(manifest, "https"), root, work, names, turns)
        if over_tls is not None:
            print(f"over TLS the ratio is {over_tls:.2f}")
    if ratio is not None:
        print(f"ratio {ratio:.2f}")


def the_cpu() -> int | None:
    """The CPU of the crawlers; this process and nginx use the others. None if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) == 1:
        return None
    os.sched_setaffinity(0, set(allowed[1:]))
    return allowed[0]


@dataclass(frozen=True, slots=True)
class Turns:
    rounds: int
    with_scrapy: bool
    cpu: int | None


def compare(addresses: Addresses, root: Path, work: Path, tls_names: Sequence[str], turns: Turns) -> float | None:
    """The ratio over all rounds: Scrapy's CPU-seconds divided by ours."""
    ours, theirs = 0.0, 0.0
    with serving(root, work / "nginx", PORT, tls_names=tls_names) as served:
        for _ in range(turns.rounds):
            ours += our_turn(addresses, served, work, turns.cpu)
            theirs += their_turn(addresses, work, turns.cpu) if turns.with_scrapy else 0.0
    return theirs / ours if turns.with_scrapy else None


def our_turn(addresses: Addresses, served: Serving, work: Path, cpu: int | None) -> float:
    measured, report = gossamer(addresses, served, work, cpu)
    row(f"gossamer, {addresses.scheme}", measured, addresses.manifest.pages)
    behind = f"words behind by {report['worst_lag_s']:.1f} s at worst, facts by {report['worst_facts_lag_s']:.1f} s"
    print(f"  by part: {parts(measured)}; {behind}", flush=True)
    return measured.cpu_s


def their_turn(addresses: Addresses, work: Path, cpu: int | None) -> float:
    measured = scrapy(addresses, work, cpu)
    row(f"scrapy, {addresses.scheme}", measured, addresses.manifest.pages)
    return measured.cpu_s


if __name__ == "__main__":
    main()
