"""Three nodes on four real services crawl the demonstration web, and one of them is lost in the middle."""

import json
from collections.abc import Iterator

import pytest
from tests.cluster.harness import TestCluster, cluster, done
from tests.cluster.services import Services, why_absent
from tests.cluster.web import WebPlan, served

import gossamer

PAGES = 150
IN_FLIGHT = 200
"""More than a crawler of this web can have in flight: those of the lost node are repeated once."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """The cluster after the crawl, with two nodes left."""
    if why := why_absent():
        pytest.skip(f"no cluster: {why}")
    folder = tmp_path_factory.mktemp("cluster")
    plan = WebPlan(hosts=12, pages=PAGES)
    with Services() as services, served(folder / "web", plan) as web, cluster(services, web, folder) as running:
        for _ in range(3):
            running.add()
        running.seed()
        running.wait_until(lambda: running.waiting()["pages"] >= PAGES // 5, "a fifth of the pages")
        running.nodes[1].kill()
        running.wait_until_over()
        yield running


def test_every_page_and_fact_is_found_once_though_a_node_is_lost(crawled: TestCluster) -> None:
    outcome = crawled.outcome()
    assert outcome.errors(IN_FLIGHT) == []
    assert outcome.verdict.recall == 1.0 and outcome.verdict.facts_found == outcome.verdict.facts_expected > 0
    assert outcome.acknowledged > outcome.pages > PAGES


def test_the_address_of_a_cluster_is_as_good_as_a_directory(crawled: TestCluster) -> None:
    seed = crawled.web.plan.web.seeds[0]
    status = json.loads(done("status", "--dir", crawled.address, "--json"))
    assert status["pages"] == crawled.waiting()["pages"]
    assert json.loads(done("why", seed, "--dir", crawled.address, "--json"))["is_known"]
    with gossamer.open(crawled.address) as collection:
        assert collection.search("harbour").total > 0
        assert collection.facts(seed)
        assert collection.links(seed).outgoing
        (row,) = collection.sparql("SELECT (COUNT(*) AS ?n) { GRAPH ?page { ?s ?p ?o } }")
        assert int(str(row["n"])) > 0


def test_the_nodes_that_are_left_and_the_lost_one_are_listed(crawled: TestCluster) -> None:
    nodes = {node["name"]: node for node in json.loads(done("cluster", "nodes", crawled.address, "--json"))}
    assert set(nodes) == {"n1", "n2", "n3"}
    assert nodes["n2"]["life"] == "silent", nodes["n2"]


def test_a_node_that_is_drained_ends_in_order(crawled: TestCluster) -> None:
    node = crawled.nodes[2]
    done("cluster", "drain", crawled.address, node.name)
    assert node.process is not None
    assert node.process.wait(120) == 0, node.printed()
