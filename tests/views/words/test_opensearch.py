"""The index in OpenSearch: what has no counterpart in files. The other suites of this folder are for both forms."""

import json
import random
import threading

import msgspec
import pytest
from tests.services import opensearch
from tests.services.proxy import Proxy
from tests.views.words.forms import OpenSearchForm, SettledWriter

from gossamer.base.clock import SystemClock
from gossamer.base.errors import ConfigError, DirectoryUnusable, GossamerError
from gossamer.base.tell import silent
from gossamer.extract.vocabularies import bundled
from gossamer.search.find import FACETS, Search
from gossamer.search.query import parse
from gossamer.store.service import Service, ServiceAnswer, ServiceLost, ServiceRefused
from gossamer.values.page import Directives, NamedEntity, Page, Reading
from gossamer.values.query import Query, Word
from gossamer.values.url import Url
from gossamer.views.words.opensearch import pages
from gossamer.views.words.opensearch import writer as writers
from gossamer.views.words.opensearch.documents import document_of
from gossamer.views.words.opensearch.index import VERSION, divided, meta_of, remove
from gossamer.views.words.opensearch.matcher import folded
from gossamer.views.words.opensearch.searcher import ServiceSearcher
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity, batches


def reading(address: str, content: str, at: int = 1, **more: object) -> Reading:
    of_reading = {name: more.pop(name) for name in ("types", "properties", "things") if name in more}
    page = Page(Url(address), "text/html", "utf-8", content=content, **more)
    return Reading(capture_id=at, fetched_at=at, page=page, **of_reading)


@pytest.fixture
def form():
    used = OpenSearchForm()
    yield used
    used.close()


@pytest.fixture
def folder(form, tmp_path):
    return tmp_path / "index"


@pytest.fixture
def writer(form, folder):
    opened = form.writer(folder)
    opened.open()
    yield opened
    opened.close()


def found(form, folder, words: str) -> list[str]:
    searcher = form.searcher(folder)
    searcher.open()
    return sorted(one.card.url.text for one in searcher.find(parse(words)).found)


def test_replays_and_disorder_change_nothing(form, folder, writer):
    captures = [
        reading("http://a.test/1", "first", at=1),
        reading("http://a.test/1", "second", at=2),
        reading("http://a.test/1", "", at=3, directives=Directives(may_index=False)),
        reading("http://a.test/2", "first again", at=1),
        reading("http://a.test/2", "second again", at=2),
    ]
    draw = random.Random(7)
    for _ in range(4):
        for one in draw.sample(captures, len(captures)):
            writer.replace([one])
            writer.commit(b"[1,1]")
        writer.commit(b"[1,2]")
    assert found(form, folder, "second again") == ["http://a.test/2"]
    assert found(form, folder, "first") == []
    assert form.searcher(folder).held([Url("http://a.test/1"), Url("http://a.test/9")]) == {
        Url("http://a.test/1").id: 3
    }


def test_the_same_capture_overwrites_its_page_as_a_rebuild_does(form, folder, writer):
    writer.replace([reading("http://a.test/1", "as read before", at=5)])
    writer.commit()
    writer.replace([reading("http://a.test/1", "as read now", at=5), reading("http://a.test/1", "older", at=4)])
    writer.commit()
    assert found(form, folder, "now") == ["http://a.test/1"]


@pytest.mark.parametrize("commit_between", [True, False])
def test_the_version_decides_whatever_the_clocks_say(form, folder, writer, commit_between):
    writer.replace([msgspec.structs.replace(reading("http://a.test/1", "one", at=1), version=100)])
    if commit_between:
        writer.commit()
    writer.replace([msgspec.structs.replace(reading("http://a.test/1", "two", at=2), version=7)])
    writer.commit()
    assert found(form, folder, "one") == ["http://a.test/1"]


def test_several_writers_may_write_at_once(form, folder, writer):
    def write(number: int) -> None:
        other = SettledWriter(
            form.service(), WriterIdentity(opensearch.index_for(folder), "tests", f"writer {number}"), silent
        )
        other.open()
        for at in range(5):
            other.replace([reading(f"http://a.test/{page}", f"text{at}", at=10 * at + number) for page in range(20)])
            other.commit(b"[%d,%d]" % (number, at))
        other.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found(form, folder, "text4")) == 10
    searcher = form.searcher(folder)
    searcher.open()
    assert searcher.pages == searcher.find(parse("text4")).total == 20


def test_the_position_is_in_the_index_and_lost_with_it(form, folder, writer):
    assert writer.position == b""
    writer.replace([reading("http://a.test/1", "fish")])
    writer.commit(b"[3,4]")
    again = form.writer(folder)
    again.open()
    assert again.position == b"[3,4]"
    again.close()
    remove(form.service(), opensearch.index_for(folder))
    again.open()
    assert again.position == b""
    again.close()


