"""`gossamer inspect`: entities, errors and warnings in the markup, with their places, and the exit code."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.site import OPEN, Site, harbour, page
from tests.cli.test_extract import run

from gossamer.cli.output import Progress, plain
from gossamer.cli.tools.inspect import short, tree_of
from gossamer.reader.extraction import FLAGS_MEAN, Inspected, Remark, extract, in_order, remarks_on_flags
from gossamer.testing import FakeClock
from gossamer.values.format import counted

GOOD = (
    '<html lang="en"><body vocab="http://schema.org/"><p typeof="Person"><b property="name">Ada</b></p></body></html>'
)
WARNED = '<html>\n<body>\n <p property="nowhere">x</p></body></html>'
BROKEN = '<html><body>\n<script type="application/ld+json">{nonsense</script></body></html>'


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")


def inspect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, markup: str, *words: object
) -> tuple[int, str]:
    file = tmp_path / "page.html"
    file.write_text(markup)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(monkeypatch, capsys, "inspect", "page.html", *words)
    return code, out


def test_entities_are_shown_as_a_tree_with_the_facts_of_each_syntax(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = inspect(monkeypatch, capsys, tmp_path, GOOD)
    assert code == 0
    assert "page.html  3 facts (3 rdfa)  utf-8 (not declared, valid UTF-8)" in out
    assert re.search(r"└── schema:Person\n +└── schema:name: Ada@en\n", out)
    assert "0 errors, 0 warnings" in out


def test_a_warning_is_shown_with_its_place_and_fails_only_a_strict_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = inspect(monkeypatch, capsys, tmp_path, WARNED)
    assert code == 0 and re.search(r"^page\.html:3:2: warning: .+ \[unresolved-term\]$", out, re.MULTILINE)
    assert inspect(monkeypatch, capsys, tmp_path, WARNED, "--strict")[0] == 1
    assert inspect(monkeypatch, capsys, tmp_path, GOOD, "--strict")[0] == 0


def test_roles_for_screen_readers_are_no_entities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nav = '<nav role="navigation">x</nav>'
    _, out = inspect(monkeypatch, capsys, tmp_path, GOOD.replace("</body>", f"{nav}</body>"))
    assert "schema:Person" in out and "navigation" not in out


def test_broken_json_ld_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = inspect(monkeypatch, capsys, tmp_path, BROKEN)
    assert code == 1 and "error: " in out and "[jsonld-broken]" in out and "1 error, 0 warnings" in out


def test_json_has_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = inspect(monkeypatch, capsys, tmp_path, WARNED, "--json", "--base", "https://shop.example/")
    report = json.loads(out)
    (found,) = report["pages"]
    assert code == 0 and (report["errors"], report["warnings"], report["unread"]) == (0, 1, 0)
    assert (found["name"], found["address"], found["unread"]) == ("page.html", "https://shop.example/", None)
    (notice,) = found["notices"]
    assert (notice["kind"], notice["line"], notice["column"], notice["path"]) == (
        "unresolved-term",
        3,
        2,
        "/html/body/p",
    )


def test_unreadable_pages_end_with_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, "inspect", tmp_path / "nowhere.html")
    assert code == 2 and "cannot be read: no such file" in out
    code, _, err = run(monkeypatch, capsys, "inspect", "https://example.org/")
    assert code == 2 and "--contact" in err
    code, _, err = run(monkeypatch, capsys, "inspect", tmp_path)
    assert code == 2 and "there are no pages in" in err and ".svg" in err
    with Site(harbour()).serving() as site:
        code, out, _ = run(monkeypatch, capsys, "inspect", f"{site.root}private/x", *OPEN, "--delay", "0.01")
    assert code == 2 and "disallowed by robots.txt" in out


def test_a_page_on_the_web_is_inspected(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Site(harbour()).serving() as site:
        code, out, _ = run(monkeypatch, capsys, "inspect", f"{site.root}people/1", *OPEN, "--delay", "0.01")
    assert code == 0 and "schema:name: Ada 1" in out


@pytest.fixture
def site(tmp_path: Path) -> Path:
    files = {"good.html": GOOD, "sub/warned.html": WARNED, "sub/broken.htm": BROKEN, "notes.txt": "x", "script.js": "x"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><a property="og:title">x</a></svg>')
    (tmp_path / "b.xhtml").write_text('<html xmlns="http://www.w3.org/1999/xhtml"><body></body></html>')
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


def test_for_a_directory_a_table_of_its_pages_is_printed(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, "inspect", site)
    rows = [line.split() for line in out.splitlines()]
    assert code == 1
    assert ["a.svg", "1", "1", "0", "0"] in rows and ["good.html", "1", "3", "0", "0"] in rows
    assert ["sub/broken.htm", "0", "0", "1", "0"] in rows and ["sub/warned.html", "0", "0", "0", "1"] in rows
    assert ["5", "pages", "2", "4", "1", "1"] in rows
    assert "sub/warned.html:3:2: warning" in out and "schema:name" not in out and "notes.txt" not in out
    assert "schema:name: Ada@en" in run(monkeypatch, capsys, "inspect", site, "--items")[1]


def test_pages_of_a_directory_have_urls_below_the_base(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = run(monkeypatch, capsys, "inspect", site, "--json", "--base", "https://shop.example/pages")
    urls = [found["address"] for found in json.loads(out)["pages"]]
    assert "https://shop.example/pages/sub/warned.html" in urls and len(urls) == 5
    assert err == ""


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "gone.html").symlink_to(site / "nowhere.html")
    (site / "folder.html").mkdir()
    locked = site / "good.html"
    locked.unlink()
    locked.symlink_to("/proc/self/mem")  # a file that can be opened but not read
    code, out, _ = run(monkeypatch, capsys, "inspect", site)
    assert code == 2 and "cannot be read" in out and "not read" in out and "sub/warned.html:3:2" in out
    assert "gone.html" not in out and "folder.html" not in out


def inspected(markup: str) -> Inspected:
    found = extract(markup.encode(), "https://a.example/")
    return Inspected("x", found.address, len(found), dict(found.facts_by_syntax), found.items(), found.notices)


def shown(inspected: Inspected) -> str:
    out = io.StringIO()
    Console(width=200, file=out).print(tree_of(inspected))
    return out.getvalue()


def test_a_page_cannot_send_control_characters_to_the_terminal() -> None:
    markup = '<p vocab="http://schema.org/" typeof="x\x1b[1m" resource="#[bold]\x1b"><b property="name">[red]\x1b[31ma'
    text = shown(inspected(markup))
    assert "\x1b" not in text and "[red]" in text
    assert plain("a\x1b\u202eb\n c" + "d" * 500) == "a��b c" + "d" * 194 + "..."


def test_a_very_long_page_is_cut() -> None:
    text = shown(
        inspected(
            '<p property="og:title">x</p>' * 3
            + "<p property=og:see_also>y" * 1
            + "".join(f"<p property=og:title>{n}" for n in range(2000))
        )
    )
    assert "... and more: see --json" in text and len(text.splitlines()) < 510


def test_a_very_long_list_of_notices_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = inspect(monkeypatch, capsys, tmp_path, '<p property="nowhere">x</p>' * 700)
    assert "... and 200 more: see --json" in out and out.count("[unresolved-term]") == 500
    assert "0 errors, 700 warnings" in out


def test_lists_literals_and_references_are_shown() -> None:
    text = shown(
        inspected(
            '<div vocab="http://schema.org/"><b inlist property="x">1</b><b inlist property="x">2</b>'
            '<i property="y" datatype="xsd:date">2026-01-01</i><a property="z" href="/q">q</a></div>'
        )
    )
    assert "schema:x: a list of 2" in text and "schema:y: 2026-01-01 (xsd:date)" in text
    assert "schema:z: https://a.example/q" in text


def test_names_are_shortened_with_the_longest_prefix_that_fits() -> None:
    assert short("http://schema.org/name") == "schema:name"
    assert short("http://schema.org/") == "http://schema.org/"
    assert short("urn:x") == "urn:x"


def test_flags_that_no_notice_explains_are_described() -> None:
    known = (Remark("error", "jsonld-broken", "said better"),)
    assert list(remarks_on_flags(("jsonld-broken",), known)) == []
    assert [remark.level for remark in remarks_on_flags(("jsonld-broken", "jsonld-repaired"), ())] == [
        "error",
        "warning",
    ]
    (odd,) = remarks_on_flags(("never-heard-of",), ())
    assert odd.level == "warning" and "never-heard-of" in odd.says
    assert list(remarks_on_flags(("not-well-formed",), (Remark("error", "document-error", "x"),))) == []
    assert all(level in ("error", "warning") and says.endswith(".") for level, says in FLAGS_MEAN.values())


def test_notices_are_listed_from_top_to_bottom() -> None:
    lines = [(9, 1), (None, None), (2, 5), (2, 3)]
    ordered = in_order(tuple(Remark("info", "k", "s", "", line, column) for line, column in lines))
    assert [(remark.line, remark.column) for remark in ordered] == [(None, None), (2, 3), (2, 5), (9, 1)]


def test_counts_use_singular_and_plural() -> None:
    assert [counted(number, "page") for number in (0, 1, 1200)] == ["0 pages", "1 page", "1,200 pages"]


def test_progress_is_printed_after_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    with Progress("inspecting", clock) as progress:
        for number in range(1, 101):
            clock.advance(0.1)
            progress.show(f"{number} of 100 pages")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "20 of 100 pages" and len(lines) == 2
    with Progress("inspecting", FakeClock()) as quick:
        quick.show("1 of 100 pages")
    assert capsys.readouterr().err == ""


def test_harbour_pages_pass_a_strict_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect(monkeypatch, capsys, tmp_path, page("Harbour", "Fish.", "/a"), "--strict")[0] == 0


SENTENCE = "The harbour was built for herring boats, and the harbour master keeps the book of every landing. "
ARTICLE = (
    "<title>Old harbour</title><div><ul>"
    + "".join(f"<li><a href='/{n}'>Topic {n}</a></li>" for n in range(30))
    + "</ul></div><div><h1>Old harbour</h1>"
    + f"<p>{SENTENCE * 4}</p>" * 4
    + "</div>"
)


def test_M_C13_the_content_is_shown_with_importances_and_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = inspect(monkeypatch, capsys, tmp_path, ARTICLE)
    assert code == 0
    assert re.search(r"^Content: \d+ of \d+ words, in \d+ blocks? +\(an article was found\)$", out, re.MULTILINE)
    assert re.search(r"^  [01]\.\d\d  p +The harbour was built", out, re.MULTILINE)
    assert re.search(r"^Left out: \d+ words, \d+% of the text +\(searches find it too", out, re.MULTILINE)
    assert re.search(r"^  0\.\d\d  li +Topic", out, re.MULTILINE)
    assert "classic" not in out
    assert "Content: this page has no text." in inspect(monkeypatch, capsys, tmp_path, "<p></p>")[1]


def test_M_C13_the_slope_curve_is_plotted_within_the_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out = inspect(monkeypatch, capsys, tmp_path, ARTICLE, "--slope")
    plot = out[out.index("Tags up to each token") :].splitlines()
    curve = [line.partition("|")[2] for line in plot if re.match(r" *[\d,]* \|", line)]
    assert len(curve) == 14 and all(len(line) <= 60 for line in plot[1:])
    columns = [[row for row, line in enumerate(curve) if line[at : at + 1] == "*"] for at in range(40)]
    assert (all(len(rows) == 1 for rows in columns) and columns[0] > columns[20] > columns[39]) or columns[0] > columns[
        20
    ]
    for name in ("classic", "windowed", "ours"):
        (bar,) = [line for line in plot if line.strip().startswith(f"{name} |")]
        assert "=" in bar and not bar.partition("|")[2].startswith("=")


def test_M_C13_the_slope_as_json_has_points_and_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = inspect(monkeypatch, capsys, tmp_path, ARTICLE, "--slope", "--json")
    page = json.loads(out)["pages"][0]
    slope, content = page["slope"], page["content"]
    assert slope["points"][0] == [0, 1] and slope["points"][-1] == [slope["tokens"] - 1, slope["tags"]]
    assert 0 < slope["i"] < slope["j"] <= slope["tokens"]
    assert slope["ours"] and slope["i"] - 10 < slope["ours"][0][0] and slope["ours"][-1][1] <= slope["tokens"]
    assert content["is_article"] and 0 < content["left_out"] < 1
    assert [block["heading_level"] for block in content["blocks"] if block["heading_level"]] == [1]
    code, _, err = run(monkeypatch, capsys, "inspect", str(tmp_path), "--slope")
    assert code == 2 and "--slope plots one page" in err
