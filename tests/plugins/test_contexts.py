"""JSON-LD contexts from a folder of the user: used by the API, the commands, the readers and rebuilds."""

import asyncio
from pathlib import Path

import msgspec
import pytest

import gossamer
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.cli.tools import extract, inspect
from gossamer.collection.maintenance.rebuild import origin_of
from gossamer.config.settings import Settings
from gossamer.plugins.code import NAME, contexts_in, folder_of, recalled
from gossamer.spool.codec import decode
from gossamer.store.directory import Directory
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadDone, ReadJob, parts_of
from gossamer.values.url import Url
from gossamer.workers.jobs import job_for, reader_pool

URL = "https://example.org/contexts/v1"
CONTEXT = b'{"@context": [{"name": "http://v.test/name"}, "http://example.org/more/"]}'
MORE = b'{"@context": ["https://example.org/contexts/v1", {"age": "http://v.test/age"}]}'
PAGE = f"""<script type="application/ld+json">{{"@context": "{URL}", "@id": "#a", "name": "Ada", "age": 7}}</script>"""
PREDICATES = {"<http://v.test/name>", "<http://v.test/age>"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "contexts"
    found.mkdir()
    (found / "v1.jsonld").write_bytes(CONTEXT)
    (found / "more.jsonld").write_bytes(MORE)
    (found / "index.toml").write_text(f'"{URL}" = "v1.jsonld"\n"https://example.org/more" = "more.jsonld"\n')
    return found


def test_a_users_context_is_used_by_extract() -> None:
    nothing = gossamer.extract(PAGE.encode(), "https://a.test/")
    assert len(nothing) == 0 and nothing.flags == ("jsonld-unknown-context",)
    assert "contexts/" in nothing.notices[0].says
    found = gossamer.extract(
        PAGE.encode(), "https://a.test/", contexts={URL: CONTEXT, "https://example.org/more": MORE}
    )
    assert {fact.predicate for fact in found} == PREDICATES


def test_the_commands_accept_a_folder(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = folder.parent / "page.html"
    page.write_text(PAGE)
    assert extract.extract(str(page), contexts=folder, format="nt") == 0
    assert b"<http://v.test/age>" in capsysbinary.readouterr().out
    added: dict[str, bytes] = {}
    monkeypatch.setattr(inspect, "add_user_contexts", added.update)
    inspect.inspect(str(page), contexts=folder)
    assert added == contexts_in(folder)


def test_readers_of_a_collection_have_the_contexts_of_its_folder(folder: Path) -> None:
    outside = real_outside()
    plugged = recalled(folder.parent, outside.files)
    capture = Capture(Url("https://a.test/"), 1, 200, "OK", (("content-type", "text/html"),), PAGE.encode())

    async def scene() -> ReadDone:
        async with reader_pool(Settings(), outside, silent, job_for(plugged)) as readers:
            result = await readers.call(b"".join(parts_of(ReadJob(capture))))
        return msgspec.msgpack.decode(result, type=ReadDone)

    reading = decode(asyncio.run(scene()).reading)
    assert set(reading.properties) == {"http://v.test/name", "http://v.test/age"}


def test_F_X13_the_folder_named_by_a_received_collection_is_ignored(folder: Path) -> None:
    other = folder.parent / "received"
    other.mkdir()
    (other / NAME).write_bytes(msgspec.json.encode({"contexts": str(folder)}))
    assert recalled(other, real_outside().files).contexts == ""


def test_a_rebuild_started_with_other_contexts_starts_again(folder: Path) -> None:
    directory, outside = Directory(folder.parent), real_outside()
    before = origin_of(directory, "x", outside)
    assert before.leads_to(origin_of(directory, "x", outside))
    (folder / "more.jsonld").write_bytes(b'{"@context": {}}')
    assert not before.leads_to(origin_of(directory, "x", outside))


@pytest.mark.parametrize(
    ("index", "file", "says"),
    [
        ("= nonsense", b"{}", "is not TOML"),
        ('"http://a.test/" = "missing"', b"{}", "with a file in"),
        ('"http://a.test/" = "../outside.jsonld"', b"{}", "with a file in"),
        ('"http://a.test/" = 5', b"{}", "with a file in"),
        ('"http://a.test/" = "c.jsonld"', b"{", "is not JSON"),
        ('"http://a.test/" = "c.jsonld"', b"{}", "without @context"),
        ('"http://a.test/" = "c.jsonld"', b" " * (1 << 20) + b"{}", "longer than"),
    ],
)
def test_an_invalid_folder_is_an_error(tmp_path: Path, index: str, file: bytes, says: str) -> None:
    folder = tmp_path / "contexts"
    folder.mkdir()
    (tmp_path / "outside.jsonld").write_bytes(CONTEXT)
    (folder / "c.jsonld").write_bytes(file)
    (folder / "index.toml").write_text(index)
    with pytest.raises(ConfigError, match=says):
        folder_of(tmp_path)


def test_without_an_index_there_are_no_contexts(tmp_path: Path) -> None:
    assert contexts_in(tmp_path) == {} and folder_of(tmp_path) == ""