def test_nothing_waits_for_a_commit_but_those_who_settle(form, folder):
    form.folders.add(folder)
    writer = ServiceWriter(form.service(), WriterIdentity(opensearch.index_for(folder), "tests"), silent)
    writer.open()
    writer.replace([reading("http://a.test/1", "fish")])
    writer.commit(b"[1,1]")
    assert writer.is_busy and writer.waiting == 0 and writer.position == b""
    writer.settle()
    assert not writer.is_busy and writer.position == b"[1,1]"
    writer.close()


def test_an_index_that_is_removed_is_not_made_by_accident(form, folder, writer):
    remove(form.service(), opensearch.index_for(folder))
    writer.replace([reading("http://a.test/1", "fish")])
    with pytest.raises(GossamerError, match="refuses to write"):
        writer.commit()
    assert meta_of(form.service(), opensearch.index_for(folder)) is None


def made(form, folder, meta: dict[str, object] | None) -> None:
    name = opensearch.index_for(folder)
    form.folders.add(folder)
    mappings = {} if meta is None else {"_meta": meta}
    body = json.dumps({"mappings": mappings, "aliases": {name: {}}})
    form.service().ask("PUT", f"/{name}.0", body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        (None, "not made by Gossamer"),
        ({"what": "logs", "format": 1}, "not made by Gossamer"),
        ({"what": "gossamer-words", "format": "one"}, "not made by Gossamer"),
        ({"what": "gossamer-words", "format": VERSION + 1, "owner": "tests"}, "newer Gossamer"),
        ({"what": "gossamer-words", "format": VERSION, "owner": "another"}, "another collection"),
    ],
)
def test_an_index_of_others_or_of_a_newer_version_is_refused(form, folder, meta, says):
    made(form, folder, meta)
    writer = form.writer(folder)
    with pytest.raises(GossamerError, match=says):
        writer.open()
    writer.close()
    form.service().ask("DELETE", f"/{opensearch.index_for(folder)}.0")


def test_an_index_of_an_older_format_is_made_again(form, folder):
    made(form, folder, {"what": "gossamer-words", "format": VERSION - 1, "owner": "tests"})
    writer = form.writer(folder)
    writer.open()
    writer.replace([reading("http://a.test/1", "fish")])
    writer.commit()
    assert found(form, folder, "fish") == ["http://a.test/1"]
    writer.close()


def test_without_an_index_there_is_nothing_to_search_yet(form, folder):
    with pytest.raises(DirectoryUnusable, match="crawl something first"):
        form.searcher(folder).open()


def test_a_removed_page_leaves_nothing_but_its_id(form, folder, writer):
    writer.replace([reading("http://a.test/secret", "a private word", at=5, title="Private")])
    writer.commit()
    writer.remove(Url("http://a.test/secret"))
    writer.remove(Url("http://a.test/never"))
    writer.commit()
    assert found(form, folder, "private") == []
    path = f"/{opensearch.index_for(folder)}/_doc/{Url('http://a.test/secret').id}"
    left = json.loads(form.service().ask("GET", path).body)
    assert left["_source"] == {"url_id": Url("http://a.test/secret").id, "fetched_at": 5}
    writer.replace([reading("http://a.test/secret", "a public word", at=6)])
    writer.commit()
    assert found(form, folder, "public") == ["http://a.test/secret"]


