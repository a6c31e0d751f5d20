"""Collections with older versions: captures of changing pages, read and archived with the product's own code."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SECOND, Instant, from_words
from gossamer.base.environment import Outside, real_outside
from gossamer.base.tell import silent
from gossamer.collection.history.reader import HistoryReader
from gossamer.reader.reading import done, version_job
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.values.capture import Capture, Kept
from gossamer.values.history import Original
from gossamer.values.messages import Keep, ReadJob, kept_at
from gossamer.values.url import Url

START_AT: Instant = from_words("2026-11-01T08:00:00Z")
HOUR: Instant = 3600 * SECOND
DAY: Instant = 24 * HOUR
SHOP = Url("https://shop.test/kettle")


def captured(url: Url, at: Instant, body: str | bytes, status: int = 200, **fields: str) -> Capture:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    octets = body.encode() if isinstance(body, str) else body
    return Capture(url, at, status, "OK", tuple(headers.items()), octets, "20.0.0.1", took_s=0.1)


def kettle(price: str = "20.00", words: str = "A kettle that whistles.", menu: str = "", name: str = "Kettle") -> str:
    """The page of a product; its offer is a blank node."""
    seller = '{"@type": "Organization", "name": "Pots"}'
    offer = f'{{"@type": "Offer", "price": "{price}", "priceCurrency": "EUR", "seller": {seller}}}'
    facts = f'{{"@context": "http://schema.org/", "@type": "Product", "name": "{name}", "offers": {offer}}}'
    return (
        f'<!doctype html><html lang="en"><head><title>{name}</title>'
        f'<script type="application/ld+json">{facts}</script></head><body><nav>{menu}</nav><main><h1>{name}</h1>'
        f"<p>{words}</p><p>It is made of steel, holds two litres and has been sold here for a long time.</p>"
        "<p>Boiling takes four minutes on any stove that one can buy today.</p></main></body></html>"
    )


def keep(directory: Directory, taken: Sequence[Capture], agent: str = "gossamer") -> list[Kept]:
    """Read and archive them in this order, as an import does."""
    return asyncio.run(kept_in(directory, taken, agent))


async def kept_in(
    directory: Directory, taken: Sequence[Capture], agent: str = "gossamer", keep: Keep = "all"
) -> list[Kept]:
    outside = real_outside()
    for folder in directory.folders():
        outside.files.make_folder(folder)
    volumes = Volumes(outside.files, directory.archive, outside.clock, silent)
    volumes.open()
    kept: list[Kept] = []
    for capture in taken:
        is_page = 200 <= capture.status < 300
        pages = [one for one in kept if one.url == capture.url and one.is_page]
        newest = Original(capture.url.text, pages[-1].fetched_at, pages[-1].digest) if pages else None
        original = newest if capture.status == 304 else None
        read = done(ReadJob(capture, "read" if is_page else "store", keep, agent, original=original))
        kept.append(kept_at(volumes.append(read.record), capture, read))
    volumes.close()
    async with Database(directory.state, outside.clock, silent) as database:
        await database.run(partial(captures.insert, kept=kept))
    return kept


def past(directory: Directory, outside: Outside | None = None) -> HistoryReader:
    """Jobs run in this process: the limits of the workers have their own tests."""

    async def call(payload: bytes) -> bytes:
        return version_job(payload)

    return HistoryReader(directory, outside or real_outside(), "gossamer", call)


def collection(root: Path, taken: Sequence[Capture]) -> Directory:
    directory = Directory(root)
    keep(directory, taken)
    return directory
