"""`gossamer forget` and `compact` on a cluster: nothing of the pages is left in any of its services."""

import asyncio
from pathlib import Path

import pytest
from tests.cli.site import Site, harbour, page, person, wait_until
from tests.cluster_services import made_cluster
from tests.collection.relocation import ALL, crawled, indexed, indexing, run, services_with, traces, waiting
from tests.collection.test_cluster_import import Stopped, stopping_at
from tests.collection.test_forget import SECRET

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.cluster.erasure import forget_on_cluster
from gossamer.collection.maintenance.forget import entries_of

POINTS = ("forget.begun", "forget.dropped", "forget.hidden", "rewrite.stored", "rewrite.switched")
HIDDEN = f"{SECRET}.html"
"""No page links to it."""


def secret_site() -> Site:
    secret = page(f"{SECRET} at home", f"She is called {SECRET}.", "/", facts=person(f"Ada {SECRET}"))
    return Site(harbour(3) | {f"/{HIDDEN}": secret})


def test_nothing_of_a_forgotten_page_is_left_in_any_service(tmp_path: Path) -> None:
    first, back = tmp_path / "first", tmp_path / "back"
    with secret_site().serving() as site, made_cluster(tmp_path / "services") as services:
        crawled(site, first, f"{site.root}{HIDDEN}")
        run("cluster", "import", first, services.address)
        indexed(services)
        assert services_with(services, SECRET) == ALL
        before = services.count("captures")
        assert "1 record erased" in run("forget", f"{site.root}{HIDDEN}", "--dir", services.address, "--yes")
        assert traces(services, SECRET) == []
        assert services.count("captures") == before - 1
        assert (services.count("rewrites"), services.count("removals"), services.count("work")) == (0, 0, 0)
        run("cluster", "export", services.address, back)
        assert "Harbour" in run("search", "lighthouse", "--dir", back)
        assert "already" not in run("verify", "--dir", back)


def test_what_was_interrupted_is_completed_while_an_indexer_works(tmp_path: Path) -> None:
    """One page for each step after which it is stopped."""
    pages = {f"/{SECRET}{n}.html": page(f"{SECRET} {n}", SECRET, facts=person(f"Ada {SECRET}")) for n in range(5)}
    with Site(harbour(3) | pages).serving() as site, made_cluster(tmp_path / "services") as services:
        crawled(site, tmp_path / "first", *(f"{site.root}{path[1:]}" for path in pages))
        run("cluster", "import", tmp_path / "first", services.address)
        directory = existing(services.folder)
        outside = with_archive(directory, real_outside())
        with indexing(services):
            for point, path in zip(POINTS, pages, strict=True):
                entries = entries_of([f"{site.root}{path[1:]}"], outside.clock.now())
                with pytest.raises(Stopped):
                    asyncio.run(forget_on_cluster(directory, entries, outside, stopping_at(point)))
            assert "not finished" in run("forget", "--list", "--dir", services.address)
            run("forget", "--dir", services.address)
            wait_until(lambda: waiting(services) == 0, "the indexer takes the rest")
        assert traces(services, SECRET) == []
        assert "not finished" not in run("forget", "--list", "--dir", services.address)
        assert "Keeper 1" in run("search", "lamps", "--dir", services.address)