HOSTILE = {
    "long": "word " * 1_000_000,
    "one word": "a" * 5_000_000,
    "control": "fish \0\x01\x1b[2J\x7f\u2028\u202e text",
    "surrogates": "fish \ud800\udfff text",
    "JSON": 'fish "}\n{"delete":{"_index":"*"}}\n{"query":{"match_all":{}}} text',
    "marks": "fi" + "\u0301" * 20_000 + "sh text",
    "signs": "日" * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_indexed_and_harm_no_other_page(form, folder, writer, name):
    text = HOSTILE[name]
    writer.replace(
        [
            reading("http://a.test/hostile", text, title=text[:600], headings=(text,), bold=(text,), rest=text),
            reading("http://a.test/good", "an honest page"),
        ]
    )
    writer.commit()
    assert found(form, folder, "honest") == ["http://a.test/good"]
    assert found(form, folder, "site:a.test") == ["http://a.test/good", "http://a.test/hostile"]
    searcher = form.searcher(folder)
    searcher.open()
    for words in ("fish text", "word", "日日", "aa*"):
        assert searcher.find(parse(words), FACETS).unreadable == ()
    assert searcher.words(Url("http://a.test/hostile")) is not None


def test_ten_thousand_names_of_fields_are_values_and_not_fields(form, folder, writer):
    iris = tuple(f"http://evil.test/{'x' * 20}{n}" for n in range(10_000))
    long = (f"http://evil.test/{'y' * 100_000}",)
    things = tuple(NamedEntity(f"_:{n}", f"name {n}", iris[:50]) for n in range(50))
    writer.replace([reading("http://a.test/1", "fish", types=iris + long, properties=iris + long, things=things)])
    writer.commit()
    assert found(form, folder, "fish") == ["http://a.test/1"]
    answer = json.loads(form.service().ask("GET", f"/{opensearch.index_for(folder)}/_mapping").body)
    (mapping,) = [one["mappings"]["properties"] for one in answer.values()]
    assert len(mapping) < 200


def test_a_page_that_opensearch_refuses_is_reported_and_the_others_are_kept(form, folder, monkeypatch):
    events: list[tuple[str, dict[str, object]]] = []
    writer = form.writer(folder, lambda event, **facts: events.append((event, facts)))
    writer.open()

    def document(one: Reading) -> bytes:
        made = document_of(one)
        return made.replace(b'"url_id"', b'"unknown"', 1) if one.page.title == "bad" else made

    monkeypatch.setattr(writer, "_form", writers.WORDS_FORM._replace(of=document))
    pages = [reading(f"http://a.test/{n}", "fish", title="bad" if n == 3 else "") for n in range(6)]
    writer.replace(pages)
    writer.commit()
    assert len(found(form, folder, "fish")) == 5
    ((_, facts),) = [one for one in events if one[0] == "index.page-refused"]
    assert facts["url"] == "http://a.test/3" and "unknown" in str(facts["because"])
    writer.close()


@pytest.mark.parametrize(
    "words",
    [
        '{"match_all":{}}',
        "content:fish OR *:*",
        "_exists_:card",
        "fish) OR (url_id:*",
        "/.*/",
        "fish~99 ^1000",
        "[* TO *]",
    ],
)
def test_typed_text_is_never_query_syntax(form, folder, writer, words):
    writer.replace([reading("http://a.test/1", "only boats here")])
    writer.commit()
    assert found(form, folder, words) == []


def test_a_query_of_very_many_words_in_several_languages_is_answered(form, folder, writer):
    texts = {language: f"{language} boats and harbours" for language in ("en", "de", "fr")}
    writer.replace([reading(f"http://a.test/{one}", text, language=one) for one, text in texts.items()])
    writer.commit()
    searcher = form.searcher(folder)
    searcher.open()
    answer = searcher.find(Query((*(Word((f"w{n}",)) for n in range(60)), Word(("boats",)))), FACETS)
    assert answer.total == 3 and len(answer.omitted) == 61 - 48


def test_bulks_are_bounded_and_have_every_page_once():
    pages = {n: (n, f"http://a.test/{n}", b"x" * 3_000_000) for n in range(7)}
    bodies = list(batches(pages))
    assert all(len(body) <= writers.MOST_BULK + 1_000 for _, body in bodies)
    assert [url for urls, _ in bodies for url in urls] == [url for _, url, _ in pages.values()]
    huge = {1: (1, "http://a.test/", b"x" * 20_000_000)}
    assert len(list(batches(huge))) == 1


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("https://h.test:9200/mycrawl", ("https://h.test:9200", "mycrawl")),
        ("https://h.test:9200", ("https://h.test:9200", "gossamer")),
        ("https://h.test/", ("https://h.test", "gossamer")),
        ("https://h.test/search/my-crawl/", ("https://h.test/search", "my-crawl")),
        ("https://u:${file:/run/secrets/w}@h.test/c", ("https://u:${file:/run/secrets/w}@h.test", "c")),
        ("https://u:${file:/run/secrets/w}@h.test", ("https://u:${file:/run/secrets/w}@h.test", "gossamer")),
    ],
)
def test_the_path_of_the_address_begins_the_names_of_indexes(address, parts):
    assert divided(address) == parts


@pytest.mark.parametrize("name", ["My", "_all", "a,b", "a*", ".hidden", "-x", "a b"])
def test_a_name_that_could_mean_other_indexes_is_refused(name):
    with pytest.raises(ConfigError):
        divided(f"https://h.test/{name}")


def test_folding_keeps_the_places_of_characters():
    for text in ("Ünïcode ß Straße İstanbul ﬁne 日本", "\ud800 x", "Ǆ ǅ ŉ"):
        assert len(folded(text)) == len(text)
    assert folded("Éclair ÅNGSTRÖM") == "eclair angstrom"


