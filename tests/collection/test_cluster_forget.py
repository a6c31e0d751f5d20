"""`gossamer forget` and `compact` on a cluster: nothing of the pages is left in any of its services."""

from pathlib import Path

from tests.cli.site import Site, harbour, page, person
from tests.cluster_services import made_cluster
from tests.collection.relocation import ALL, crawled, indexed, run, services_with, traces
from tests.collection.test_forget import SECRET

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
