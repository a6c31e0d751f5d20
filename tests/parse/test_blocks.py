"""The blocks of a page and their importance: examples of each kind of page, and properties of all pages."""

import time
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parse.blocks import choice
from gossamer.parse.blocks.choice import CONTENT
from gossamer.parse.blocks.scan import outline_of
from gossamer.parse.blocks.signs import cues_in, names_in
from gossamer.parse.content import blocks_of, content_of, may_have_nosnippet, readable_markup
from gossamer.parse.html.tree import parse_html, scan_html

SENTENCE = "The harbour was built for herring boats, and the harbour master still keeps the book of every landing. "
PARAGRAPHS = [f"{SENTENCE * 3}That was year number {number}." for number in range(6)]
ARTICLE = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
MENU = "".join(f'<li class="menu-item"><a href="/{n}">Topic number {n}</a></li>' for n in range(20))


def content(markup):
    return content_of(scan_html(parse_html(markup.encode()).tree), may_have_nosnippet(markup.encode()))


def blocks(markup):
    return blocks_of(scan_html(parse_html(markup.encode()).tree), may_have_nosnippet(markup.encode()))


def test_M_C13_the_article_is_found_among_menus_teasers_and_comments_without_semantic_elements():
    found = content(
        f'<title>The old harbour</title><div class="top"><ul>{MENU}</ul></div>'
        f'<div class="page"><div class="post"><h1>The old harbour</h1>{ARTICLE}</div>'
        f'<div class="related"><h3>Read also</h3><ul>{MENU}</ul></div>'
        '<div class="newsletter"><p>Subscribe to our newsletter</p></div></div>'
        '<div class="copyright">© 2026 Example. All rights reserved.</div>'
    )
    assert all(text in found.content for text in PARAGRAPHS)
    for noise in ("Topic number 3", "newsletter", "rights reserved"):
        assert noise not in found.content and noise in found.rest
    assert "The old harbour" in found.headings


def test_M_C13_each_block_has_an_importance_and_headings_their_level():
    found = blocks(f"<div><h1>The old harbour</h1>{ARTICLE}<h3>More</h3></div><div><ul>{MENU}</ul></div>")
    assert found.is_article
    assert [(block.text, block.level) for block in found.blocks if block.level] == [("The old harbour", 1), ("More", 3)]
    by_text = {block.text: block.importance for block in found.blocks}
    assert all(0 <= one <= 1 for one in by_text.values())
    assert min(by_text[text] for text in PARAGRAPHS) >= CONTENT > max(by_text[f"Topic number {n}"] for n in range(20))


def test_a_list_of_teasers_is_no_article_and_all_of_it_is_content():
    teasers = "".join(f'<div class="card"><a href="/{n}">Boat {n}</a> <span>{n} euros</span></div>' for n in range(30))
    found = content(f"<header>Shop</header><div>{teasers}</div><footer>Legal</footer>")
    assert "Boat 7" in found.content and "29 euros" in found.content
    assert found.rest == "Shop Legal"


def test_a_form_and_a_page_with_little_text_are_content_as_declared():
    found = content("<header>Site</header><form><label>Name</label> <input><button>Send</button></form>")
    assert (found.content, found.rest) == ("Name", "Site Send")


def test_hidden_text_is_found_but_is_not_content():
    found = content(
        f"<div>{ARTICLE}<p hidden>Secret one</p><p style='color:red; display: NONE'>Secret two</p>"
        "<p>Close <span aria-hidden=true>icon</span></p></div>"
    )
    for text in ("Secret one", "Secret two", "icon"):
        assert text not in found.content and text in found.rest


def test_an_article_that_a_script_will_show_is_not_hidden():
    assert PARAGRAPHS[0] in content(f"<div style='display:none'>{ARTICLE * 2}</div>").content


def test_comments_in_markup_are_no_text_and_do_not_part_words():
    found = content(f"<div>{ARTICLE}<p>harb<!-- <li>no text</li> > -->our wall</p></div>")
    assert "harbour wall" in f"{found.content} {found.rest}" and "no text" not in f"{found.content} {found.rest}"


def test_a_large_aside_may_hold_the_article_and_a_small_one_may_not():
    assert PARAGRAPHS[2] in content(f"<aside><h1>Old harbour</h1>{ARTICLE}</aside><ul>{MENU}</ul>").content
    assert content("<aside><p>Advert</p></aside><p>Text</p>").rest == "Advert"


