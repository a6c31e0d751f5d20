"""One site crawled into a directory and by a node of a cluster: every reading command gives the same answers."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from tests.cli.site import PATIENCE_S, QUICK, Site, gossamer, harbour, started, wait_until
from tests.cluster_services import made_cluster
from tests.contract.test_collection import SAME_ANSWERS, VARIES, shape

import gossamer as face

PLACE = re.compile(
    r"gossamer-\d{8}-0\.warc\.gz[ ,\w]*|gossamer-\d{8}-\d{14}\.warc\.gz[,\d]*"
    r"|\"(number|offset|length|volume)\": [^,\n]+|gap of [^\n\"]+"
)
"""Where a capture is stored: a cluster has more and shorter volumes. And a gap, which a busy machine lengthens."""
CLUSTER_ONLY = ("processes", "hints", "disks", "backlog")
"""Of the status: what runs."""
Forms = tuple[str, str, str]
"""The URL of the site, the directory, and the address of the cluster."""


@pytest.fixture(scope="module", params=["node stopped", "node running"])
def forms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    folder = tmp_path_factory.mktemp("cluster")
    root = folder / "c"
    with Site(harbour()).serving() as site, made_cluster(folder) as cluster:
        assert gossamer("crawl", site.root, "--dir", root, *QUICK).returncode == 0
        assert gossamer("crawl", site.root, "--dir", cluster.address, *QUICK).returncode == 0
        settled = len(site.hits)
        node = started("node", cluster.address)
        try:
            wait_until(
                lambda: (
                    cluster.rows("SELECT count(*) FROM captures")[0][0] == settled
                    and cluster.rows("SELECT (SELECT count(*) FROM work), (SELECT count(*) FROM queue)")[0] == (0, 0)
                ),
                "the site is crawled and indexed",
            )
            if request.param == "node stopped":
                stop(node)
            yield site.root, str(root), cluster.address
        finally:
            if node.poll() is None:
                stop(node)


def stop(node: "subprocess.Popen[str]") -> None:
    node.send_signal(signal.SIGINT)
    node.communicate(timeout=PATIENCE_S)


def answer(words: tuple[str, ...], site: str, where: str) -> str:
    given = [site + word[1:] if word.startswith("/") else word.replace("HOST", site.split("/")[2]) for word in words]
    done = gossamer(*given, "--dir", where)
    assert done.returncode in (0, 1), done.stderr
    return (done.stdout + (done.stderr if done.returncode else "")).replace(where, "DIR")


def same(text: str) -> list[str]:
    return sorted(re.split(r"[\s,\[\]]+", PLACE.sub("PLACE", VARIES.sub("0", text))))


@pytest.mark.parametrize(
    "words",
    [
        ("why", "/dead"),
        ("why", "/private/x"),
        ("why", "/never-seen", "--json"),
        ("hosts",),
        *SAME_ANSWERS,
        ("export", "outcomes"),
    ],
    ids=" ".join,
)
def test_a_directory_and_a_cluster_give_the_same_answers(words: tuple[str, ...], forms: Forms) -> None:
    site, root, address = forms
    one, two = answer(words, site, root), answer(words, site, address)
    assert same(one) == same(two), f"{one}\n{two}"


def test_the_status_counts_the_same(forms: Forms) -> None:
    site, root, address = forms
    one, two = (json.loads(answer(("status", "--json"), site, where)) for where in (root, address))
    for name in CLUSTER_ONLY:
        one.pop(name, None), two.pop(name, None)
    assert one == two


@pytest.mark.parametrize("words", [("why", "/"), ("why", "--host", "HOST"), ("politeness",)], ids=" ".join)
def test_plans_and_measurements_have_the_same_shape(words: tuple[str, ...], forms: Forms) -> None:
    site, root, address = forms
    one, two = (json.loads(answer((*words, "--json"), site, where)) for where in (root, address))
    assert shape(one) == shape(two)


@pytest.mark.parametrize("word", ["freshness", "revisits"])
def test_a_crawl_without_revisits_says_so(word: str, forms: Forms) -> None:
    site, root, address = forms
    one, two = (answer((word,), site, where) for where in (root, address))
    assert one == two and "no revisits" in one


def test_nothing_is_damaged_or_missing(forms: Forms) -> None:
    done = gossamer("verify", "--dir", forms[2])
    assert done.returncode == 0 and "0 damaged" in done.stdout, done.stdout + done.stderr


def test_python_programs_read_the_same(forms: Forms) -> None:
    def seen(where: str) -> object:
        with face.open(where) as collection:
            found, page = collection.search("lamps"), collection.page(site + "people/0")
            assert page is not None
            links = collection.links(site)
            return (
                collection.why(site).is_known,
                sorted(hit.url for hit in found.hits),
                found.total,
                collection.counts(),
                (page.title, page.text, page.types, page.fact_count),
                sorted(re.sub(r"_:\w+|fetchedAt.*", "", str(fact)) for fact in collection.facts(site + "people/0")),
                (links.incoming_count, sorted(url.text for url in links.incoming)),
                sorted((one.url, one.title) for one in collection),
            )

    site, root, address = forms
    assert seen(root) == seen(address)
