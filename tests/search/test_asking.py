"""Search beyond plain words: word forms, fields, link texts, entities, facets, corrections."""

import random
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise

import pytest
from rich.console import Console
from tests.views.words import forms

from gossamer.base.clock import SECOND, from_words
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.cli.ask.search import show
from gossamer.search.find import FACETS, Hit, Search, SearchAnswer
from gossamer.search.query import parse
from gossamer.testing import FakeClock
from gossamer.values.link import Link
from gossamer.values.page import NamedEntity, Page, Reading
from gossamer.values.url import Url
from gossamer.views.links.reader import LinksReader
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.snippets import Segment
from gossamer.views.words.writer import IndexWriter

SCHEMA = "http://schema.org/"
PERSON, PLACE, ARTICLE = f"{SCHEMA}Person", f"{SCHEMA}Place", f"{SCHEMA}Article"


@dataclass
class SearchSetup:
    index: IndexWriter
    links: LinksWriter
    search: Search
    clock: FakeClock

    def put(self, *readings: Reading) -> None:
        for view in (self.index, self.links):
            view.replace(readings)
            view.commit()
        self.clock.advance(2)

    def find(self, text: str, *facets: str) -> SearchAnswer:
        return self.search.find(parse(text), facets)

    def urls(self, text: str) -> list[str]:
        return [hit.url for hit in self.find(text).hits]


@pytest.fixture(params=forms.NAMES)
def setup(request, tmp_path):
    with forms.form_of(request) as form:
        yield from _setup(form, tmp_path)


def _setup(form, tmp_path):
    index, links = form.writer(tmp_path / "i"), LinksWriter(tmp_path / "l.db", DiskFiles(), silent)
    index.open()
    links.open()
    clock = FakeClock()
    search = Search(form.searcher(tmp_path / "i"), LinksReader(tmp_path / "l.db"), clock)
    yield SearchSetup(index, links, search, clock)
    for part in (search, index, links):
        part.close()


def reading(url: str, content: str = "", links: tuple[tuple[str, str], ...] = (), **more: object) -> Reading:
    names = ("types", "properties", "things", "syntaxes")
    of_reading = {name: more.pop(name) for name in names if name in more}
    at = more.pop("at", 1)
    found = tuple(Link(Url(target), text) for target, text in links)
    more = {"language": "en"} | more
    page = Page(Url(url), "text/html", "utf-8", content=content, links=found, **more)
    return Reading(1, at, page, **of_reading)


def test_other_forms_of_a_word_are_found_after_the_exact_one_and_are_highlighted(setup):
    setup.put(
        reading("http://a.test/1", "He was fishing in the harbour"),
        reading("http://a.test/2", "Those harbours are very famous today"),
    )
    assert setup.urls("harbours") == ["http://a.test/2", "http://a.test/1"]
    assert setup.urls("harbour") == ["http://a.test/1", "http://a.test/2"]
    (hit,) = setup.find("fished").hits
    assert [part.text for part in hit.snippet if part.is_match] == ["fishing"]


def test_a_quoted_word_finds_no_other_forms(setup):
    setup.put(reading("http://a.test/1", "one harbour"), reading("http://a.test/2", "many harbours"))
    assert setup.urls('"harbours"') == ["http://a.test/2"]
    assert setup.urls('"many harbour"') == []


def test_words_are_stemmed_in_the_languages_of_the_collection(setup):
    setup.put(
        reading("http://a.test/1", "Alle Häuser sind rot", language="de"),
        reading("http://a.test/2", "Zwei Fischer und ihre Boote", language="de"),
    )
    assert setup.urls("haus") == ["http://a.test/1"]
    assert setup.urls("boot") == ["http://a.test/2"]


def test_stop_words_are_left_out_unless_there_are_no_others(setup):
    setup.put(reading("http://a.test/1", "a wing in a slipstream"), reading("http://a.test/2", "to be or not to be"))
    answer = setup.find("what is the slipstream of a wing")
    assert [hit.url for hit in answer.hits] == ["http://a.test/1"]
    assert answer.all_words and set(answer.omitted) == {"what", "is", "the", "of", "a"}
    assert setup.urls("to be or not to be") == ["http://a.test/2"]


def test_pages_with_all_words_come_before_pages_with_some(setup):
    often = " ".join(["alpha"] * 30)
    setup.put(reading("http://a.test/some", often), reading("http://a.test/all", f"alpha beta {'filler ' * 300}"))
    answer = setup.find("alpha beta")
    assert [(hit.url, hit.has_all_words) for hit in answer.hits] == [
        ("http://a.test/all", True),
        ("http://a.test/some", False),
    ]
    assert (answer.total, answer.with_all_words, answer.all_words) == (2, 1, False)


