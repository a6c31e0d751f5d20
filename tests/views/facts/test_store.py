import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from tests.views.digests import facts_digest
from tests.views.facts.pages import START, entity_page, graph_in, page, url

from gossamer.base.clock import SECOND
from gossamer.base.errors import DirectoryBusy, DirectoryUnusable
from gossamer.values.messages import PageFacts
from gossamer.values.url import url_of
from gossamer.views.facts import store as store_room
from gossamer.views.facts.sources import PROVENANCE, graph_name
from gossamer.views.facts.store import Graph, opened, page_facts

A = "http://a.test/x"


def facts_of(graph: Graph, address: str) -> list[str]:
    found = graph.store.quads_for_pattern(None, None, None, NamedNode(address))
    return sorted(f"{quad.subject} {quad.predicate} {quad.object}" for quad in found)


def test_the_facts_of_a_page_are_in_its_own_graph(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        assert graph.replace(
            [page(A, '<http://s> <http://p> "o"'), page("http://b.test/", "<http://s> <http://p> _:n")]
        )
        assert facts_of(graph, A) == ['<http://s> <http://p> "o"']
        assert len(facts_of(graph, "http://b.test/")) == 1


def test_the_provenance_of_facts_is_stored_as_facts(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        one = page(A, '<http://s> <http://p> "o"', at=START + 123_456)
        graph.replace([one])
        query = (
            f"SELECT ?when ?capture {{ GRAPH <{PROVENANCE}> {{ "
            f"<{A}> <http://www.w3.org/ns/prov#generatedAtTime> ?when ; <urn:gossamer:capture> ?capture }} }}"
        )
        [row] = list(graph.store.query(query))
        assert row["when"].value == "2023-11-14T22:13:20.123456Z"
        assert int(row["capture"].value) == one.capture_id
        assert graph.fetched_at(url(A)) == START + 123_456
        assert graph.fetched_at(url("http://never.test/")) is None


@pytest.mark.parametrize("microseconds", [0, 1, 500_000, 999_999])
def test_the_fetch_time_is_stored_to_the_microsecond(tmp_path: Path, microseconds: int) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([page(A, at=START + microseconds)])
        assert graph.fetched_at(url(A)) == START + microseconds


def test_a_page_fetched_again_has_only_its_current_facts(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([page(A, '<http://s> <http://p> "1"', '<http://s> <http://p> "2"', "_:n <http://p> <http://s>")])
        later = START + SECOND
        again = page(A, '<http://s> <http://p> "2"', "_:n <http://p> _:m", "<http://s> <http://p> _:m", at=later)
        graph.replace([again])
        expected = sorted(line.removesuffix(" .") for line in again.facts.decode().splitlines())
        assert facts_of(graph, A) == expected
        assert graph.fetched_at(url(A)) == later
        assert len(graph.store) == 5


def test_a_page_that_no_longer_states_facts_has_none_left(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([page(A, '<http://s> <http://p> "1"')])
        graph.replace([page(A, at=START + 1)])
        assert facts_of(graph, A) == []
        graph.replace([page(A, '<http://s> <http://p> "2"', at=START + 2)])
        assert facts_of(graph, A) == ['<http://s> <http://p> "2"']
        assert len(graph.store) == 3


def test_an_older_capture_never_replaces_a_newer_one(tmp_path: Path) -> None:
    old, new = page(A, '<http://s> <http://p> "old"'), page(A, '<http://s> <http://p> "new"', at=START + 5)
    with graph_in(tmp_path) as graph:
        assert graph.replace([new, old]) == 1
        assert graph.replace([old]) == 0
        assert facts_of(graph, A) == ['<http://s> <http://p> "new"']


def test_a_replay_changes_nothing(tmp_path: Path) -> None:
    pages = [entity_page(number) for number in range(50)]
    with graph_in(tmp_path) as graph:
        graph.replace(pages)
        before = facts_digest(graph.store)
        graph.replace(pages)
        assert facts_digest(graph.store) == before


def test_a_removed_page_leaves_no_facts(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([entity_page(1), entity_page(2)])
        graph.remove(url("http://host1.test/page/1"))
        graph.remove(url("http://host1.test/never"))
        assert graph.fetched_at(url("http://host1.test/page/1")) is None
        assert len(graph.store) == 22


@pytest.mark.parametrize("bulk_facts", [1, 1_000_000])
def test_the_store_has_the_same_facts_written_in_bulk_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk_facts: int
) -> None:
    monkeypatch.setattr(store_room, "BULK_FACTS", bulk_facts)
    pages = [entity_page(number) for number in range(30)]
    with graph_in(tmp_path) as graph:
        graph.replace(pages)
        found = b"".join(page_facts(graph.store)).decode().splitlines()
    expected = [
        line.removesuffix(" .") + f" <{one.url.text}> ." for one in pages for line in one.facts.decode().splitlines()
    ]
    assert sorted(found) == sorted(expected)


def test_blank_nodes_keep_their_labels_when_a_page_is_replaced(tmp_path: Path) -> None:
    with graph_in(tmp_path / "live") as live, graph_in(tmp_path / "rebuilt") as rebuilt:
        live.replace([entity_page(number) for number in range(20)])
        live.replace([entity_page(number, facts=7, at=START + 9) for number in range(20)])
        rebuilt.replace([entity_page(number, facts=7, at=START + 9) for number in range(20)])
        assert facts_digest(live.store) == facts_digest(rebuilt.store)


def test_an_iri_that_looks_like_an_internal_marker_is_kept_as_it_is(tmp_path: Path) -> None:
    odd = ("<urn:gossamer:blank:x> <http://p> _:n", "<urn:gossamer:blank:-y> <http://p> _:n")
    with graph_in(tmp_path) as graph:
        graph.replace([page(A, at=START)])
        again = page(A, *odd, at=START + 1)
        graph.replace([again])
        assert facts_of(graph, A) == sorted(line.removesuffix(" .") for line in again.facts.decode().splitlines())


@pytest.mark.parametrize(
    "bad",
    [
        b"no facts at all\n",
        b'<http://s> <http://p> "o" <http://a.test/other> .\n',
        b'<http://a b> <http://p> "o" .\n',
        b'<http://a{b}> <http://p> "o" .\n',
        b'<a> <http://p> "o" .\n',
        b'<http://s> <http://p> "o"^^<string> .\n',
        b'<http://s> <http://p> "\\u12" .\n',
        b'<http://s> <http://p> "\xff" .\n',
        b'<http://s> <http://p> "o" .\n<http://s> <http://p>',
    ],
)
def test_only_the_page_with_unreadable_facts_is_skipped_and_reported(tmp_path: Path, bad: bytes) -> None:
    skipped: list[dict[str, object]] = []

    def tell(event: str, /, **facts: object) -> None:
        if event == "graph.page-skipped":
            skipped.append(facts)

    with graph_in(tmp_path, tell) as graph:
        assert graph.replace([entity_page(1), PageFacts(url(A), bad, 7, START), entity_page(2)]) == 2
        assert len(graph.store) == 44
    assert [facts["url"] for facts in skipped] == [A]


@pytest.mark.parametrize(
    "malicious",
    [
        b'<http://s> <http://p> "o" <http://good.test/> . # .\n',
        b'<http://s> <http://p> "o" . <http://s> <http://p> "o" <http://good.test/> .\n',
        b'<http://s> <http://p> "o" <urn:gossamer:provenance> .# .\n',
        b'<http://s> <http://p> "o" <http://good.test/> .\r<http://s> <http://p> "o" .\n',
    ],
)
def test_F_G7_no_page_can_write_into_the_graph_of_another(tmp_path: Path, malicious: bytes) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([PageFacts(url(A), malicious, 7, START)])
        graph.replace([PageFacts(url(A), malicious, 8, START + 1)])
        names = {name.value for name in graph.store.named_graphs()}
        assert names <= {A, PROVENANCE}
        assert len(list(graph.store.quads_for_pattern(None, None, None, NamedNode(PROVENANCE)))) in (0, 2)


def test_facts_without_the_usual_spacing_are_still_read(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace(
            [PageFacts(url(A), b'# words\n<http://s><http://p>"o".\n\n<http://s> <http://p> "q" .', 7, START)]
        )
        assert facts_of(graph, A) == ['<http://s> <http://p> "o"', '<http://s> <http://p> "q"']


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_every_url_has_a_graph_name_that_is_an_iri(tail: str) -> None:
    address = url_of("http://a.test/" + tail)
    if address is not None:
        assert NamedNode(graph_name(address)).value.startswith("http://a.test/")


def test_a_url_that_is_an_iri_is_the_name_of_its_graph() -> None:
    for address in ("http://a.test/", "https://[::1]:8080/p/%20?q=1&r=a+b;c", "http://buecher.test/~me/(x)!"):
        assert graph_name(url(address)) == address
    assert graph_name(url("https://bücher.test/é?q=ü")) == "https://bücher.test/é?q=ü"
    assert graph_name(url("http://a.test/[x]?{y}|^`%zz")) == "http://a.test/%5Bx%5D?%7By%7D%7C%5E%60%25zz"


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from tests.views.facts.pages import graph_in\n"
        "with graph_in(Path(sys.argv[1])): pass\n"
    )
    root = str(Path(__file__).parents[3])
    with graph_in(tmp_path):
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path), root], capture_output=True, check=False)
    assert DirectoryBusy.__name__.encode() in done.stderr


def test_a_damaged_store_is_refused_with_the_command_to_repair_it(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([entity_page(1)])
        graph.sync()
    for name in tmp_path.iterdir():
        if name.name.startswith(("MANIFEST", "CURRENT")):
            name.write_bytes(b"nonsense\n")
    with pytest.raises(DirectoryUnusable, match="gossamer rebuild"), graph_in(tmp_path):
        pass


REPLACING = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from tests.views.facts.pages import START, graph_in, entity_page
    with graph_in(Path(sys.argv[1])) as graph:
        print("open", flush=True)
        for turn in range(int(sys.argv[3]), 1_000_000):
            graph.replace([entity_page(n, facts=10 + (turn * 7 + n) % 40, at=START + turn) for n in range(5)])
    """
)


def test_F_G9_a_kill_while_writing_leaves_the_old_graph_or_the_new_one(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    turn = 0
    for patience_s in (0.05, 0.13, 0.2):
        child = subprocess.Popen(
            [sys.executable, "-c", REPLACING, str(tmp_path), root, str(turn)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(patience_s)
        child.kill()
        child.wait()
        child.stdout.close()
        with graph_in(tmp_path) as graph:
            for number in range(5):
                address = f"http://host{number}.test/page/{number}"
                at = graph.fetched_at(url(address))
                assert at is not None
                expected = entity_page(number, facts=10 + ((at - START) * 7 + number) % 40, at=at)
                assert facts_of(graph, address) == sorted(
                    line.removesuffix(" .") for line in expected.facts.decode().splitlines()
                )
                turn = max(turn, at - START + 1)
    assert turn > 3


def test_F_G6_blank_nodes_of_two_pages_are_never_the_same(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([page(A, '_:a <http://p> "1"'), page("http://b.test/", '_:a <http://p> "2"')])
        assert len({quad.subject for quad in graph.store.quads_for_pattern(None, NamedNode("http://p"), None)}) == 2


def test_the_digest_does_not_depend_on_the_order_of_writing(tmp_path: Path) -> None:
    pages = [entity_page(number) for number in range(40)]
    with graph_in(tmp_path / "a") as one, graph_in(tmp_path / "b") as other:
        one.replace(pages)
        for single in reversed(pages):
            other.replace([single])
        assert facts_digest(one.store) == facts_digest(other.store)
        other.remove(pages[0].url)
        assert facts_digest(one.store) != facts_digest(other.store)


def test_the_facts_of_a_closed_store_can_be_exported(tmp_path: Path) -> None:
    with graph_in(tmp_path) as graph:
        graph.replace([entity_page(number) for number in range(300)])
        graph.sync()
    lines = b"".join(page_facts(opened(tmp_path))).splitlines()
    assert len(lines) == len(set(lines)) == 300 * 20
    assert not [line for line in lines if PROVENANCE.encode() in line]
