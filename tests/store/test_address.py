"""What a user names: a directory, or a cluster by its address."""

import os
from pathlib import Path

import pytest

from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.base.files import DiskFiles
from gossamer.store.address import VARIABLE, cache_folder, enter, folder_named, is_address, shown
from gossamer.store.directory import Directory
from gossamer.store.state import is_cluster, is_node, written_place

pytest.importorskip("psycopg")


class Hidden(list[tuple[str, str]]):
    """What was to be hidden in the command line."""

    def hide(self, argument: str, secret: str) -> None:
        self.append((argument, secret))


def entered(address: str, home: Path, hidden: Hidden | None = None) -> tuple[Path, dict[str, str]]:
    variables = {"XDG_CACHE_HOME": str(home)}
    return enter(address, DiskFiles(), variables, (Hidden() if hidden is None else hidden).hide), variables


def test_an_address_is_told_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("postgresql://h/db", "postgres:///db", "host=h dbname=db", " dbname = db", "service=crawl"):
        assert is_address(text)
    for text in ("data", "/data", "a=b", "./host=h", "gossamer-data", "postgresql"):
        assert not is_address(text)
    Path("host=h").mkdir()
    assert not is_address("host=h"), "there is a folder of that name"
    assert folder_named("some/folder") == Path("some/folder")
    for text, why in (
        ("s3://bucket/x", "neither a data directory nor the address"),
        ("https://example.org/", "begins with postgresql://"),
        (str(Path("postgresql://h/db")), "pathlib makes one slash of two"),
        ("postgresql://h/db?nothing=1", "is not a PostgreSQL connection string"),
        ("host=h nothing=1", "is not a PostgreSQL connection string"),
    ):
        with pytest.raises(ConfigError, match=why):
            folder_named(text)


def test_each_address_has_a_private_folder_that_may_be_deleted(tmp_path: Path) -> None:
    one, _ = entered("postgresql://a@h/db", tmp_path)
    assert one.parent == tmp_path / "gossamer" / "clusters" and one.stat().st_mode & 0o777 == 0o700
    assert is_cluster(Directory(one)) and not is_node(Directory(one))
    assert written_place(Directory(one)) == ("postgresql://a@h/db", "cluster", "")
    assert entered("postgresql://a@h/db", tmp_path)[0] == one != entered("postgresql://a@h/other", tmp_path)[0]
    assert entered("host=h dbname=db user=a", tmp_path)[0] == one, "another way to write it"
    DiskFiles().remove(one)
    assert entered("postgresql://a@h/db", tmp_path)[0] == one and one.is_dir()
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "gossamer" / "clusters"


@pytest.mark.parametrize(
    ("address", "password"),
    [
        ("postgresql://a:s%40cret@h/db", "s@cret"),
        ("postgresql://a:s:cret@h1,h2:5433/db", "s:cret"),
        ("postgresql://a@h/db?password=s%20cret&connect_timeout=3", "s cret"),
        ("host=h user=a password=secret dbname=db", "secret"),
        ("host=h user=a password = 's\\'cr et' dbname=db", "s'cr et"),
    ],
)
def test_a_password_in_clear_becomes_a_variable_of_the_process(tmp_path: Path, address: str, password: str) -> None:
    hidden = Hidden()
    folder, variables = entered(address, tmp_path, hidden)
    place = written_place(Directory(folder))
    assert place is not None and f"${{{VARIABLE}{folder.name}}}" in place.url
    assert variables[VARIABLE + folder.name] == password
    ((argument, secret),) = hidden
    assert argument == address and secret in address and secret not in place.url
    assert secret not in shown(folder) and "***" in shown(folder)


def test_a_new_password_is_no_new_folder_but_another_reference_is(tmp_path: Path) -> None:
    clear, again, one, other = (
        entered(f"postgresql://a:{secret}@h/db", tmp_path)[0] for secret in ("a", "b", "${A}", "${B}")
    )
    assert clear == again and len({clear, one, other}) == 3, "a process keeps the address that it was given"


def test_references_stay_as_they_are_and_any_file_may_be_named(tmp_path: Path) -> None:
    for secret in ("${DB}", "${file:/run/secrets/data base}"):
        for address in (f"postgresql://a:{secret}@h/db", f"host=h user=a dbname=db password={secret}"):
            hidden = Hidden()
            folder, variables = entered(address, tmp_path, hidden)
            place = written_place(Directory(folder))
            assert place is not None and place.url == address and not hidden and len(variables) == 1
            assert shown(folder) == f"'{address}'", "in quotes, so that a shell leaves it alone"


def test_a_password_of_a_key_is_refused_in_clear(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"write it as \$\{NAME\}"):
        entered("host=h dbname=db sslpassword=x", tmp_path)
    with pytest.raises(ConfigError, match="percent-encoded"):
        entered("postgresql://a:s@cret@h/db", tmp_path)


def test_a_cache_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryUnusable, match="set XDG_CACHE_HOME"):
        entered("postgresql://h/db", tmp_path / "file")
    folder, _ = entered("postgresql://h/db", tmp_path)
    if os.geteuid() == 0:
        os.chown(folder, 65534, -1)
        with pytest.raises(DirectoryUnusable, match="belongs to another user"):
            entered("postgresql://h/db", tmp_path)
