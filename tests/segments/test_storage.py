"""What every storage of a cluster's archive keeps: directories of our own, and S3."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.segments.cluster import Cluster, cluster, in_cloud, on_disks
from tests.services import s3

from gossamer.archive.segments.storage import ObjectExists, ObjectStorage
from gossamer.base.errors import ConfigError
from gossamer.config.load import without_password
from gossamer.store.service import ServiceLost, ServiceRefused

KEY = "archive/gossamer-00000001-20261119120000.warc.gz"
READINGS = "readings/gossamer-00000001-20261119120000.warc.gz.spool"
FORMS: dict[str, Callable[[Path], Cluster]] = {"disks": on_disks, "cloud": in_cloud}


@pytest.fixture(params=FORMS)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStorage:
    return FORMS[request.param](tmp_path).files().storage


@pytest.mark.parametrize("key", [KEY, READINGS])
def test_an_object_is_read_whole_or_in_part(storage: ObjectStorage, key: str) -> None:
    content = bytes(range(256)) * 1000
    assert storage.size(key) is None
    storage.put(key, content)
    assert storage.size(key) == len(content)
    assert storage.read(key, 0, len(content)) == content
    assert storage.read(key, 70_000, 10) == content[70_000:70_010]
    assert storage.read(key, len(content) - 3, 100) == content[-3:]
    assert storage.read(key, len(content) + 1, 100) == b""
    with pytest.raises(FileNotFoundError):
        storage.read(key.replace("0001", "0002"), 0, 1)


def test_an_object_that_is_there_is_never_overwritten(storage: ObjectStorage) -> None:
    storage.put(KEY, b"first")
    storage.put(KEY, b"first")
    for put in (lambda: storage.put(KEY, b"other"), lambda: storage.put_pieces(KEY, [b"other"])):
        with pytest.raises(ObjectExists):
            put()
    assert storage.read(KEY, 0, 100) == b"first"


def test_of_writers_with_one_name_only_one_succeeds(storage: ObjectStorage) -> None:
    done, refused = list[int](), list[int]()

    def write(number: int) -> None:
        try:
            storage.put(KEY, bytes([number]) * 100_000)
            done.append(number)
        except ObjectExists:
            refused.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(done) == 1 and len(refused) == 5
    assert storage.read(KEY, 0, 1 << 20) == bytes(done) * 100_000


def test_large_objects_are_streamed_and_a_broken_stream_leaves_nothing(storage: ObjectStorage) -> None:
    pieces = [bytes([number]) * (3 << 20) for number in range(6)]
    assert storage.put_pieces(KEY, iter(pieces)) == 18 << 20
    assert storage.read(KEY, (9 << 20) - 1, 2) == b"\2\3"

    def broken() -> Iterator[bytes]:
        yield pieces[0]
        raise ZeroDivisionError

    other = KEY.replace("0001", "0002")
    with pytest.raises(ZeroDivisionError):
        storage.put_pieces(other, broken())
    assert storage.size(other) is None
    assert list(storage.names("archive/")) == [KEY.removeprefix("archive/")]


def test_objects_are_listed_and_removed(storage: ObjectStorage) -> None:
    names = [f"gossamer-{number:08d}-20261119120000.warc.gz" for number in range(1, 5)]
    for name in names:
        storage.put(f"archive/{name}", b"x")
        storage.put(f"readings/{name}.spool", b"y")
    storage.remove(f"archive/{names[2]}")
    storage.remove(f"archive/{names[2]}")
    assert sorted(storage.names("archive/")) == [*names[:2], names[3]]
    assert sorted(storage.names("readings/")) == [f"{name}.spool" for name in names]


def test_a_server_that_is_away_is_said_to_be_since_when(tmp_path: Path) -> None:
    own = s3.own_server(tmp_path / "server")
    try:
        storage = in_cloud(tmp_path, own).files().storage
        storage.check()
        own.stop()
        for ask in (lambda: storage.put(KEY, b"x"), lambda: storage.read(KEY, 0, 1), lambda: storage.size(KEY)):
            with pytest.raises(ServiceLost, match="connection refused"):
                ask()
        assert "no answer since" in storage.trouble
        own.start()
        storage.put(KEY, b"x")
        assert storage.trouble == "" and storage.read(KEY, 0, 1) == b"x"
    finally:
        own.stop()


def test_wrong_credentials_give_one_clear_error_without_secrets(tmp_path: Path) -> None:
    store = s3.server()
    for address in (store.address("p", secret="wrong-secret"), store.address("p", bucket="nobody")):
        storage = cluster(tmp_path).set(archive__storage=address).files().storage
        for ask in (storage.check, lambda: storage.put(KEY, b"x"), lambda: storage.read(KEY, 0, 1)):  # noqa: B023
            with pytest.raises(ServiceRefused) as told:
                ask()
            words = str(told.value)
            assert "refuses our credentials" in words or "no such bucket" in words
            assert "wrong-secret" not in words and s3.SECRET not in words and "\n" not in words


def test_credentials_come_from_variables_and_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_SECRET", s3.SECRET)
    address = s3.server().address_for(tmp_path).replace(s3.SECRET, "${STORE_SECRET}")
    storage = cluster(tmp_path).set(archive__storage=address).files().storage
    storage.put(KEY, b"x")
    assert s3.SECRET not in storage.name and "spider" not in storage.name
    shown = str(without_password(s3.server().address_for(tmp_path)))
    assert s3.SECRET not in shown and "endpoint=http://127.0.0.1" in shown


@pytest.mark.parametrize("address", ["ftp://bucket/x", "s3://", "s3://bucket/x?nonsense=1", "bucket"])
def test_an_address_that_means_nothing_is_refused(tmp_path: Path, address: str) -> None:
    pytest.importorskip("obstore")
    with pytest.raises(ConfigError, match=r"archive\.storage"):
        cluster(tmp_path).set(archive__storage=address).files().storage.check()


def test_a_directory_may_be_given_as_an_address(tmp_path: Path) -> None:
    found = cluster(tmp_path).set(archive__storage=f"file://{tmp_path / 'store'}")
    found.files().storage.put(KEY, b"x")
    assert (tmp_path / "store" / KEY.removeprefix("archive/")).read_bytes() == b"x"
    assert found.files("other").storage.read(KEY, 0, 1) == b"x"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"archive__directories": ["relative"]},
        {"archive__directories": ["/nowhere/a"], "archive__copies": 2},
        {"archive__directories": ["/nowhere/a"], "archive__storage": "s3://bucket"},
    ],
    ids=str,
)
def test_an_archive_that_nodes_could_not_share_is_refused(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        cluster(tmp_path).set(**options).files().storage.check()


def test_a_copy_that_is_damaged_or_gone_is_read_from_the_other_disk(tmp_path: Path) -> None:
    found = on_disks(tmp_path)
    storage, content = found.files().storage, bytes(range(256)) * 1000
    storage.put(KEY, content)
    copies = [tmp_path / f"disk-{number}" / KEY.removeprefix("archive/") for number in range(2)]
    flipped = bytearray(content)
    flipped[1000] ^= 1
    copies[0].write_bytes(flipped)
    assert storage.read(KEY, 0, len(content)) == content
    copies[0].unlink()
    assert storage.read(KEY, 0, len(content)) == content
    for path in (*copies, *(copy.with_name(copy.name + ".sums") for copy in copies)):
        assert not path.exists() or path.stat().st_mode & 0o077 == 0


def test_nothing_is_stored_while_every_directory_is_away(tmp_path: Path) -> None:
    found = on_disks(tmp_path)
    storage = found.files().storage
    storage.put(KEY, b"x")
    for number in range(2):
        (tmp_path / f"disk-{number}").rename(tmp_path / f"away-{number}")
        (tmp_path / f"disk-{number}").mkdir()  # an empty mount point
    for ask in (lambda: storage.put(KEY, b"x"), lambda: storage.read(KEY, 0, 1), lambda: storage.size(KEY)):
        with pytest.raises(ServiceLost):
            ask()
    assert "no directory is there" in storage.trouble or "is away" in storage.trouble
    assert [list((tmp_path / f"disk-{number}").iterdir()) for number in range(2)] == [[], []]
    for number in range(2):
        (tmp_path / f"disk-{number}").rmdir()
        (tmp_path / f"away-{number}").rename(tmp_path / f"disk-{number}")
    storage.put(KEY.replace("0001", "0002"), b"y")
    assert storage.read(KEY, 0, 1) == b"x" and storage.trouble == ""
