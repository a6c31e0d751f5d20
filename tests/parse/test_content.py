"""The content block, the rest, and the metadata in the head."""

from gossamer.parse.content import LONGEST_TITLE, MOST_HEADINGS, content_of, head_of, may_have_nosnippet
from gossamer.parse.html.tree import parse_html, scan_html


def blocks(markup):
    return content_of(scan_html(parse_html(markup.encode()).tree), may_have_nosnippet(markup.encode()))


def head(markup):
    return head_of(scan_html(parse_html(markup.encode()).tree))


def test_M_C13_navigation_header_footer_and_asides_are_not_the_content():
    found = blocks(
        "<header>Site</header><nav><ul><li>Home</li></ul></nav><p>The text.</p>"
        "<aside>Advert</aside><footer>Legal</footer>"
    )
    assert found.content == "The text."
    assert found.rest == "Site Home Advert Legal"


def test_text_marked_as_nosnippet_belongs_to_the_rest():
    found = blocks(
        "<main><h1>Fish</h1><p>Open <span data-nosnippet>cl<b>os</b>ed</span> text.</p>"
        "<div DATA-NOSNIPPET='false'><h2>Hidden</h2><nav>menu</nav><section data-nosnippet>deep</section></div>"
        "<p data-nosnippet>A paragraph does not count.</p></main><footer><div data-nosnippet>foot</div></footer>"
    )
    assert found.content == "Fish Open text. A paragraph does not count."
    assert found.rest == "closed Hidden menu deep foot" and found.headings == ("Fish",) and found.bold == ()
    whole = blocks("<body><section data-nosnippet><main>All of it.</main></section></body>")
    assert (whole.content, whole.rest) == ("", "All of it.")
    unclosed = blocks("<p>before</p><div data-nosnippet>never closed <p>after")
    assert (unclosed.content, unclosed.rest) == ("before", "never closed after")


def test_scripts_styles_and_templates_are_not_text():
    found = blocks(
        "<p>a</p><script>s()</script><style>p{}</style><noscript><p>n</p></noscript><template><p>t</p></template>"
        "<svg><text>v</text></svg><select><option>o</option></select>"
    )
    assert (found.content, found.rest) == ("a", "")


def test_the_main_element_is_the_content_when_it_holds_most_of_the_text():
    found = blocks("<div>Teaser</div><main><p>One two three four five</p></main><div>More</div>")
    assert found.content == "One two three four five"
    assert found.rest == "Teaser More"


def test_a_main_element_with_little_in_it_does_not_hide_the_rest():
    found = blocks("<main>Loading</main><div>One two three four five six seven</div>")
    assert found.content == "Loading One two three four five six seven"
    assert found.rest == ""


def test_many_articles_are_all_content():
    assert blocks("<article>A</article><article>B</article>").content == "A B"


def test_the_header_of_an_article_belongs_to_it():
    found = blocks("<header>Site</header><article><header><h1>Title</h1></header><p>Text of it</p></article>")
    assert found.content == "Title Text of it"
    assert found.headings == ("Title",)


def test_words_are_joined_across_inline_elements_and_separated_across_blocks():
    found = blocks(
        "<p><b>J</b>ohn <a href=x>D<i>o</i>e</a></p><ul><li>a</li><li>b</li></ul>line<br>break super<wbr>man"
    )
    assert found.content == "John Doe a b line break superman"


def test_white_space_is_folded_including_wide_spaces():
    assert blocks("<p>a\n\n   b\t\u00a0c\u3000d</p>").content == "a b c d"


def test_headings_are_listed_once_in_order_up_to_a_limit():
    found = blocks("<h1>A</h1><h2>B <b>b</b></h2><h2></h2><h1>A</h1><nav><h2>Menu</h2></nav>")
    assert found.headings == ("A", "B b")
    assert len(blocks("".join(f"<h2>{n}</h2>" for n in range(1000))).headings) == MOST_HEADINGS


def test_an_empty_page_or_a_frameset_has_no_content():
    assert blocks("<frameset><frame src=x></frameset>") == ("", "", (), ())
    assert blocks("") == ("", "", (), ())


def test_the_head_has_title_description_and_language():
    found = head(
        '<html lang="de-AT"><title> A \n title </title><meta name="Description" content=" what\n it is ">'
        '<meta property="og:description" content="other"><meta name="description" content="second">'
    )
    assert (found.title, found.description, found.language) == ("A title", "what it is", "de-AT")
    assert head('<meta property="og:description" content="other">').description == "other"
    assert head("<p>x") == ("", "", None, ())


def test_F_M6_a_title_of_ten_megabytes_is_clipped():
    assert len(head("<title>" + "x" * 10_000_000).title) == LONGEST_TITLE


def test_F_M6_many_metas_are_read():
    assert len(head('<meta name="robots" content="x">' * 20_000).metas) == 20_000


def test_elements_inside_removed_elements_are_not_read_again() -> None:
    """Nodes of a removed subtree no longer exist and must not be read."""
    menus = "".join(f"<header><h2>menu {n}</h2><nav><b>inner</b> {n}</nav></header>" for n in range(50))
    dropped = "".join(f"<noscript><h1>gone {n}</h1><main>gone</main><nav>gone</nav></noscript>" for n in range(50))
    found = blocks(
        f"<body>{dropped}<nav>{menus}</nav><main><header><h1>Kept</h1></header><p>Wo<i>r</i>ds</p></main></body>"
    )
    assert found.content == "Kept Words"
    assert found.headings == ("Kept",)
    assert "gone" not in found.rest and found.rest.count("inner") == 50


def test_a_removed_part_ends_at_the_next_element_outside_it() -> None:
    found = blocks(
        "<div><nav><ul><li><h2>Menu</h2></li></ul></nav> words <!-- none --></div><h2>One</h2>"
        "<section><p>text</p><aside><h3>Aside</h3></aside></section><h3>Two</h3>"
        "<footer><p><b>Legal</b></p></footer> the end"
    )
    assert found.headings == ("One", "Two")
    assert (found.content, found.rest) == ("words One text Two the end", "Menu Aside Legal")
    assert found.bold == ()


def test_an_ignored_part_may_last_until_the_end_of_the_page() -> None:
    found = blocks("<p>a <b>bold</b></p><div><div><object><p><b>none</b></p></object> <!-- --></div> tail</div>")
    assert (found.content, found.bold) == ("a bold tail", ("bold",))


def test_the_title_of_a_picture_is_not_the_title_of_the_page() -> None:
    assert head("<title>Page</title><svg><title>Picture</title></svg>").title == "Page"
    assert head("<p>none</p>").title == ""
