import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.extract.pages import ADDRESS, parses_again, read

from gossamer.extract.meta_tags import MOST_CHARACTERS
from gossamer.extract.page import extract
from gossamer.extract.source import MOST_NOTICES, SYNTAXES, Extraction, Notice
from gossamer.extract.terms import LONGEST_LITERAL
from gossamer.parse.html.tree import scan_html
from gossamer.values.url import url_of

PAGE = f"<{ADDRESS}>"
OG = "http://ogp.me/ns#"
CARDS = ("opengraph", "twitter", "dublin-core")


def result(markup: str, *syntaxes: str, base: str = ADDRESS, collects_notices: bool = False) -> Extraction:
    url, page_base = url_of(ADDRESS), url_of(base)
    assert url is not None and page_base is not None
    survey = scan_html(LexborHTMLParser(markup.encode())).survey()
    chosen = syntaxes or CARDS
    return extract(survey, page_base, 1, markup.encode(), url, syntaxes=chosen, collects_notices=collects_notices)


def stated(markup: str, *syntaxes: str) -> list[str]:
    """Predicates and objects of the facts about the page."""
    return [f"{t.predicate} {t.object}" for t in result(markup, *syntaxes).triples if t.subject == PAGE]


def kinds(markup: str) -> list[str]:
    notices: tuple[Notice, ...] = result(markup, collects_notices=True).notices
    return [notice.kind for notice in notices]


@pytest.mark.parametrize("attribute", ["property", "name"])
@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("og:title", f"{OG}title"),
        ("og:image:alt", f"{OG}image:alt"),
        ("article:published_time", "http://ogp.me/ns/article#published_time"),
        ("book:isbn", "http://ogp.me/ns/book#isbn"),
        ("profile:username", "http://ogp.me/ns/profile#username"),
        ("product:price:amount", "http://ogp.me/ns/product#price:amount"),
        ("music:duration", "http://ogp.me/ns/music#duration"),
        ("video:director", "http://ogp.me/ns/video#director"),
        ("place:location:latitude", "http://ogp.me/ns/place#location:latitude"),
        ("fb:app_id", "http://ogp.me/ns/fb#app_id"),
        ("OG:title", f"{OG}title"),
    ],
)
def test_common_prefixes_need_no_declaration(attribute: str, name: str, predicate: str) -> None:
    assert stated(f'<meta {attribute}="{name}" content="x">') == [f'<{predicate}> "x"']


def test_other_prefixes_are_ignored() -> None:
    assert not stated('<meta property="dc:title" content="x"><meta name="fb" content="x"><meta name="og:" content="x">')


def test_a_prefix_declared_by_the_page_has_the_declared_meaning() -> None:
    page = '<html prefix="og: https://ogp.me/ns#"><head xmlns:fb="http://f.example/">'
    assert stated(f'{page}<meta property="og:title" content="x"><meta property="fb:admins" content="y">') == [
        '<https://ogp.me/ns#title> "x"',
        '<http://f.example/admins> "y"',
    ]


@pytest.mark.parametrize(
    ("page", "suffix"),
    [
        ('<html lang="en-GB"><meta property="og:title" content="x">', "@en-gb"),
        ('<html lang="en"><head lang="fr"><meta property="og:title" content="x">', "@fr"),
        ('<html lang="en"><meta property="og:title" content="x" lang="de">', "@de"),
        ('<html lang="en"><meta property="og:title" content="x" lang="">', ""),
        ('<html xml:lang="nl"><meta property="og:title" content="x">', "@nl"),
        ('<html lang="not a tag"><meta property="og:title" content="x">', ""),
        ('<body><div lang="it"><p><meta property="og:title" content="x">', "@it"),
    ],
)
def test_rdfa_reads_the_same_fact_from_the_element(page: str, suffix: str) -> None:
    found = read(page)
    assert [" ".join(triple) for triple in found.triples] == [f'{PAGE} <{OG}title> "x"{suffix}']
    assert found.stated_in == [1 << SYNTAXES.index("rdfa") | 1 << SYNTAXES.index("opengraph")]


def test_the_facts_are_about_the_page_with_any_base() -> None:
    found = result('<meta property="og:title" content="x">', base="https://shop.example/other/")
    assert [triple.subject for triple in found.triples] == [PAGE]


def test_repeated_properties_keep_their_order() -> None:
    page = "".join(f'<meta property="og:image" content="https://i.example/{n}.png">' for n in (3, 1, 2))
    assert stated(page, "opengraph") == [f'<{OG}image> "https://i.example/{n}.png"' for n in (3, 1, 2)]
    firsts = [t.object for t in read(page).triples if t.predicate == f"<{OG}image>"]
    assert firsts[0] == '"https://i.example/3.png"'


