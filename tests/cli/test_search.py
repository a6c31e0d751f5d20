"""Queries of a collection from the terminal: status, words, facts."""

import json
from io import StringIO

import pytest
from tests.cli.conftest import Collection
from tests.cli.test_commands import exit_code

PEOPLE = "SELECT ?name { ?who a <http://schema.org/Person> ; <http://schema.org/name> ?name } ORDER BY ?name"


def test_status_is_printed_as_text_and_as_json(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "status", "--dir", collection.root) == 0
    text = capsys.readouterr().out
    assert "8  pages" in text and "robots: disallowed by robots.txt" in text and "no process is running" in text
    assert exit_code(monkeypatch, "status", "--dir", collection.root, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["pages"], data["queued"], data["leased"], data["hosts"]) == (8, 0, 0, 1)
    assert data["outcomes"] == {"fetched": 8, "gone": 1, "robots": 1}
    assert data["processes"] == []
    assert "sandbox: network closed, memory and CPU limited" in text
    assert (
        data["sandbox"]["audit"] is True and {"network", "seccomp", "memory", "cpu", "files"} <= data["sandbox"].keys()
    )


def sparql(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> tuple[list[str], str]:
    """The rows, and the messages."""
    assert exit_code(monkeypatch, "sparql", *words, "--format", "csv") == 0
    printed = capsys.readouterr()
    return printed.out.splitlines()[1:], printed.err


def test_inference_finds_implied_facts_and_says_so(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    people, _ = sparql(capsys, monkeypatch, PEOPLE, "--dir", collection.root)
    query = PEOPLE.replace("Person>", "Thing>")
    plain, messages = sparql(capsys, monkeypatch, query, "--dir", collection.root)
    inferred, notes = sparql(capsys, monkeypatch, query, "--inference", "--dir", collection.root)
    assert len(people) == 4 and plain == [] and inferred == people, "every Person is a Thing"
    assert "note: " in notes and "Thing" in notes and "note: " not in messages


def test_exact_names_compares_iris_as_they_are_written(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = PEOPLE.replace("http://schema.org", "https://schema.org")
    assert len(sparql(capsys, monkeypatch, secure, "--dir", collection.root)[0]) == 4
    assert sparql(capsys, monkeypatch, secure, "--exact-names", "--dir", collection.root)[0] == []
    assert len(sparql(capsys, monkeypatch, PEOPLE, "--exact-names", "--dir", collection.root)[0]) == 4


def test_search_shows_title_url_and_excerpt(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "search", "tropical", "fish", "--dir", collection.root) == 0
    text = capsys.readouterr().out
    assert "Harbour" in text and collection.origin in text and "Tropical fish swim" in text


def test_search_as_json_has_hits_and_counts(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "search", "type:Person", "keeper", "-3", "--dir", collection.root, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"] == 3
    assert {hit["url"] for hit in answer["hits"]} == {f"{collection.origin}people/{n}" for n in range(3)}
    assert all(hit["fact_count"] == 3 for hit in answer["hits"])


def test_a_search_that_finds_nothing_says_so_and_ends_with_one(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "search", "zebra", "--dir", collection.root) == 1
    assert "No page has these words" in capsys.readouterr().out


def test_a_search_from_beyond_the_last_result_does_not_say_that_no_page_matches(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "search", "fish", "--from", "50", "--dir", collection.root) == 1
    text = capsys.readouterr().out
    assert "No more results: use a smaller --from." in text and "No page has" not in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give search terms"),
        (["-"], "give search terms"),
        (["--colour", "fish"], "there is no option --colour"),
        (["fish", "--limit", "1000"], "at most 100 results"),
        (["fish", "--limit", "0"], "--limit: at least 1"),
        (["fish", "--from", "-1"], "--from: at least 0"),
    ],
)
def test_a_search_without_valid_terms_shows_how_to_search(
    words: list[str],
    says: str,
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert exit_code(monkeypatch, "search", *words, "--dir", collection.root) == 2
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
def test_the_result_of_a_select_is_printed_in_the_requested_format(
    form: str | None,
    begins: str,
    collection: Collection,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = ["--format", form] if form else []
    assert exit_code(monkeypatch, "sparql", PEOPLE, *flags, "--dir", collection.root) == 0
    printed = capfd.readouterr()
    assert printed.out.replace("\r\n", "\n").startswith(begins.replace("\r\n", "\n"))
    assert printed.err.startswith("as of 20"), "the time of the facts is printed"


@pytest.mark.parametrize(("form", "holds"), [("nt", '<http://schema.org/name> "Ada 0" .'), ("ttl", '"Ada 0"')])
def test_triples_are_printed_in_the_requested_format(
    form: str, holds: str, collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "CONSTRUCT WHERE { ?who <http://schema.org/name> ?name }"
    assert exit_code(monkeypatch, "sparql", query, "--format", form, "--dir", collection.root) == 0
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
    assert exit_code(monkeypatch, "sparql", query, "--format", form, "--dir", collection.root) == 2
    assert says in capsys.readouterr().err


def test_a_query_is_read_from_standard_input(
    collection: Collection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(PEOPLE))
    assert exit_code(monkeypatch, "sparql", "-", "--format", "csv", "--dir", collection.root) == 0
    assert "Ada 3" in capsys.readouterr().out
