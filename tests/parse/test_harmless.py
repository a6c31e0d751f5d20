"""The safe copy of a page: it runs, loads and sends nothing."""

import re
from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.parse.html.positions import elements_at
from gossamer.parse.html.tree import parse_html
from gossamer.parse.safe_copy import CopyMark, safe_copy, safe_style, safe_text_copy
from gossamer.values.url import Url

PAGE = Url("http://a.test/dir/page")
ALLOWED_URL = re.compile(r"/page\?url=[\w.%~-]+|#.*")


def copy_of(markup: str, marks: dict[str, CopyMark] | None = None) -> str:
    def link(url: Url) -> str:
        return f"/page?url={quote(url.text, safe='')}"

    return safe_copy(parse_html(markup.encode()).tree, PAGE, link, marks or {})


def body_of(markup: str) -> str:
    return copy_of(markup).partition("<body>")[2].partition("</body>")[0]


@pytest.mark.parametrize(
    "markup",
    [
        "<script>run()</script>",
        "<svg><script>run()</script><a xlink:href=javascript:run()>x</a></svg>",
        "<math><mtext><script>run()</script></math>",
        "<template><img src=x onerror=run()></template>",
        "<object data=x></object><embed src=x><applet code=x></applet>",
        "<iframe src=javascript:run() srcdoc='<script>run()</script>'></iframe>",
        "<form action=http://evil.test><input autofocus onfocus=run()><button formaction=javascript:run()></form>",
        "<meta http-equiv=refresh content='0;url=http://evil.test/'><link rel=prefetch href=//evil.test/x>",
        "<base href=http://evil.test/><area href=javascript:run()><map><area href=x></map>",
        "<video src=x poster=y><source src=z></video><audio src=x></audio><img src=x srcset=y>",
        "<div onclick=run() style='background:url(http://evil.test/)' background=http://evil.test/>x</div>",
        "<noscript><p title='</noscript><img src=x onerror=run()>'></noscript>",
        "<a href='jAvAsCrIpT:run()'>a</a><a href='vbscript:x'>c</a>",
        "<a href='data:text/html,<script>run()</script>'>b</a><a href=' java\tscript:run()'>d</a>",
        "<style>@import 'http://evil.test/x.css'; p { background: u\\72l(http://evil.test) }</style>",
        "<style></style><script>run()</script></style>",
        "<custom-one onload=run()><p>x</custom-one><marquee onstart=run()>x</marquee>",
    ],
)
def test_F_W3_a_copy_contains_nothing_that_runs_loads_or_sends(markup: str) -> None:
    copy = copy_of(f"<html><body>{markup}<p>end")
    tree = LexborHTMLParser(copy)
    tags = {node.tag for node in tree.css("body *")}
    assert not tags & {
        "script",
        "svg",
        "math",
        "template",
        "iframe",
        "object",
        "embed",
        "form",
        "input",
        "img",
        "video",
    }
    assert not tags & {"button", "base", "link", "meta", "audio", "source", "style"} and "end" in copy
    for node in tree.css("*"):
        assert not [name for name in node.attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        href = node.attributes.get("href")
        assert href is None or ALLOWED_URL.fullmatch(href), href
    assert "url(" not in copy and "@import" not in copy and "evil.test/x" not in copy


def test_links_lead_to_our_pages_and_out_of_the_frame() -> None:
    body = body_of("<base href=/other/><a href=x#y>one</a><a href='#here'>two</a><p id=here>")
    assert '<a href="/page?url=http%3A%2F%2Fa.test%2Fother%2Fx" target="_top" rel="noreferrer">one</a>' in body
    assert '<a href="#here">two</a>' in body and '<p id="here">' in body


def test_images_are_replaced_by_their_alternative_texts() -> None:
    assert (
        body_of("<img src=x alt='a <b>dog</b>'>")
        == '<span class="gossamer-image">image: a &lt;b&gt;dog&lt;/b&gt;</span>'
    )
    assert body_of("<input type=hidden value=x>") == ""


def test_elements_that_state_facts_are_marked_and_link_back() -> None:
    marks = {
        "/html/body/p[2]": CopyMark("gossamer-1", "/page?url=x#at-1", "1 fact stated here"),
        "/html/head/meta": CopyMark("gossamer-2", "/page?url=x#at-2", "2 facts stated here"),
        "/html/body/table/tbody/tr": CopyMark("gossamer-3", "/b", "x"),
        "/html/body/none": CopyMark("gossamer-4", "/c", "x"),
        "/html/body/a": CopyMark("gossamer-5", "/d", "x"),
    }
    copy = copy_of("<!doctype html><meta name=x><p>a<p>b<table><tr><td>c</table><a href=/x>d</a>", marks)
    tree = LexborHTMLParser(copy)
    assert tree.css_first("p:nth-of-type(2) > a#gossamer-1").attributes["href"] == "/page?url=x#at-1"
    assert {node.id for node in tree.css(".gossamer-head > a")} == {"gossamer-2", "gossamer-4"}
    assert tree.css_first("tr#gossamer-3") and tree.css_first("a#gossamer-5 + a")


def test_a_page_cannot_imitate_our_marks() -> None:
    assert body_of("<p id=gossamer-1 class='x gossamer-mark'>a <a href='#gossamer-1'>b</a>") == "<p>a <a>b</a></p>"


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        ("p { color: red }", "p { color: red }"),
        ("p{color:red;background:url(x);margin:0}", "p{color:red;;margin:0}"),
        ("p{/* c */color:red}", "p{ color:red}"),
        ("p{width:expression(run())}", "p{}"),
        ("a{background:URL (x)}", "a{}"),
        (".md\\:flex{color:red}", "{color:red}"),
        ("p{background:image-set('x' 1x)}q{top:0}", "p{}q{top:0}"),
        ("u/**/rl(x)", "u rl(x)"),
        ("</style><script>", ""),
    ],
)
def test_style_that_could_load_resources_is_removed(css: str, kept: str) -> None:
    assert safe_style(css) == kept


def test_a_style_sheet_that_is_too_long_is_left_out() -> None:
    assert safe_style("p{}" * 300_000) == ""


def test_a_plain_text_is_shown_as_text() -> None:
    assert "<pre>&lt;script&gt;run()&lt;/script&gt;</pre>" in safe_text_copy("<script>run()</script>", "x")


def test_elements_are_found_by_their_paths() -> None:
    tree = parse_html(b"<p>a<p><b>x</b><b>y</b><x:y>z</x:y>").tree
    assert tree.root is not None
    paths = [
        "/html/body/p[2]/b[2]",
        "/html/body/p[2]/*[3]",
        "/html/body/p[9]",
        "",
        "/",
        "x",
        "/html/body/p[0]",
        "/html",
    ]
    found = elements_at(tree.root, paths)
    assert {path: node.tag for path, node in found.items()} == {paths[0]: "b", paths[1]: "x:y", "/html": "html"}
    assert found[paths[0]].text() == "y"


def test_depth_and_odd_bytes_cause_no_error() -> None:
    assert "deep" in copy_of("<div>" * 5000 + "deep")
    assert copy_of("") and copy_of("\x00<p\x00>\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