def test_a_structured_property_describes_the_last_entity_of_its_kind() -> None:
    page = (
        '<meta property="og:image" content="https://i.example/a.png"><meta property="og:image:width" content="300">'
        '<meta property="og:image:alt" content="A"><meta property="og:image" content="/b.png">'
        '<meta property="og:video" content="https://i.example/v"><meta property="og:image:width" content="300">'
    )
    found = result(page)
    assert [" ".join(triple) for triple in found.triples if triple.subject != PAGE] == [
        f'<https://i.example/a.png> <{OG}image:width> "300"',
        f'<https://i.example/a.png> <{OG}image:alt> "A"',
        f'<https://shop.example/b.png> <{OG}image:width> "300"',
    ]
    assert parses_again(found)


@pytest.mark.parametrize("opening", ["og:image:url", "og:image:secure_url"])
def test_other_names_for_an_image_start_one_too(opening: str) -> None:
    page = (
        f'<meta property="{opening}" content="https://i.example/a"><meta property="og:image:type" content="image/png">'
    )
    objects = [triple.object for triple in result(page).triples if triple.subject == "<https://i.example/a>"]
    assert '"image/png"' in objects


def test_an_image_and_its_url_are_one_entity() -> None:
    page = (
        '<meta property="og:image" content="https://i.example/a"><meta property="og:image:url" content="https://i.example/a">'
        '<meta property="og:image:secure_url" content="https://s.example/a">'
        '<meta property="og:image:width" content="3">'
    )
    about = {triple.subject for triple in result(page).triples}
    assert about == {PAGE, "<https://i.example/a>"}


def test_songs_and_actors_with_urls_have_structured_properties() -> None:
    page = (
        '<meta property="music:song" content="https://m.example/s"><meta property="music:song:track" content="2">'
        '<meta property="video:actor" content="Some One"><meta property="video:actor:role" content="Hamlet">'
    )
    others = [" ".join(triple) for triple in result(page).triples if triple.subject != PAGE]
    assert others == ['<https://m.example/s> <http://ogp.me/ns/music#song:track> "2"']


def test_twitter_cards_are_read_from_name_and_property_and_value() -> None:
    page = (
        '<meta name="twitter:card" content="summary"><meta property="twitter:title" content="T">'
        '<meta name="twitter:site" value="@x"><meta name="twitter:image:alt" content="A">'
    )
    names = ("card", "title", "site", "image:alt")
    words = ("summary", "T", "@x", "A")
    assert stated(page, "twitter") == [
        f'<https://dev.twitter.com/cards#{name}> "{word}"' for name, word in zip(names, words, strict=True)
    ]


def test_one_meta_may_have_two_names() -> None:
    page = '<meta property="og:title" name="twitter:title" content="x"><meta property="og:a og:b" content="y">'
    assert result(page).syntaxes == ("opengraph", "twitter")
    assert stated(page, "opengraph")[1:] == [f'<{OG}a> "y"', f'<{OG}b> "y"']


def test_M_Z1_cards_alone_do_not_make_a_page_one_with_rdfa() -> None:
    cards = '<meta property="og:title" content="x"><meta property="article:tag" content="y"><meta property="og:url">'
    assert read(cards).syntaxes == ("opengraph",)
    assert read(cards + '<p property="http://p.example/p">x').syntaxes == ("rdfa", "opengraph")
    assert read(cards + '<meta property="dc:title" content="x">').syntaxes == ("rdfa", "opengraph")
    assert result(cards, "rdfa").syntaxes == ("rdfa",)


def test_nothing_is_stated_without_content() -> None:
    page = (
        '<meta property="og:title"><meta property="og:type" content=""><meta name="twitter:card"><meta name="DC.title">'
    )
    assert result(page).triples == []


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ('<meta property="og:title">', "opengraph-no-content"),
        ('<meta name="twitter:card">', "twitter-no-content"),
        ('<meta name="DC.title">', "dublin-core-no-content"),
        ('<meta name="og:title" content="x">', "opengraph-in-name"),
        ('<meta property="og:image" content="/x.png">', "opengraph-relative"),
        ('<meta property="og:image:width" content="3">', "opengraph-structured-alone"),
        ('<meta property="og:title" content="a"><meta property="og:title" content="b">', "opengraph-repeated"),
        ('<meta property="og:title" content="a">', "opengraph-missing"),
        ('<meta name="twitter:title" content="a">', "twitter-missing"),
        ('<meta name="twitter:card" value="summary">', "twitter-value"),
        ('<meta name="DC.title" content="x">', "dublin-core-undeclared"),
    ],
)
def test_authoring_errors_give_notices(page: str, kind: str) -> None:
    assert kind in kinds(page)
    assert result(page).notices == ()


