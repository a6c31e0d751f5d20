"""FAULTS C1 to C5: hostile and damaged documents cost at most the reader that has them, and reach nothing outside."""

import asyncio
import os
from collections import Counter

import msgspec
import pytest
from tests.hostile.harness import Witness
from tests.hostile.spoiled_documents import Case, every_case
from tests.parse.documents.samples import letter, mail, pdf, samples, spoiled

from gossamer.base.clock import SECOND
from gossamer.base.environment import real_outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.config.settings import ReaderSettings, Settings
from gossamer.parse.documents.converter import convert
from gossamer.parse.documents.draft import MOST_BLOCKS, MOST_CHARACTERS, MOST_LINKS
from gossamer.parse.sniff import media_type_of
from gossamer.reader.documents import copied
from gossamer.reader.reading import read
from gossamer.values.capture import Capture
from gossamer.values.document import DOCX, DocumentText
from gossamer.values.messages import CopyJob, ReadDone, ReadJob, parts_of
from gossamer.values.url import Url
from gossamer.workers.jobs import reader_pool

CASES = every_case()
DONE = msgspec.msgpack.Decoder(ReadDone)
SETTINGS = Settings(readers=ReaderSettings(count=2, wall_s=600.0))
"""The wall clock of a busy machine decides nothing here: CPU time and memory are limited as usual."""
MOST_LOST = 5
STEP = int(os.environ.get("DOCUMENTS_STEP", "4"))
"""Every how many documents of the catalogue are read by the pool; `make documents` reads all."""


def capture_of(body: bytes, media_type: str, number: int = 0) -> Capture:
    headers = (("Content-Type", media_type),)
    return Capture(
        Url(f"http://a.test/{number}"), 1_700_000_000 * SECOND + number, 200, "OK", headers, body, "20.0.0.1"
    )


def test_the_catalogue_has_at_least_200_documents() -> None:
    names = [name for name, _, _ in CASES]
    assert len(names) == len(set(names)) >= 200


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_F_C1_to_C5_every_document_of_the_catalogue_costs_at_most_its_own_reader() -> None:
    ended: Counter[str] = Counter()

    async def read_all() -> list[str]:
        lost = []
        async with reader_pool(SETTINGS, real_outside(), silent) as pool:
            for number, (name, media_type, make) in enumerate(CASES[::STEP]):
                job = b"".join(parts_of(ReadJob(capture_of(make(), media_type, number))))
                try:
                    done = DONE.decode(await pool.call(job))
                except WorkerLost as trouble:
                    lost.append(f"{name}: {trouble}")
                else:
                    ended["text" if done.is_page else "none"] += 1
                    assert done.record and (done.is_page or "not-text" in done.flags), name
                # the pool serves the next page
                good = DONE.decode(await pool.call(b"".join(parts_of(ReadJob(capture_of(letter(), DOCX, number))))))
                assert good.is_page and good.title == "The title"
            barriers = pool.barriers
            assert barriers is not None and barriers.is_network_closed and barriers.memory and barriers.cpu
        return lost

    lost = asyncio.run(read_all())
    assert STEP * ended["text"] >= 100 and STEP * ended["none"] >= 50
    assert len(lost) <= MOST_LOST, "\n".join(lost)


def test_F_C3_no_document_connects_or_resolves_a_name() -> None:
    asking = ("10.255", "outside", "external", "loads", "starts", "JavaScript", "remote", "climbs", "climb", "loading")
    chosen: list[Case] = [case for case in CASES if any(word in case[0] for word in asking)]
    assert len(chosen) >= 12
    with Witness() as seen:
        for _, media_type, make in chosen:
            convert(make(), media_type)
    assert seen.connected == seen.resolved == []


@pytest.mark.parametrize("name", ["docx of 3 million runs", "docx of 2 million paragraphs", "csv of one row"])
def test_a_limit_cuts_the_text_and_says_so(name: str) -> None:
    media_type, make = next((kind, make) for one, kind, make in CASES if one == name)
    found = convert(make(), media_type)
    assert isinstance(found, DocumentText) and "document-cut" in found.flags
    assert len(found.blocks) <= MOST_BLOCKS and len(found.links) <= MOST_LINKS
    assert 10_000 < sum(len(block.text) for block in found.blocks) <= MOST_CHARACTERS * 2


@pytest.mark.parametrize("kind", sorted(samples()))
def test_cut_and_changed_bytes_raise_nothing_and_are_read_the_same_way_twice(kind: str) -> None:
    media_type, body = samples()[kind]
    for one in spoiled(body, seed=99, count=60):
        found = convert(one, media_type)
        assert convert(one, media_type) == found
        read(capture_of(one, media_type))
        media_type_of("application/octet-stream", one, f"http://a.test/x.{kind}")


def test_a_document_with_markup_for_words_has_no_markup_in_its_cached_view() -> None:
    payload = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    for media_type, body in (
        ("message/rfc822", mail(f"{payload}\n[x](javascript:alert(1))")),
        ("text/csv", f"{payload},b\n".encode()),
        ("text/markdown", f"# {payload}\n\n[a](javascript:alert(1)) <b onclick=x>".encode()),
        ("application/pdf", pdf([payload], info=f"/Title ({payload})")),
    ):
        html = copied(CopyJob(capture_of(body, media_type))).html.decode()
        assert "alert(1)" in html
        assert (
            "<script" not in html and "<img" not in html and "onclick=x>" not in html and 'href="javascript' not in html
        )
