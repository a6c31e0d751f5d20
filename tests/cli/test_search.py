"""What can be asked of a collection from the terminal: status, words, facts."""

import json
from io import StringIO

import pytest
from tests.cli.conftest import Collection
from tests.cli.test_commands import left

PEOPLE = "SELECT ?name { ?who a <http://schema.org/Person> ; <http://schema.org/name> ?name } ORDER BY ?name"


def test_status_is_for_people_and_for_programs(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(monkeypatch, "status", "--dir", collection.root) == 0
    text = capsys.readouterr().out
    assert "8  pages" in text and "robots: disallowed by robots.txt" in text and "no process is running" in text
    assert left(monkeypatch, "status", "--dir", collection.root, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["queued"], told["leased"], told["hosts"]) == (8, 0, 0, 1)
    assert told["outcomes"] == {"fetched": 8, "gone": 1, "robots": 1}
    assert told["processes"] == []
    assert "sandbox: network closed, memory and CPU limited" in text
    assert (
        told["sandbox"]["audit"] is True and {"network", "seccomp", "memory", "cpu", "files"} <= told["sandbox"].keys()
    )


def sparql(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> tuple[list[str], str]:
    """The rows, and what is said beside them."""
    assert left(monkeypatch, "sparql", *words, "--format", "csv") == 0
    told = capsys.readouterr()
    return told.out.splitlines()[1:], told.err


def test_the_switch_of_inference_finds_what_follows_and_says_so(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    people, _ = sparql(capsys, monkeypatch, PEOPLE, "--dir", collection.root)
    things = PEOPLE.replace("Person>", "Thing>")
    plain, said = sparql(capsys, monkeypatch, things, "--dir", collection.root)
    inferred, said_so = sparql(capsys, monkeypatch, things, "--inference", "--dir", collection.root)
    assert len(people) == 4 and plain == [] and inferred == people, "every Person is a Thing"
    assert "note: " in said_so and "Thing" in said_so and "note: " not in said


def test_the_switch_of_exact_names_takes_iris_as_they_are_spelt(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = PEOPLE.replace("http://schema.org", "https://schema.org")
    assert len(sparql(capsys, monkeypatch, secure, "--dir", collection.root)[0]) == 4
    assert sparql(capsys, monkeypatch, secure, "--exact-names", "--dir", collection.root)[0] == []
    assert len(sparql(capsys, monkeypatch, PEOPLE, "--exact-names", "--dir", collection.root)[0]) == 4


def test_search_shows_title_address_and_words_around(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(monkeypatch, "search", "tropical", "fish", "--dir", collection.root) == 0
    text = capsys.readouterr().out
    assert "Harbour" in text and collection.origin in text and "Tropical fish swim" in text


def test_search_speaks_json_and_counts(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(monkeypatch, "search", "type:Person", "keeper", "-3", "--dir", collection.root, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"] == 3
    assert {hit["url"] for hit in answer["hits"]} == {f"{collection.origin}people/{n}" for n in range(3)}
    assert all(hit["fact_count"] == 3 for hit in answer["hits"])


def test_a_search_that_finds_nothing_says_so_and_ends_with_one(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(monkeypatch, "search", "zebra", "--dir", collection.root) == 1
    assert "No page has these words" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give search terms"),
        (["-"], "give search terms"),
        (["--colour", "fish"], "there is no option --colour"),
        (["fish", "--limit", "1000"], "at most 100 results"),
    ],
)
def test_a_search_that_asks_nothing_is_told_how_to_ask(
    words: list[str],
    says: str,
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert left(monkeypatch, "search", *words, "--dir", collection.root) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("csv", "name\r\nAda 0\r\nAda 1"),
        ("tsv", '?name\n"Ada 0"\n"Ada 1"'),
        ("json", '{"head":{"vars":["name"]}'),
        ("xml", "<?xml"),
        ("table", " ?name \n Ada 0 \n Ada 1 "),
        (None, '?name\n"Ada 0"\n"Ada 1"'),
    ],
)
def test_a_select_comes_in_the_format_that_was_asked_for(
    form: str | None,
    begins: str,
    collection: Collection,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = ["--format", form] if form else []
    assert left(monkeypatch, "sparql", PEOPLE, *flags, "--dir", collection.root) == 0
    told = capfd.readouterr()
    assert told.out.replace("\r\n", "\n").startswith(begins.replace("\r\n", "\n"))
    assert told.err.startswith("as of 20"), "facts say how old they are"


@pytest.mark.parametrize(("form", "holds"), [("nt", '<http://schema.org/name> "Ada 0" .'), ("ttl", '"Ada 0"')])
def test_triples_come_in_the_format_that_was_asked_for(
    form: str, holds: str, collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "CONSTRUCT WHERE { ?who <http://schema.org/name> ?name }"
    assert left(monkeypatch, "sparql", query, "--format", form, "--dir", collection.root) == 0
    assert holds in capsys.readouterr().out


@pytest.mark.parametrize(
    ("query", "form", "says"),
    [
        (PEOPLE, "nt", "cannot be written as nt: SELECT and ASK give csv"),
        ("CONSTRUCT WHERE { ?a ?b ?c }", "csv", "cannot be written as csv"),
        ("SELECT", "csv", "cannot be parsed"),
        ("DROP ALL", "csv", "read only"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(
    query: str,
    form: str,
    says: str,
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert left(monkeypatch, "sparql", query, "--format", form, "--dir", collection.root) == 2
    assert says in capsys.readouterr().err


def test_a_query_may_come_from_standard_input(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(PEOPLE))
    assert left(monkeypatch, "sparql", "-", "--format", "csv", "--dir", collection.root) == 0
    assert "Ada 3" in capsys.readouterr().out
