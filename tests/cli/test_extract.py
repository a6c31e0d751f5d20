"""`gossamer extract`: from a file, standard input or the web, in every format, with helpful errors."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest
from tests.cli.site import OPEN, Site, harbour, page, person

from gossamer.base.clock import SECOND
from gossamer.base.environment import DirectDialer, Network, real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli import main as cli
from gossamer.cli.tools.single_page import Walk, in_words, kind_of, page_at
from gossamer.config.settings import FetchSettings, PolitenessSettings, Settings
from gossamer.fetch.dns import DnsResolver
from gossamer.testing import FakeClock, TinyWeb
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason, Refused
from gossamer.values.url import Url

PAGE = """<!DOCTYPE html><html lang="en"><body vocab="http://schema.org/">
<p typeof="Person" resource="#ada"><b property="name">Ada \x1b[31m</b> <a property="knows" href="/bo">Bo</a></p>
<p property="nowhere:x">y</p></body></html>"""
ADDRESS = "https://shop.example/people"


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run the program's `main` in this process; returns exit code, output and messages."""
    monkeypatch.setattr("sys.argv", ["gossamer", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "page.html"
    found.write_text(PAGE)
    return found


FORMATS = {"nq": ox.RdfFormat.N_QUADS, "nt": ox.RdfFormat.N_TRIPLES, "ttl": ox.RdfFormat.TURTLE}


@pytest.mark.parametrize("form", [*FORMATS, "jsonld"])
def test_every_format_has_the_same_facts(
    form: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, "extract", file, "--base", ADDRESS, "--format", form)
    quads = list(ox.parse(out.encode(), format=FORMATS.get(form, ox.RdfFormat.JSON_LD)))
    graphs = {str(quad.graph_name) for quad in quads}
    assert code == 0 and len(quads) == 5
    assert graphs == ({f"<{ADDRESS}>"} if form == "nq" else {"DEFAULT"})
    assert {quad.subject.value for quad in quads} == {ADDRESS, f"{ADDRESS}#ada"}


def test_turtle_uses_the_usual_prefixes(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(monkeypatch, capsys, "extract", file, "--base", ADDRESS, "--format", "ttl")
    assert "@prefix schema: <http://schema.org/> ." in out and "a schema:Person" in out and "foaf" not in out


def test_entities_as_json(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(monkeypatch, capsys, "extract", file, "--base", ADDRESS, "--format", "json")
    person = next(item for item in json.loads(out) if item["id"] == f"{ADDRESS}#ada")
    assert person["type"] == ["http://schema.org/Person"]
    assert person["properties"]["http://schema.org/knows"] == [{"id": "https://shop.example/bo"}]


def test_the_default_format_is_n_quads(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, "extract", file)
    assert code == 0 and len(out.splitlines()) == 5 and "<https://page.invalid/page.html#ada>" in out


def test_a_page_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PAGE.encode())))
    code, out, _ = run(monkeypatch, capsys, "extract", "-", "--base", ADDRESS)
    assert code == 0 and f"<{ADDRESS}#ada>" in out


def test_only_the_given_syntaxes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "page.html"
    both.write_text(PAGE + person("Bo"))
    _, every, _ = run(monkeypatch, capsys, "extract", both)
    _, one, _ = run(monkeypatch, capsys, "extract", both, "--syntax", "json-ld")
    _, two, _ = run(monkeypatch, capsys, "extract", both, "--syntax", "rdfa, json-ld")
    assert 0 < len(one) < len(every) == len(two)


def test_the_processor_graph_is_printed_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    file.write_text('<p property="nowhere">x</p>')
    code, out, _ = run(monkeypatch, capsys, "extract", file, "--graph", "processor")
    assert code == 0 and "UnresolvedTerm" in out
    assert all(line.endswith("<urn:gossamer:processor-graph> .") for line in out.splitlines())


def test_a_given_vocabulary_is_used(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.ttl"
    schema.write_text(
        "<http://schema.org/Person> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://schema.org/Thing> ."
    )
    given = f"http://schema.org/={schema}"
    _, out, err = run(monkeypatch, capsys, "extract", file, "--expand-vocab", "--vocab", given)
    assert "<http://schema.org/Thing>" in out and "was not given" not in err
    _, out, err = run(monkeypatch, capsys, "extract", file, "--expand-vocab")
    assert (
        "<http://schema.org/Thing>" not in out
        and "http://schema.org/ was not given" in err
        and "--vocab IRI=FILE" in err
    )


def test_missing_facts_and_broken_markup_are_reported_in_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    file.write_text('<script type="application/ld+json">{nonsense</script>')
    code, out, err = run(monkeypatch, capsys, "extract", file)
    assert (code, out) == (0, "")
    assert "note: jsonld-broken; `gossamer inspect` shows details" in err and "no structured data found" in err
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    _, _, err = run(monkeypatch, capsys, "extract", file.rename(tmp_path / "picture"))
    assert "image/png is not markup; if the page is, use --type text/html" in err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nowhere.html"], 1, "nowhere.html cannot be read: no such file"),
        (["FILE", "--syntax", "rdf"], 2, "there is no syntax 'rdf'; there are rdfa, json-ld"),
        (["FILE", "--base", "shop.example"], 2, "is not an http or https URL"),
        (["FILE", "--vocab", "schema.ttl"], 2, "write the vocabulary's IRI, = and its file"),
        (["FILE", "--vocab", "http://schema.org/=nowhere.ttl"], 2, "there is no file nowhere.ttl"),
        (["FILE", "--format", "pdf"], 2, "pdf"),
        (["https://example.org/"], 2, "--contact you@example.org"),
        (["http://127.0.0.1:8000/"], 2, "allow it and nothing else: --allow-address 127.0.0.1"),
        (["ftp://example.org/"], 2, "not an http or https URL"),
    ],
)
def test_errors_say_what_to_do(
    words: list[str],
    code: int,
    says: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [str(file) if word == "FILE" else word for word in words]
    ended, _, err = run(monkeypatch, capsys, "extract", *words)
    assert ended == code and says in " ".join(err.split())


def test_a_page_on_the_web_is_fetched_after_its_robots_txt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Site(harbour()).serving() as site:
        words = ("extract", f"{site.root}people/0", *OPEN, "--delay", "0.01")
        code, out, _ = run(monkeypatch, capsys, *words)
        assert code == 0 and '"Ada 0"' in out and f"<{site.root}people/0> ." in out
        assert site.hits == ["/robots.txt", "/people/0"]


def test_a_page_that_robots_txt_disallows_is_not_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Site(harbour()).serving() as site:
        words = ("extract", f"{site.root}private/x", *OPEN, "--delay", "0.01")
        code, out, err = run(monkeypatch, capsys, *words)
        assert code == 1 and out == "" and "disallowed by robots.txt" in err
        assert site.hits == ["/robots.txt"]


def test_a_missing_page_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Site(harbour()).serving() as site:
        code, _, err = run(monkeypatch, capsys, "extract", f"{site.root}dead", *OPEN, "--delay", "0.01")
    assert code == 1 and "the server says there is no such page" in err


HOME = "https://a.example/"
ROBOTS = f"{HOME}robots.txt"


def walked(pages: dict[str, str | Outcome], url: str = HOME, delay_s: float = 7.0) -> tuple[Outcome, list[str], float]:
    """The outcome, the URLs requested, and how long it took."""
    clock = FakeClock()
    web = TinyWeb(pages, clock)
    began = clock.now()
    walk = Walk(web.fetch, Settings(politeness=PolitenessSettings(delay_s=delay_s)), clock)
    outcome = asyncio.run(walk.to_end(Url(url)))
    return outcome, web.asked, (clock.now() - began) / SECOND


def moved(url: str, to: str) -> Outcome:
    return TinyWeb({}, FakeClock()).moved(url, to)


def test_the_gap_of_a_host_is_kept_between_robots_txt_and_the_page() -> None:
    outcome, asked, took_s = walked({HOME: page("a", "b")})
    assert isinstance(outcome, Fetched) and asked == [ROBOTS, HOME] and took_s == 7.0


def test_a_longer_crawl_delay_is_kept_too() -> None:
    _, _, took_s = walked({ROBOTS: "User-agent: *\nCrawl-delay: 20", HOME: page("a", "b")})
    assert took_s == 20.0


def test_every_redirect_is_checked_against_the_robots_txt_of_its_own_host() -> None:
    other = "https://b.example/"
    pages: dict[str, str | Outcome] = {HOME: moved(HOME, other), f"{other}robots.txt": "User-agent: *\nDisallow: /"}
    outcome, asked, _ = walked(pages)
    assert asked == [ROBOTS, HOME, f"{other}robots.txt"]
    assert isinstance(outcome, Refused) and "disallowed by robots.txt" in in_words(outcome)
    outcome, asked, _ = walked(pages | {f"{other}robots.txt": "User-agent: *\nAllow: /", other: page("a", "b")})
    assert isinstance(outcome, Fetched) and outcome.capture.url.text == other


def test_a_loop_of_redirects_ends() -> None:
    outcome, asked, _ = walked({HOME: moved(HOME, HOME)}, delay_s=0)
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TOO_MANY_REDIRECTS
    assert asked.count(HOME) == 11


def test_a_robots_txt_that_cannot_be_read_disallows_everything_and_the_reason_is_given() -> None:
    outcome, asked, _ = walked({ROBOTS: Failed(Reason.SERVER_ERROR, "500"), HOME: page("a", "b")})
    assert asked == [ROBOTS]
    assert "robots.txt could not be read" in in_words(outcome) and "500" in in_words(outcome)


def test_redirects_of_robots_txt_are_followed_for_at_most_five_hops() -> None:
    there = f"{HOME}there.txt"
    pages: dict[str, str | Outcome] = {ROBOTS: moved(ROBOTS, there), there: "User-agent: *\nDisallow: /", HOME: "x"}
    outcome, asked, _ = walked(pages)
    assert isinstance(outcome, Refused) and asked == [ROBOTS, there]
    outcome, asked, _ = walked({ROBOTS: moved(ROBOTS, ROBOTS), HOME: "x"}, delay_s=0)
    assert isinstance(outcome, Fetched) and asked.count(ROBOTS) == 6


def test_robots_txt_is_fetched_once_for_all_redirects_within_a_host() -> None:
    there = f"{HOME}there"
    _, asked, _ = walked({HOME: moved(HOME, there), there: page("a", "b")})
    assert asked == [ROBOTS, HOME, there]


def test_nothing_is_fetched_from_a_private_address_that_is_not_allowed() -> None:
    with Site({"/": page("a", "b")}).serving() as site:
        outside = real_outside()
        network = Network(DnsResolver(outside.clock), DirectDialer())
        with pytest.raises(ConfigError, match="--allow-address"):
            asyncio.run(page_at(Url(site.root), Settings(), network, outside))
        assert site.hits == []


def test_the_media_type_is_taken_from_the_response_header() -> None:
    with Site({"/": page("a", "b"), "/notes.txt": "words", "/robots.txt": ""}).serving() as site:
        outside = real_outside()
        network = Network(DnsResolver(outside.clock), DirectDialer())
        settings = Settings(
            politeness=PolitenessSettings(delay_s=0), fetch=FetchSettings(allow_addresses=("127.0.0.0/8",))
        )
        found = asyncio.run(page_at(Url(site.root), settings, network, outside))
        assert (found.media_type, found.url) == ("text/html; charset=utf-8", site.root)
        assert asyncio.run(page_at(Url(f"{site.root}notes.txt"), settings, network, outside)).media_type == "text/plain"


@pytest.mark.parametrize("form", ["nq", "nt", "ttl", "jsonld", "json"])
def test_no_format_lets_a_page_send_control_characters_to_the_terminal(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    file.write_text('<p property="og:title" content="a\x1b[31mb\x9bc\x7f">x</p>')
    _, out, _ = run(monkeypatch, capsys, "extract", file, "--format", form)
    assert "[31mb" in out
    assert [char for char in out if not char.isprintable() and char not in "\t\n"] == []


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("a.html", b"", "text/html"),
        ("a.HTM", b"", "text/html"),
        ("a.xhtml", b"", "application/xhtml+xml"),
        ("a.svg", b"", "image/svg+xml"),
        ("a.xml", b"", "application/xml"),
        ("", b"<!doctype html>", "text/html"),
        ("", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml"),
        ("", b"just words", "text/html"),
        ("", b"%PDF-1.7", "application/pdf"),
    ],
)
def test_the_kind_of_a_file_is_found_by_its_name_or_its_bytes(name: str, body: bytes, kind: str) -> None:
    assert kind_of(name, body) == kind