def test_prefixes_similar_spellings_and_fields(setup):
    setup.put(
        reading("http://a.test/1", "the harbour", title="Boats", headings=("Sails",)),
        reading("http://a.test/boats", "the harbinger of boats", bold=("stressed",)),
    )
    assert set(setup.urls("harb*")) == {"http://a.test/1", "http://a.test/boats"}
    assert setup.urls("harbor~") == ["http://a.test/1"]
    assert setup.urls("title:boat") == ["http://a.test/1"]
    assert setup.urls("text:boats") == ["http://a.test/boats"]
    assert setup.urls("url:boats") == ["http://a.test/boats"]
    assert setup.urls("heading:sails") == ["http://a.test/1"]
    assert setup.urls("heading:stressed") == ["http://a.test/boats"]
    assert setup.urls("-title:boats harb*") == ["http://a.test/boats"]


def test_M_C14_a_page_is_found_by_the_link_texts_of_other_sites(setup):
    target = "http://a.test/p17"
    setup.put(
        reading(target, "No such word is on this page", title="Seventeen"),
        reading("http://a.test/", "Start", ((target, "own zebra words"),)),
        reading("http://b.test/", "A list", ((target, "the quagga page"), ("http://c.test/", "elsewhere"))),
        reading("http://c.test/", "Another list", ((target, "quagga"),)),
    )
    assert setup.urls("quagga")[0] == target
    assert setup.urls('"quagga page"')[0] == target
    assert setup.urls("anchor:quagga seventeen") == [target]
    assert target not in setup.urls("zebra")


def test_link_texts_are_removed_with_the_page_that_had_them(setup):
    target = "http://a.test/p17"
    setup.put(reading(target, "Seventeen"), reading("http://b.test/", "A list", ((target, "quagga"),)))
    assert target in setup.urls("quagga")
    setup.put(reading("http://b.test/", "A list", ((target, "okapi"),), at=2))
    assert target not in setup.urls("quagga")
    assert target in setup.urls("okapi")


def test_many_links_of_one_site_do_not_displace_those_of_others(setup):
    crowd = [reading(f"http://b.test/{n}", "A", (("http://a.test/1", "quagga"),)) for n in range(70)]
    other = reading("http://c.test/", "A " * 200, (("http://a.test/2", "quagga"), ("http://a.test/1", "x y z " * 20)))
    setup.put(reading("http://a.test/1", "one"), reading("http://a.test/2", "two"), *crowd, other)
    assert {"http://a.test/1", "http://a.test/2"} <= set(setup.urls("quagga"))


def test_M_A9_entities_are_found_by_name_with_a_type_required_or_excluded(setup):
    glenn = NamedEntity("http://a.test/#glenn", "Glenn Close", (PERSON,))
    setup.put(
        reading("http://a.test/1", "Glenn Close acts", things=(glenn,), types=(PERSON,)),
        reading("http://b.test/1", "More of Glenn Close", things=(glenn,), types=(PERSON,)),
        reading(
            "http://b.test/2",
            "A narrow close",
            things=(NamedEntity("_:b1", "Advocate's Close", (PLACE,)),),
            types=(PLACE,),
        ),
        reading("http://b.test/3", "Keep close"),
    )
    answer = setup.find("type:schema:Person close")
    assert {hit.url for hit in answer.hits} == {"http://a.test/1", "http://b.test/1"}
    assert [(one.iri, one.name, one.types, one.pages) for one in answer.entities] == [
        ("http://a.test/#glenn", "Glenn Close", (PERSON,), 2)
    ]
    assert {one.name for one in setup.find("close").entities} == {"Glenn Close", "Advocate's Close"}
    assert [one.name for one in setup.find("-type:Person close").entities] == ["Advocate's Close"]
    assert [one.name for one in setup.find("type:Place").entities] == ["Advocate's Close"]
    assert [one.name for one in setup.find("clo*").entities] == ["Glenn Close", "Advocate's Close"]


def test_an_entity_on_every_page_does_not_hide_others(setup):
    everywhere, once = (
        NamedEntity("http://a.test/#org", "Acme Harbour", ()),
        NamedEntity("http://a.test/#x", "Old Harbour Pier", ()),
    )
    setup.put(
        *(reading(f"http://a.test/{n}", "words", things=(everywhere,)) for n in range(60)),
        reading(
            "http://a.test/x", "words", things=(NamedEntity("http://a.test/#y", "A very long name of an entity"), once)
        ),
    )
    assert [one.name for one in setup.find("harbour").entities] == ["Acme Harbour", "Old Harbour Pier"]