def test_dublin_core_is_read_with_and_without_its_declaration() -> None:
    link = '<link rel="schema.DC" href="http://purl.org/dc/elements/1.1/">'
    for page in ('<meta name="DC.title" content="x">', '<meta name="dc.Title" content="x">' + link):
        assert stated(page) == ['<http://purl.org/dc/elements/1.1/title> "x"']
    assert stated('<meta name="dcterms:created" content="x">') == ['<http://purl.org/dc/terms/created> "x"']


@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("DCTERMS.isPartOf", "terms/isPartOf"),
        ("dcterms.ispartof", "terms/isPartOf"),
        ("DCTERMS.title", "terms/title"),
        ("DC.Date.Issued", "terms/issued"),
        ("DC.date.modified", "terms/modified"),
        ("DC.coverage.spatial", "terms/spatial"),
        ("DC.creator.personalName", "elements/1.1/creator"),
        ("DC.abstract", "terms/abstract"),
    ],
)
def test_dublin_core_names_are_known_in_any_case(name: str, predicate: str) -> None:
    assert stated(f'<meta name="{name}" content="x">') == [f'<http://purl.org/dc/{predicate}> "x"']


def test_names_unknown_to_dublin_core_are_ignored() -> None:
    assert not stated('<meta name="DC.nonsense" content="x"><meta name="a.b" content="x"><meta name="DC." content="x">')


def test_other_schemas_apply_if_declared_anywhere_on_the_page() -> None:
    page = '<meta name="AGLS.function" content="x"><link rel="schema.AGLS" href="http://a.example/terms/">'
    assert stated(page) == ['<http://a.example/terms/function> "x"']


@pytest.mark.parametrize(
    ("scheme", "value"),
    [
        ("DCTERMS.W3CDTF", '"2026"^^<http://purl.org/dc/terms/W3CDTF>'),
        ("w3cdtf", '"2026"^^<http://purl.org/dc/terms/W3CDTF>'),
        ("dcterms:URI", '"2026"^^<http://purl.org/dc/terms/URI>'),
        ("LCSH", '"2026"@en'),
        ("eGMS.IPSV", '"2026"@en'),
    ],
)
def test_a_scheme_that_is_a_datatype_types_the_value(scheme: str, value: str) -> None:
    page = f'<html lang="en"><meta name="DC.date" scheme="{scheme}" content="2026">'
    assert stated(page) == [f"<http://purl.org/dc/elements/1.1/date> {value}"]


def test_dublin_core_links_have_urls_as_values() -> None:
    page = '<link rel="DCTERMS.license nofollow" href="/l"><link rel="DC.relation" href=""><link rel="a.b" href="/x">'
    assert stated(page) == ["<http://purl.org/dc/terms/license> <https://shop.example/l>"]


def test_more_names_than_are_read_are_flagged() -> None:
    assert result(f'<link rel="{"DC.relation " * 9}" href="/x">', "dublin-core").flags == ("too-many-names",)
    assert result(f'<link rel="{"DC.relation " * 8}" href="/x">', "dublin-core").flags == ()


def test_F_M6_notices_of_all_syntaxes_are_bounded_together() -> None:
    page = '<meta name="DC.title" content="x"><meta property="og:title"><meta name="twitter:card">' * MOST_NOTICES
    found = result(page, *SYNTAXES, collects_notices=True)
    assert len(found.notices) == MOST_NOTICES
    assert "too-many-notices" in found.flags


def test_F_M6_a_hundred_thousand_metas_are_bounded() -> None:
    found = read("".join(f'<meta property="og:tag" content="{n}">' for n in range(100_000)))
    assert len(found.triples) == 50_000
    assert "too-many-facts" in found.flags


def test_F_G3_one_long_value_is_not_multiplied() -> None:
    names = " ".join(f"og:n{n}" for n in range(1_000))
    found = result(f'<meta name="{names}" content="{"x" * 100_000}">')
    assert sum(len(fact.object) for fact in found.triples) <= MOST_CHARACTERS + LONGEST_LITERAL
    assert result(f'<meta property="og:title" content="{"x" * (2 << 20)}">').flags == ("literal-too-long",)


@pytest.mark.parametrize("words", ['a"b', "line\nbreak", "\u202e", "a\\", "é \U0001f600", "\x01"])
def test_F_G4_any_fact_can_be_parsed_again(words: str) -> None:
    quoted = words.replace('"', "&quot;")
    page = f'<meta property="og:image" content="{quoted}"><meta property="og:image:x y<>" content="{quoted}">'
    assert parses_again(result(f'{page}<meta name="DC.title" content="{quoted}">'))


def test_a_second_reading_is_equal() -> None:
    page = '<meta property="og:image" content="/a"><meta property="og:image:alt" content="x"><meta name="DC.type">'
    assert result(page).triples == result(page).triples
