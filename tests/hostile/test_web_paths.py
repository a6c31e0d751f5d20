"""Paths that leave the directory, and texts that break out of a log line, a header or a script (FAULTS W15, W17)."""

import csv
import io
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.web.site import LONG_S, Answer, Site, make_collection, serving, trouble_in

from gossamer.cli.serve import print_error
from gossamer.store.directory import Directory

SECRET = "token"


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    return make_collection(tmp_path_factory.getbasetemp() / "web")


@pytest.fixture(scope="module")
def site(collection: Directory) -> Iterator[Site]:
    with serving(collection) as served:
        yield served


def raw(site: Site, target: str) -> Answer:
    """The answer to a target sent as it is, which no client library would do."""
    with closing(socket.create_connection(("127.0.0.1", site.port), timeout=LONG_S)) as connection:
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        received = b""
        while piece := connection.recv(65536):
            received += piece
    start, _, body = received.partition(b"\r\n\r\n")
    return Answer(int(start.split(b" ", 2)[1]), {"head": start.decode("latin-1")}, body)


PARENTS = ["..", "%2e%2e", "%2E%2E", "..%5c", "%2e%2e%5c", "..%2f", "%2e%2e%2f", "....//", "..;", "%252e%252e", ".%00."]


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("begin", ["/static/", "/static/vendor/", "/export/", "/sparql.", "/", "/entity."])
def test_F_W15_no_path_leaves_the_directory(site: Site, collection: Directory, parent: str, begin: str) -> None:
    secret = (collection.root / SECRET).read_text().strip()
    for depth in (1, 3, 12):
        for name in ("etc/passwd", "guard.py", "web/access/guard.py", "templates/frame.html", SECRET):
            answer = raw(site, begin + f"{parent}/" * depth + name)
            assert answer.status in (400, 404, 406), answer.headers["head"]
            assert b"root:" not in answer.body and b"import" not in answer.body and secret.encode() not in answer.body


@pytest.mark.parametrize("target", ["/static/%00", "/static/gossamer.css%00.html", "/%00", "/static//etc/passwd",
                                    "/static/" + quote("/etc/passwd", safe=""), "/static/" + "a/" * 5000,
                                    "/static/" + "a" * 5000])  # fmt: skip
def test_F_W15_odd_names_are_not_found(site: Site, target: str) -> None:
    assert raw(site, target).status in (400, 404, 414)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "../../token", "http://a.test/%2e%2e/%2e%2e/token", "/etc/x",
                                 "http://hostile.test/page/0\0", "http://[::1"])  # fmt: skip
def test_F_W15_a_page_is_a_url_and_not_a_file(site: Site, url: str) -> None:
    for route in ("/page", "/page.json", "/page/cached", "/page/words", "/entity"):
        answer = site.ask(f"{route}?url={quote(url, safe='')}&iri={quote(url, safe='')}&at=-1")
        assert answer.status < 500 and b"root:" not in answer.body


@pytest.mark.parametrize("odd", ["a\r\nSet-Cookie: x=1", "a\nX-Odd: 1", "a\r\n\r\n<script>", "\x1b[31m", "a\u2028b"])
def test_F_W17_no_text_of_a_request_becomes_a_header(site: Site, odd: str) -> None:
    word = quote(odd, safe="")
    for target in (f"/?q={word}", f"/page?url={word}", f"/{word}", f"/sparql?query={word}", f"/door?next={word}",
                   f"/static/{word}", f"/{word}?token=x", f"/export/pages.csv?q={word}"):  # fmt: skip
        head = raw(site, target).headers["head"].lower()
        assert "set-cookie: x" not in head and "x-odd" not in head and "<script>" not in head


def test_F_W17_an_error_on_the_terminal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("web.unreadable", path="/a\r\nweb.fine path=/b\x1b[2J", why="x\ny")
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and "\x1b" not in output and "\r" not in output


def test_F_W17_the_log_of_the_server_has_no_text_of_the_requests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(Directory(tmp_path / "new")) as fresh:
        for target in ("/?token=sesame-open", "/%0d%0aforged", "/?q=%0d%0aforged"):
            raw(fresh, target)
        fresh.ask("/", headers={"User-Agent": "forged\tagent", "Authorization": "Bearer sesame-open"})
    shown = capfd.readouterr()
    assert "sesame" not in shown.out + shown.err and "forged" not in shown.out + shown.err


