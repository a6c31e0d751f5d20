"""`gossamer plan`: what a crawl of a given size needs, before it starts."""

import os
import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import structs

from gossamer.archive.directories import with_archive
from gossamer.base.clock import DAY_S
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Json, folder_given
from gossamer.cli.output import console, figures
from gossamer.collection.directory import existing
from gossamer.lab.plan import KB, CrawlPlan, Measured, Wish, measured_in, planned
from gossamer.store.directory import Directory
from gossamer.values.format import as_json, counted, lasting

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([kmgb]?)", re.IGNORECASE)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "b": 1_000_000_000}


def plan(
    *,
    pages: Annotated[str | None, Parameter(help="Number of pages: 50000, 20k, 1M.")] = None,
    hosts: Annotated[str | None, Parameter(help="Number of hosts.")] = None,
    delay: Annotated[float, Parameter(help="Minimum seconds between two requests to one host.")] = 1.0,
    times_took: Annotated[
        float, Parameter(help="The gap is at least this many times the response time (politeness.times_took).")
    ] = 10.0,
    page_kb: Annotated[float | None, Parameter(help="Mean size of a page; 80 kB unless measured.")] = None,
    largest: Annotated[
        str | None, Parameter(help="Pages of the largest host; without it all are the same size.")
    ] = None,
    days: Annotated[float | None, Parameter(help="The time available: shows whether it is enough.")] = None,
    latency: Annotated[float, Parameter(help="Mean seconds until a response starts.")] = 0.2,
    rate_kb: Annotated[float, Parameter(help="Kilobytes per second of one response.")] = 1000.0,
    mbit: Annotated[
        float | None, Parameter(help="Bandwidth of the connection in Mbit/s, if it may be the limit.")
    ] = None,
    cores: Annotated[int | None, Parameter(help="Processor cores; those of this machine if not given.")] = None,
    at_once: Annotated[int, Parameter(help="Concurrent fetches (the setting crawl.at_once).")] = 128,
    dir: Annotated[
        Path | None,
        Parameter(help="Use averages, or the remaining work, from this collection.", converter=folder_given),
    ] = None,
    json: Json = False,
) -> int:
    measured = measured_from(existing(dir)) if dir is not None else Measured()
    wish = Wish(
        pages=_amount("pages", pages, measured.queued),
        hosts=_amount("hosts", hosts, measured.hosts),
        delay_s=_at_least("delay", delay, 0.0),
        times_took=_at_least("times-took", times_took, 0.0),
        page_bytes=round(_at_least("page-kb", page_kb, 0.001) * KB) if page_kb is not None else measured.page_bytes,
        latency_s=_at_least("latency", latency, 0.0),
        rate_bytes=_at_least("rate-kb", rate_kb, 0.001) * KB,
        addresses_per_page=measured.addresses_per_page,
        largest=None if largest is None else _amount("largest", largest, None),
        cores=round(_at_least("cores", cores if cores is not None else os.cpu_count() or 1, 1)),
        days=None if days is None else _at_least("days", days, 1e-6),
        bandwidth_bits=None if mbit is None else _at_least("mbit", mbit, 1e-6) * 1e6,
        at_once=round(_at_least("at-once", at_once, 1)),
        disk_share=measured.shares,
    )
    found = planned(wish)
    if json:
        print(as_json(found))
    else:
        show(found, measured)
    return 1 if found.fits is False else 0


def measured_from(directory: Directory) -> Measured:
    return measured_in(directory, with_archive(directory, real_outside()))


def _amount(name: str, given: str | None, measured: int | None) -> int:
    if given is None:
        if measured is None:
            raise ConfigError(f"give the number of {name}: gossamer plan --pages 1M --hosts 2000")
        return measured
    found = _AMOUNT.fullmatch(given.replace(",", "").replace("_", "").strip())
    number = round(float(found[1]) * _TIMES[found[2].lower()]) if found else 0
    if not 1 <= number <= 10**13:
        raise ConfigError(f"--{name} {given!r} is not a number of {name}; write 50000, 20k or 1M")
    return number


def _at_least(name: str, given: float, least: float) -> float:
    if not least <= given < float("inf"):
        raise ConfigError(f"--{name} cannot be {given:g}; the minimum is {least:g}")
    return given


def show(found: CrawlPlan, measured: Measured) -> None:
    wish, out = found.wish, console()
    size = f"{wish.page_bytes / KB:,.0f} kB"
    out.print(f"{counted(wish.pages, 'page')} of {size} on {counted(wish.hosts, 'host')}", style="bold")
    table = figures()
    table.columns[0].justify = "left"
    first = found.limits[0]
    table.add_row("time", f"{lasting(found.takes_s)}, {found.pages_per_s:,.3g} pages per second")
    table.add_row("bottleneck", f"{first.name}: {first.says}")
    for limit in found.limits[1:]:
        table.add_row("", f"{limit.name} alone would take {lasting(limit.takes_s)}: {limit.says}", style="dim")
    table.add_row("bandwidth", f"{found.bandwidth_bits / 1e6:,.3g} Mbit/s")
    table.add_row("connections", f"{found.connections:,} open at the same time on average")
    table.add_row("hosts", f"{found.hosts_wanted:,} busy at the same time; {wish.hosts:,} given")
    parts = ", ".join(f"{name} {sized(size)}" for name, size in structs.asdict(found.disk).items())
    table.add_row("disk", f"{sized(found.disk_bytes)}: {parts}")
    table.add_row("memory", f"{sized(found.memory_bytes)} in all processes")
    if found.fits is not None and wish.days is not None:
        table.add_row("fits", f"{'yes' if found.fits else 'no'}, {lasting(wish.days * DAY_S)} available")
    for words in found.advice:
        table.add_row("advice", words)
    out.print(table)
    if measured.shares is not None:
        out.print(f"averages of {measured.pages:,} pages crawled into the directory", style="dim")


def sized(number: float) -> str:
    """Bytes in a readable unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return f"{number:,.3g} {unit}"
        number /= 1000
    return f"{number:,.4g} PB"
