"""Commands on a collection whose state is in PostgreSQL: each works, or says what to do instead."""

import shutil
from pathlib import Path

from tests.cli.conftest import Collection
from tests.cli.site import QUICK, Site, gossamer, harbour, page
from tests.postgres_server import server


def test_verify_checks_the_archive_and_views_but_not_the_tables(shared: Collection) -> None:
    done = gossamer("verify", "--dir", shared.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 damaged" in done.stdout and "the state is in PostgreSQL, and is not checked here" in done.stdout


def test_commands_that_need_the_state_in_a_file_say_what_to_do_instead(shared: Collection, tmp_path: Path) -> None:
    for words, instead in (
        (("backup", tmp_path / "copy"), "pg_dump"),
        (("rebuild", "--state"), "restore the database from its own backup"),
        (("forget", shared.origin, "--yes"), "other directories may share it"),
    ):
        done = gossamer(*words, "--dir", shared.root)
        assert done.returncode == 3 and instead in " ".join(done.stderr.split()), done.stderr
    assert not (shared.root / "state.db").exists() and not (tmp_path / "copy").exists()


def test_pages_are_fetched_again_hosts_retired_and_lost_records_replaced(tmp_path: Path) -> None:
    root, pages = tmp_path / "c", harbour()
    with Site(pages).serving() as site:
        crawl = ("crawl", site.root, "--dir", root, *QUICK, "--database", server().conninfo_for(root))
        assert gossamer(*crawl).returncode == 0
        pages["/docs/ropes"] = page("Ropes", "Now also with a windlass.")
        again = gossamer("crawl", "--again", site.root + "docs/ropes", "--dir", root, *QUICK)
        assert again.returncode == 0, again.stderr
        assert site.hits.count("/docs/ropes") == 2
        assert "windlass" in gossamer("search", "windlass", "--dir", root).stdout
        pages["/dead"] = page("Alive", "It was missing.")
        assert "1 URL queued again" in gossamer("retry", "--reason", "gone", "--yes", "--dir", root).stdout
        host = site.root.split("/")[2]
        assert "is retired" in gossamer("hosts", "retire", host, "--dir", root).stdout
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert site.hits.count("/dead") == 1, "nothing is fetched from a retired host"
        assert "is crawled again" in gossamer("hosts", "reinstate", host, "--dir", root).stdout
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert site.hits.count("/dead") == 2

        for volume in (root / "archive").iterdir():
            volume.unlink()
        shutil.rmtree(root / "spool")
        before = len(site.pages_hit())
        ended = gossamer("crawl", "--dir", root, *QUICK)
        assert ended.returncode in (0, 4), ended.stderr
        assert len(site.pages_hit()) > before, "pages whose records are lost are fetched again"


def test_a_database_that_cannot_be_reached_is_no_answer(shared: Collection, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(shared.root, root)
    url, owner = (root / "state.url").read_text().splitlines()
    nowhere = url.replace(str(server().folder), str(tmp_path))
    (root / "state.url").write_text(f"{nowhere}\n{owner}\n")
    assert gossamer("trust", "--dir", root, "--allow").returncode == 0
    for words in (("why", shared.origin), ("status",), ("hosts",), ("crawl",)):
        done = gossamer(*words, "--dir", root)
        assert done.returncode == 3 and "cannot be opened" in done.stderr, done.stderr


def test_a_directory_says_what_it_holds_of_a_crawl_that_another_shares(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    database = ("--database", server().conninfo_for(tmp_path))
    with Site(harbour()).serving() as site:
        assert gossamer("crawl", site.root, "--dir", first, *QUICK, *database).returncode == 0
    with Site({"/": page("Second", "Only in the second archive.")}).serving() as other:
        assert gossamer("crawl", other.root, "--dir", second, *QUICK, *database).returncode == 0
    verified = gossamer("verify", "--dir", second)
    assert verified.returncode == 0 and "index: 1 of 1 page\n" in verified.stdout, verified.stdout
    assert "all directories that share it" in " ".join(gossamer("status", "--dir", second).stdout.split())
    lost = gossamer("history", site.root, "--dir", second)
    assert lost.returncode == 1 and "this directory has no copy of" in lost.stderr
    assert "its copy is not in the archive of this directory" in gossamer("why", site.root, "--dir", second).stdout