def test_M_A7_superclasses_are_inferred_and_marked(setup):
    setup.put(
        reading("http://a.test/1", "fish", types=(f"{SCHEMA}NewsArticle",)),
        reading("http://a.test/2", "fish", types=(ARTICLE,)),
        reading("http://a.test/3", "fish", types=(f"{SCHEMA}Recipe",)),
    )
    assert set(setup.urls("type:schema:Article")) == {"http://a.test/1", "http://a.test/2"}
    assert set(setup.urls("type:article fish")) == {"http://a.test/1", "http://a.test/2"}
    assert setup.urls("fish -type:schema:Article") == ["http://a.test/3"]
    facets = {one.value: one for one in setup.find("fish", "type").facets["type"]}
    assert (facets[ARTICLE].count, facets[ARTICLE].inferred) == (2, 1)
    (hit,) = setup.find("type:NewsArticle").hits
    assert ARTICLE in hit.inferred and hit.types == (f"{SCHEMA}NewsArticle",)


def test_https_and_http_schema_org_are_the_same(setup):
    setup.put(reading("http://a.test/1", "fish", types=(PERSON,), properties=(f"{SCHEMA}name",)))
    for text in (
        "type:http://schema.org/Person",
        "type:https://schema.org/Person",
        "type:HTTPS://www.Schema.org/Person",
        "ontology:schema",
        "ontology:https://schema.org/",
        "property:https://schema.org/name",
    ):
        assert setup.urls(text) == ["http://a.test/1"], text
    assert setup.urls("fish -type:https://schema.org/Person") == []


def test_facets_count_ontologies_properties_sites_languages_syntaxes_and_days(setup):
    day = from_words("2026-11-15T00:00:00Z")
    names = {"types": (PERSON,), "syntaxes": ("rdfa",)}
    setup.put(
        reading("http://a.test/1", "fish", properties=(f"{SCHEMA}name", "http://ogp.me/ns#title"), at=day, **names),
        reading("http://b.test/2", "fish", properties=(f"{SCHEMA}name",), at=day + 2 * 86_400 * SECOND, language="de"),
    )
    answer = setup.find("fish", *FACETS)
    counted = {name: {one.value: one.count for one in some} for name, some in answer.facets.items()}
    assert counted["ontology"] == {SCHEMA: 2, "http://ogp.me/ns#": 1}
    assert counted["property"] == {f"{SCHEMA}name": 2, "http://ogp.me/ns#title": 1}
    assert counted["site"] == {"a.test": 1, "b.test": 1}
    assert counted["lang"] == {"en": 1, "de": 1}
    assert counted["syntax"] == {"rdfa": 1}
    assert [(span.label, span.count) for span in answer.dates] == [
        ("2026-11-15", 1),
        ("2026-11-16", 0),
        ("2026-11-17", 1),
    ]
    assert setup.urls("fish since:2026-11-16") == ["http://b.test/2"]
    assert setup.urls("fish until:2026-11-16") == ["http://a.test/1"]
    assert setup.urls("property:og:title") == setup.urls("has:title") == ["http://a.test/1"]
    assert setup.urls("fish -ontology:og") == ["http://b.test/2"]
    assert setup.urls("fish sort:newest") == ["http://b.test/2", "http://a.test/1"]
    assert setup.urls("fish sort:oldest") == ["http://a.test/1", "http://b.test/2"]


def test_a_facet_is_counted_without_its_own_filter_and_marks_chosen_values(setup):
    setup.put(
        reading("http://a.test/1", "fish", types=(PERSON,)),
        reading("http://b.test/2", "fish", types=(PLACE,)),
        reading("http://b.test/3", "fish", types=(PLACE,)),
    )
    answer = setup.find("fish site:a.test -type:Recipe", "site", "type")
    assert answer.total == 1
    sites = {one.value: one for one in answer.facets["site"]}
    assert (sites["a.test"].is_chosen, sites["b.test"].is_chosen, sites["b.test"].count) == (True, False, 2)
    types = {one.value: one for one in answer.facets["type"]}
    assert PLACE not in types and types[PERSON].count == 1
    assert (types["Recipe"].count, types["Recipe"].is_excluded) == (0, True)
    both = setup.find("type:Person type:Place", "type")
    assert both.total == 3
    assert {one.value: one.count for one in both.facets["type"] if one.is_chosen} == {PERSON: 1, PLACE: 2}


@pytest.mark.parametrize(("days", "labels"), [(40, "2026-01-01"), (400, "2026-01"), (4_000, "2026")])
def test_dates_are_shown_in_days_months_or_years_depending_on_their_range(setup, days, labels):
    first = from_words("2026-01-01T12:00:00Z")
    setup.put(reading("http://a.test/1", "fish", at=first), reading("http://a.test/2", "fish", at=first + days * DAY))
    dates = setup.find("fish", "date").dates
    assert dates[0].label == labels and len(dates) <= 62
    assert dates[0].count == dates[-1].count == 1 and sum(span.count for span in dates) == 2
    assert all(one.until == other.since for one, other in pairwise(dates))