def routes_of(site: Site) -> list[str]:
    """Every path of the API description with a GET method, its parameters filled with a hostile text."""
    hostile = quote('zebrafinch</script><script>x="=cmd"', safe="")
    found = []
    for path, methods in site.ask("/openapi.json").json["paths"].items():
        if "get" in methods and "{" not in path and "live" not in path:
            found += [
                path,
                f"{path}?q={hostile}&url={hostile}&iri={hostile}&host={hostile}&in={hostile}",
                f"{path}?q=zebrafinch",
            ]
    query = quote('SELECT * { VALUES ?x { "=cmd" "@cmd" "+cmd" "-cmd" "\\tcmd" "</script>" -5 "-5" } }', safe="")
    return [*found, *[f"/sparql{kind}?query={query}" for kind in ("", ".json", ".xml", ".csv", ".tsv")]]


def test_F_W17_data_is_never_sniffed_as_a_page_and_no_cell_is_a_formula(site: Site) -> None:
    """On every route, JSON has its type and is not sniffed, and no cell begins like a formula, except numbers."""
    kinds: Counter[str] = Counter()
    for target in routes_of(site):
        answer = site.ask(target, accept="*/*")
        kind = answer.headers.get("content-type", "").partition(";")[0]
        kinds[kind] += 1
        assert answer.status != 500 and answer.headers["x-content-type-options"] == "nosniff", target
        assert not any("\n" in value or "\r" in value for value in answer.headers.values())
        if kind == "text/html":
            assert trouble_in(answer.page) == [], target
        if target.partition("?")[0].endswith(".json"):
            assert kind.endswith("json"), target
            json.loads(answer.body)
        if kind in ("text/csv", "text/tab-separated-values"):
            marks = {"delimiter": "," if kind == "text/csv" else "\t"}
            for row in csv.reader(io.StringIO(answer.text, newline=""), **marks):  # type: ignore[arg-type]
                for cell in row:
                    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or is_number(cell), (target, cell)
    assert kinds["application/json"] > 20 and kinds["text/csv"] > 8 and kinds["text/tab-separated-values"] == 1, kinds


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_F_X15_numbers_of_a_query_stay_numbers_in_its_tables(site: Site) -> None:
    query = quote('SELECT ?x { VALUES ?x { -5 "=cmd" "a\\"=b" } }', safe="")
    assert site.ask(f"/sparql.csv?query={query}").text.split("\r\n") == ["x", "-5", "'=cmd", '"a""=b"', ""]
    tsv = site.ask(f"/sparql.tsv?query={query}").text.splitlines()
    assert tsv[2] == '"\\u003Dcmd"' and tsv[1].startswith('"\\u002D5"^^'), "the same terms, escaped as in Turtle"


@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"type=t{n}" for n in range(300)),
        "&".join(f"{name}=v{n}" for n in range(25) for name in ("type", "site", "lang", "property", "not_type")),
        "q=" + "+".join(f"site:s{n}.test" for n in range(300)),
        "q=" + "a" * 5_000,
        "&".join(f"x{n}=1" for n in range(5_000)),
        "&".join("q=harbour" for _ in range(5_000)),
        "type=" + "t" * 3_000,
    ],
    ids=["filters", "kinds", "typed", "long", "parameters", "repeated", "value"],
)
def test_F_X15_a_search_that_asks_for_too_much_gets_a_small_answer(site: Site, query: str) -> None:
    for path in ("/", "/search.json", "/search.csv", "/export/pages.csv"):
        answer = site.ask(f"{path}?{query}")
        assert answer.status in (200, 400) and len(answer.body) < 1 << 20, (path, answer.status, len(answer.body))
    assert site.ask("/" + "a/" * 20_000).status in (404, 414)


def test_F_W17_json_is_never_sniffed_as_a_page(site: Site) -> None:
    answer = site.ask("/search.json?q=zebrafinch")
    assert "</script>" in answer.text, "not escaped"
    assert (
        answer.headers["content-type"] == "application/json" and answer.headers["x-content-type-options"] == "nosniff"
    )