def test_a_page_that_declares_its_content_is_believed_only_if_nothing_in_it_is_a_sign_of_other_things():
    noise = f'<ul class="related">{MENU}</ul>'
    quiet = f'<ul class="list">{"".join(f"<li>Part {n}</li>" for n in range(9))}</ul>'
    assert "Topic number 3" not in content(f"<main><div>{ARTICLE}</div>{noise}</main>").content
    found = content(f"<div>Teaser</div><main><div>{ARTICLE}</div>{quiet}</main>")
    assert "Part 3" in found.content and found.rest == "Teaser"


def test_text_in_elements_whose_text_is_not_escaped_is_kept():
    found = content("<p>before</p><xmp>a <b> c</xmp><p>after</p>")
    assert (found.content, found.rest) == ("before after", "a <b> c")


def test_two_line_breaks_end_a_block_and_one_does_not():
    page = outline_of("<body><div>one<br>two<br> <br>three <a href=x>four</a></div></body>")
    assert [(block.text, block.linked) for block in page.blocks] == [("one two", 0), ("three four", 4)]


def test_words_of_classes_and_texts_are_told_apart():
    assert names_in(' class="SideBar-left"') == names_in(' id="bar side"') != 0
    assert names_in(' class="x9" href="sidebar"') == 0
    assert cues_in({"newsletter"}) and not cues_in({"harbour"})


_tags = st.sampled_from(
    [
        "div",
        "p",
        "li",
        "ul",
        "td",
        "table",
        "section",
        "article",
        "aside",
        "header",
        "main",
        "h1",
        "h2",
        "span",
        "b",
        "a",
        "br",
        "em",
        "nav",
        "footer",
        "pre",
        "form",
        "script",
        "svg",
    ]
)
_leaf = st.one_of(
    st.sampled_from(["word", "two words", " ", "&amp;", "<!-- no -->", "a<wbr>b"]), st.text("xyzäß ", max_size=9)
)
_markup = st.recursive(
    _leaf,
    lambda inner: st.builds(
        lambda tag, parts, more: f"<{tag}{more}>{''.join(parts)}</{tag}>",
        _tags, st.lists(inner, max_size=5), st.sampled_from(["", " hidden", " class='share'", " data-nosnippet"]),
    ),
    max_leaves=40,
)  # fmt: skip


@given(_markup)
@settings(max_examples=150)
def test_every_letter_of_the_body_is_in_the_content_or_the_rest_or_is_not_read(markup):
    seen = scan_html(parse_html(readable_markup(scan_html(parse_html(markup.encode()).tree)).encode()).tree)
    body = seen.tree.body
    letters = Counter("".join((body.text() if body is not None else "").split()))
    found = content(markup)
    assert Counter("".join(f"{found.content}{found.rest}".split())) == letters
    again = blocks(markup)
    assert Counter("".join("".join([*[block.text for block in again.blocks], again.rest]).split())) == letters


def _seconds(markup):
    start = time.process_time()
    content(markup)
    return time.process_time() - start


def test_F_X4_deep_wide_and_hostile_trees_take_linear_time():
    """Ten times the size may take twenty times the time; a quadratic step takes a hundred times."""
    shapes = (
        lambda n: "<div>" * 400 + "<p>word</p>" * n,
        lambda n: "<aside>" * 300 + f"<p>{SENTENCE}</p>" * n,
        lambda n: "<div hidden>" * 300 + f"<p>{SENTENCE}</p>" * n,
        lambda n: f"<p>{SENTENCE}</p><h2>x</h2>" * n,
        lambda n: f"<header><h1>x</h1></header><div class='c{n}'>{SENTENCE}</div>" * n,
    )
    for shape in shapes:
        small = min(_seconds(shape(400)) for _ in range(3))
        assert min(_seconds(shape(4000)) for _ in range(2)) < max(0.05, small) * 25


def test_a_page_of_very_many_blocks_is_not_scored(monkeypatch):
    monkeypatch.setattr(choice, "MOST_BLOCKS", 10)
    found = blocks(f"<div>{ARTICLE * 2}</div>")
    assert not found.is_article and {block.importance for block in found.blocks} == {1.0}