def test_a_service_that_is_gone_is_named_with_since_when(tmp_path):
    service = Service("views.words", "http://127.0.0.1:9/", SystemClock(), silent)
    search = Search(ServiceSearcher(service, "none"), None, SystemClock())
    with pytest.raises(
        ServiceLost, match=r"^search: views.words at http://127.0.0.1:9: no answer since .*; trying again$"
    ):
        search.find(parse("fish"))


class Away(Service):
    """A service that is away at times."""

    is_away = True

    def ask(self, *asked: object, **more: object) -> ServiceAnswer:
        if self.is_away:
            raise ServiceLost(f"{self.name} does not answer")
        return super().ask(*asked, **more)


def away_writer(form, folder, remembered: bytes = b"") -> tuple[Away, ServiceWriter]:
    form.folders.add(folder)
    service = Away("views.words", form.address, SystemClock(), silent)
    return service, ServiceWriter(
        service, WriterIdentity(opensearch.index_for(folder), "tests", remembered=remembered), silent
    )


def test_a_writer_that_starts_without_its_service_continues_where_it_remembers(form, folder, writer):
    writer.replace([reading("http://a.test/1", "fish")])
    writer.commit(b"[1,5]")
    service, later = away_writer(form, folder, b"[1,5]")
    later.open()
    assert later.position == b"[1,5]"
    later.replace([reading("http://a.test/2", "fish")])
    later.commit(b"[1,6]")
    assert later.is_busy and later.position == b"[1,5]"
    service.is_away = False
    later.settle()
    assert later.position == b"[1,6]"
    assert found(form, folder, "fish") == ["http://a.test/1", "http://a.test/2"]
    later.close()


def test_a_wrong_memory_of_the_position_is_noticed_before_anything_is_written(form, folder, writer):
    writer.commit(b"[1,5]")
    service, later = away_writer(form, folder, b"[9,9]")
    later.open()
    later.replace([reading("http://a.test/2", "fish")])
    later.commit(b"[9,10]")
    service.is_away = False
    with pytest.raises(GossamerError, match="another position"):
        later.settle()
    assert found(form, folder, "fish") == []
    later.close()


def test_a_writer_that_is_closed_stops_to_wait_for_its_service(form, folder):
    _, writer = away_writer(form, folder)
    writer.open()
    writer.replace([reading("http://a.test/2", "fish")])
    writer.commit(b"[1,1]")
    writer.close()
    with pytest.raises(ServiceLost):
        writer.settle()


class _Odd(Service):
    """A service that answers with anything."""

    def __init__(self, body: bytes) -> None:
        super().__init__("views.words", "http://odd.test/", SystemClock(), silent)
        self.body = body

    def ask(self, *_: object, **__: object):
        return ServiceAnswer(200, "application/json", self.body)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'{"hits":3}', b"<html>", b'{"hits":{"hits":[{"_id":1}]}}', b"\xff"]
)
def test_answers_are_not_trusted(body):
    searcher = ServiceSearcher(_Odd(body), "odd")
    with pytest.raises(GossamerError):
        searcher.open()
    with pytest.raises(GossamerError):
        searcher.find(parse("fish"), FACETS)
    writer = SettledWriter(_Odd(body), WriterIdentity("odd", "tests"), silent)
    with pytest.raises(GossamerError):
        writer.open()
    writer.replace([reading("http://a.test/", "fish")])
    with pytest.raises(GossamerError):
        writer.commit()
    writer.close()


def test_a_refusal_for_lack_of_rights_is_an_error_that_names_no_password():
    class Refusing(_Odd):
        def ask(self, *_: object, **__: object):
            raise ServiceRefused(f"{self.name} refuses (status 401): no", 401, b"no")

    writer = SettledWriter(Refusing(b""), WriterIdentity("x", "tests"), silent)
    with pytest.raises(GossamerError, match="401"):
        writer.open()
    writer.close()


def test_reading_every_page_goes_on_after_the_service_was_away(form, folder, writer, monkeypatch):
    monkeypatch.setattr(pages, "STEP", 2)
    for number in range(6):
        writer.replace([reading(f"http://a.test/{number}", "lamps", at=1)])
    writer.commit()
    with Proxy(int(form.address.rpartition(":")[2])) as way:
        service = Service("views.words", f"http://127.0.0.1:{way.port}", SystemClock(), silent)
        searcher = ServiceSearcher(service, opensearch.index_for(folder), bundled)
        searcher.open()
        cards = searcher.cards()
        seen = [next(cards)]
        way.cut()
        returning = threading.Timer(0.5, way.mend)
        returning.start()
        seen += cards
        returning.join()
        service.close()
    assert sorted(card.url.path for card in seen) == [f"/{number}" for number in range(6)]
