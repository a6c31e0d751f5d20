"""`gossamer cluster import` and `export`: a collection grows into a cluster and comes back as it was."""

from contextlib import closing
from pathlib import Path

from tests.cli.site import Site, harbour, held
from tests.cluster_services import made_cluster
from tests.collection.relocation import crawled, indexed, outcomes, run

from gossamer.store import captures, tallies
from gossamer.store.sqlite.database import read_only


def test_a_collection_grows_into_a_cluster_and_comes_back_as_it_was(tmp_path: Path) -> None:
    first, back = tmp_path / "first", tmp_path / "back"
    with Site(harbour(4)).serving() as site, made_cluster(tmp_path / "services") as services:
        crawled(site, first)
        (first / "rules.txt").write_text("skip path = /never/\n")
        says = run("cluster", "import", first, services.address)
        assert "captures copied" in says
        indexed(services)
        run("cluster", "export", services.address, back)
        assert held(back) == held(first)
        assert outcomes(back) == outcomes(first)
        assert (back / "rules.txt").read_text() == (first / "rules.txt").read_text()
        with closing(read_only(first / "state.db")) as before, closing(read_only(back / "state.db")) as after:
            assert tallies.counts(after) == tallies.counts(before)
            assert [one.url for one in captures.in_order(after)] == [one.url for one in captures.in_order(before)]