DAY = 86_400 * SECOND


def test_typed_text_is_completed_from_titles_names_and_words(setup):
    setup.put(
        reading("http://a.test/1", "harbour harbour master", title="The harbour of Leith"),
        reading("http://a.test/2", "a harbinger", things=(NamedEntity("_:b1", "Harbour Trust"),)),
        reading("http://a.test/3", "the harbour wall"),
    )
    suggestions = [(one.text, one.kind) for one in setup.search.suggest("harb")]
    assert suggestions[0] == ("Harbour Trust", "name")
    assert ("The harbour of Leith", "title") in suggestions
    assert suggestions.index(("harbour", "word")) < suggestions.index(("harbinger", "word"))
    assert ("old harbour", "word") in [(one.text, one.kind) for one in setup.search.suggest("old harb")]
    assert setup.search.suggest("") == setup.search.suggest("???") == []


def test_a_correction_is_suggested_only_when_few_pages_were_found(setup):
    setup.put(*(reading(f"http://a.test/{n}", "the harbour of many ships") for n in range(12)))
    assert setup.find("harbuor").did_you_mean == "harbour"
    assert setup.find("harbour").did_you_mean == ""
    assert setup.find("site:a.test shps").did_you_mean == "ships site:a.test"
    assert setup.find('"harbuor"').did_you_mean == ""
    assert setup.find("xqzt").did_you_mean == ""


def test_M_A9_the_forward_index_of_a_page(setup):
    setup.put(
        reading("http://a.test/fish", "Fish and more fish", title="Fish", headings=("About fish",), bold=("more",))
    )
    words = {one.word: (one.count, one.fields) for one in setup.search.words(Url("http://a.test/fish"))}
    assert words["fish"] == (5, ("title", "headings", "content", "address"))
    assert words["more"] == (2, ("headings", "content"))
    assert setup.search.words(Url("http://a.test/none")) == []


def test_the_score_is_explained_in_parts(setup):
    target = "http://a.test/1"
    setup.put(
        reading(target, "tropical fish and other fishes", title="Fish"),
        reading("http://b.test/", "A list of many products", ((target, "tropical"),)),
    )
    answer = setup.find("tropical fish whale")
    explanation = setup.search.explain(parse("tropical fish whale"), Url(target))
    assert explanation is not None and not explanation.has_all_words
    assert explanation.score == pytest.approx(answer.hits[0].score, abs=0.01)
    by_word = {one.word: one for one in explanation.words}
    assert {reason.field for reason in by_word["fish"].reasons} == {"title", "content"}
    forms_found = {form for reason in by_word["fish"].reasons for form in reason.form.split(", ")}
    assert forms_found == {"fish", "fishes"}
    assert "anchors" in {reason.field for reason in by_word["tropical"].reasons}
    assert by_word["whale"].reasons == ()
    assert setup.search.explain(parse("fish"), Url("http://a.test/none")) is None


def test_a_page_with_invalid_unicode_in_names_is_indexed(setup):
    odd = "\ud800 name \0"
    setup.put(
        reading(
            "http://a.test/1",
            "fish",
            (("http://b.test/", "link \udfff"),),
            things=(NamedEntity("_:b", odd), NamedEntity("http://x.test/\ud800", "n")),
            properties=("\ud801",),
            bold=("\ud802",),
        )
    )
    assert setup.urls("fish") == ["http://a.test/1"]


def test_awkward_filters_are_answered(setup):
    setup.put(reading("http://a.test/1", "fish", types=(PERSON,)))
    for text in (
        "type::",
        "type:a:b:c",
        "ontology:x",
        "ontology::",
        "property:#",
        "lang:xx-YY",
        "since:9999",
        "until:0001",
    ):
        answer = setup.find(f"{text} fish", *FACETS)
        assert len(answer.hits) == answer.total <= 1, text
    draw = random.Random(1)
    for _ in range(200):
        text = "".join(draw.choices("ab:*~-\"' #/site type has", k=20))
        assert setup.find(text, *FACETS).total <= 1, text


def test_F_W17_control_characters_of_a_page_are_not_printed() -> None:
    title, output = "\x1b]0;owned\x07Harbour", StringIO()
    hit = Hit("http://a.example/", title, (Segment("\x1b[31mred\x9b", True),), "a.example", "", "en", 0, (), (), 0, 1.0)
    show(SearchAnswer((hit,), 1, 0.0, 0), Console(file=output, force_terminal=False), {})
    assert "Harbour" in output.getvalue() and not {"\x1b", "\x07", "\x9b"} & set(output.getvalue())
