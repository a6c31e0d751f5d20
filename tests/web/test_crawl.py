"""The crawl steered from the pages: a real one, started, paused, resumed and stopped there; its seeds and rules."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.site import page
from tests.web.crawling import Desk, desk, many, until
from tests.web.site import LONG_S, Site, trouble_in

from gossamer.base.environment import real_outside
from gossamer.base.errors import GossamerError
from gossamer.collection.control import STILL_STARTING, CrawlControl
from gossamer.config.settings import Settings
from gossamer.monitor.control import Control
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.options import stored_seeds
from gossamer.store.sqlite.database import read_only

POSTS = (
    "/crawl/start", "/crawl/pause", "/crawl/resume", "/crawl/stop", "/crawl/seeds", "/crawl/rules/save",
    "/crawl/rules/undo", "/crawl/hosts/change", "/page/again",
)  # fmt: skip


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Desk]:
    """A crawl of it takes longer than a test, however slow the machine."""
    with desk(tmp_path, many(600), delay_s=0.1) as found:
        yield found


def test_M_A9_a_crawl_is_started_paused_resumed_and_stopped_from_the_page(slow: Desk) -> None:
    said = slow.change("/crawl/seeds", seeds=slow.web.root, reach="host", then="start")
    assert said == "1 URL added. The crawl has started." and slow.state() == "running"
    until(lambda: len(slow.web.pages_hit()) >= 3, "nothing was visited")
    assert "running already" in slow.change("/crawl/start")
    assert "paused" in slow.change("/crawl/pause")
    until(lambda: slow.state() == "paused", "it is not paused")
    until(lambda: slow.json("/crawl.json")["numbers"]["leased"] == 0, "a visit never ended")
    before = len(slow.web.hits)
    assert "Resume" in slow.see("/crawl").text and "has resumed" in slow.change("/crawl/resume")
    until(lambda: len(slow.web.hits) > before and slow.state() == "running", "it did not go on")
    assert "Yes, stop" in slow.see("/crawl?confirm=stop").text
    assert "is stopping" in slow.change("/crawl/stop") and slow.state() in ("stopping", "at rest")
    until(lambda: slow.state() == "at rest", "it did not end")
    assert "was stopped" in slow.see("/crawl").text and "No crawl is running" in slow.change("/crawl/pause")
    log = (slow.directory.root / "crawl.log").read_text()
    assert "the crawl starts" in log and "stopped: " in log


def test_a_crawl_that_has_nothing_left_says_that_it_has_ended_and_what_it_found(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.change("/crawl/seeds", seeds=here.web.root, reach="host", then="start")
        until(lambda: here.state() == "at rest", "it never ended")
        shown = here.see("/crawl").page
        assert trouble_in(shown) == [] and "nothing is left to fetch" in shown.text()
        assert here.json("/crawl.json")["numbers"]["pages"] == 7
        rows = here.json("/crawl/visits.json")["visits"]
        assert [one["outcome"] for one in rows] == ["fetched"] * 7
        assert {one["url"] for one in rows} == {here.web.root + path[1:] for path in many(3)}
        assert here.json("/crawl/hosts.json")["hosts"][0]["visits"] >= 7


def test_a_page_is_fetched_again_on_request(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.change("/crawl/seeds", seeds=here.web.root, reach="host", then="start")
        until(lambda: here.state() == "at rest", "it never ended")
        where = f"/page?url={quote(here.web.root, safe='')}"
        shown = here.see(where).page
        assert trouble_in(shown) == [] and "Fetch again" in shown.text()
        before = here.web.pages_hit().count("/")
        assert "when the crawl is started next" in here.change("/page/again", url=here.web.root)
        waiting = here.see(where).page
        assert "no crawl is running" in waiting.text() and waiting.css("form[action='/page/again']") == []
        answer = here.post("/page/again", url=here.web.root)
        again = here.see(answer.headers["location"]).page
        assert "already waiting" in again.css_first(".note.good").text() and again.css(".error") == [], (
            "no fault of theirs"
        )
        answer = here.post("/page/again", url=here.web.root + "never")
        assert (
            "this url was never fetched" in here.see(answer.headers["location"]).page.css_first(".error").text().lower()
        )
        here.change("/crawl/start")
        until(lambda: here.web.pages_hit().count("/") == before + 1, "it was not fetched again")


def test_seeds_added_while_the_crawl_runs_are_crawled(slow: Desk) -> None:
    cats = "\n".join(f"{slow.web.root}cat/{number}" for number in range(30))
    with slow.web.held():
        slow.change("/crawl/seeds", seeds=cats, reach="prefix", then="start")
        until(lambda: slow.state() == "running", "it did not begin")
        assert "paused" in slow.change("/crawl/pause")
        new = f"http://localhost.invalid/\n{slow.web.root}dog/7\nnot@an.address\n# a remark\n\n"
        said = slow.change("/crawl/seeds", seeds=new, reach="prefix")
        assert "added. Rejected:" in said and "not@an.address" in said
        with closing(read_only(slow.directory.state)) as state:
            assert (f"{slow.web.root}dog/7", "prefix") in [(url.text, reach) for url, reach in stored_seeds(state)]
        assert "has resumed" in slow.change("/crawl/resume")
    until(lambda: "/dog/7" in slow.web.hits, "the seed was not visited")


def test_seeds_added_at_rest_wait_for_the_crawl(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        assert here.change("/crawl/seeds", seeds=f"{here.web.root}\n{here.web.root}cat/1") == "2 URLs added."
        assert here.json("/crawl.json")["numbers"]["queued"] == 2 and here.state() == "at rest"
        assert here.change("/crawl/start") == "The crawl has started."
        until(lambda: here.state() == "at rest", "it never ended")
        assert here.json("/crawl.json")["numbers"]["pages"] == 7


def test_seeds_that_cannot_be_are_left_out_with_the_reason_and_stay_in_the_box(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        answer = here.post("/crawl/seeds", seeds="mailto:x@y.z\nhttp://10.0.0.1/", reach="host")
        shown = here.see(answer.headers["location"]).page
        said = shown.css_first("div[role=alert]").text()
        assert "0 URLs added" in said and "mailto" in said and "10.0.0.1 cannot be crawled" in said
        assert "http://10.0.0.1/" in shown.css_first("textarea[name=seeds]").text()
        assert "at least one URL" in here.change("/crawl/seeds", seeds="  \n")
        assert "no reach" in here.change("/crawl/seeds", seeds=here.web.root, reach="moon")
        assert here.json("/crawl.json")["seed_count"] == 0


def test_without_a_contact_a_public_site_is_not_crawled_and_the_field_is_offered(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.directory.config.write_text("")
        said = here.change("/crawl/seeds", seeds="http://93.184.216.34/", reach="host")
        assert "reach you" in said and "Contact" in said and "--contact" not in said
        assert here.see("/crawl").page.css_first("#seeds input[name=contact]") is not None
        said = here.change("/crawl/seeds", seeds="http://93.184.216.34/", reach="host", contact="me@example.org")
        assert said == "1 URL added."
        assert "None of the seeds can be fetched" in here.change("/crawl/start")


def test_with_no_seed_there_is_nothing_to_start(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        assert "There are no seed URLs" in here.change("/crawl/start")
        assert "starts from the seed URLs you add" in here.see("/crawl").text


def test_F_a_second_writer_is_refused_naming_the_first(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.change("/crawl/seeds", seeds=here.web.root)
        lock = lock_directory(here.directory, real_outside(), "import")
        try:
            said = here.change("/crawl/start")
            assert "written by pid" in said and "import" in said and str(here.directory.root) not in said
        finally:
            lock.release()


def test_a_crawler_that_cannot_begin_says_why(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.change("/crawl/seeds", seeds=here.web.root)
        (here.directory.root / "rules.txt").write_text("exclude everything\n")
        said = here.change("/crawl/start")
        if said == STILL_STARTING:
            until(lambda: here.state() == "at rest", "it neither begins nor ends")
            said = here.see("/crawl").text
        assert "The crawl failed" in said and "rules.txt" in said and str(here.directory.root) not in said
        assert "The crawl failed" in here.see("/crawl").text and here.state() == "at rest"


def test_the_crawl_ends_with_the_server_that_started_it(tmp_path: Path) -> None:
    with desk(tmp_path, many(600), delay_s=0.1) as here:
        here.change("/crawl/seeds", seeds=here.web.root, then="start")
        until(lambda: len(here.web.pages_hit()) >= 2, "nothing was visited")
    log = (here.directory.root / "crawl.log").read_text()
    assert "stopped: " in log
    lock_directory(here.directory, real_outside(), "test").release()


def test_M_B6_a_rule_is_tried_saved_and_obeyed_while_the_crawl_runs_and_undone(slow: Desk) -> None:
    slow.change("/crawl/seeds", seeds=slow.web.root, reach="host", then="start")
    until(lambda: slow.json("/crawl.json")["numbers"]["queued"] > 300, "no links were found")
    slow.change("/crawl/pause")
    rule = 'exclude path ~ "^/dog/"'
    effect = slow.json(f"/crawl/rules.json?add={rule.replace(' ', '+')}")["effect"]
    assert effect["is_whole"] and effect["would_go"] > 150 and len(effect["examples"]) == 10
    shown = slow.see(f"/crawl/rules?draft={rule.replace(' ', '+')}").page
    assert "would be excluded" in shown.text() and shown.css_first("textarea").text().strip() == rule
    mark = shown.css_first("input[name=mark]").attributes["value"] or ""
    said = slow.change("/crawl/rules/save", draft=rule + "\r\n", mark=mark)
    assert said == "The rules are saved. The crawl applies them now."
    assert (slow.directory.root / "rules.txt").read_text() == rule + "\n"
    slow.change("/crawl/resume")
    before = len(slow.web.hits)
    until(lambda: len(slow.web.hits) > before + 10, "it did not go on")
    assert [path for path in slow.web.hits[before + 2 :] if path.startswith("/dog/")] == []
    assert slow.json("/crawl/visits.json?reason=filter&most=1")["visits"][0]["url"].startswith(slow.web.root + "dog/")
    assert "before the last change" in slow.change("/crawl/rules/undo")
    assert (slow.directory.root / "rules.txt").read_text() == ""


def test_a_line_that_is_no_rule_is_pointed_at_and_nothing_is_saved(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        text = "exclude host = a.org\nexclude colour = red\n"
        answer = here.post("/crawl/rules/save", draft=text, mark=here.mark())
        assert answer.status == 400 and "Line 2, column" in answer.text and "exclude colour = red" in answer.text
        assert not (here.directory.root / "rules.txt").exists()
        assert here.json("/crawl/rules.json?add=nonsense")["wrong"][0]["line"] == 1


def test_rules_saved_by_another_are_not_overwritten_unseen(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        mark = here.mark()
        (here.directory.root / "rules.txt").write_text("exclude host = b.org\n")
        answer = here.post("/crawl/rules/save", draft="exclude host = a.org", mark=mark)
        assert (
            answer.status == 409 and "changed in the meantime" in answer.text and "exclude host = a.org" in answer.text
        )
        again = answer.page.css_first("input[name=mark]").attributes["value"] or ""
        assert "saved" in here.change("/crawl/rules/save", draft="exclude host = a.org", mark=again)


def test_M_B6_a_site_is_excluded_retired_and_reinstated_by_a_click(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.change("/crawl/seeds", seeds=here.web.root, then="start")
        until(lambda: here.state() == "at rest", "it never ended")
        host = here.json("/crawl/hosts.json")["hosts"][0]["host"]
        assert "is retired" in here.change("/crawl/hosts/change", action="retire", host=host)
        assert here.json("/crawl/hosts.json?state=retired")["hosts"][0]["host"] == host
        assert "is crawled" in here.change("/crawl/hosts/change", action="reinstate", host=host)
        assert "not retired" in here.change("/crawl/hosts/change", action="reinstate", host=host)
        assert "is excluded" in here.change("/crawl/hosts/change", action="exclude", host=host)
        assert (here.directory.root / "rules.txt").read_text().endswith(f'exclude host = "{host}"\n')
        assert "Say which host" in here.change("/crawl/hosts/change", action="eat", host=host)


def test_F_W8_nothing_is_changed_without_the_token(slow: Desk) -> None:
    for path in POSTS:
        answer = slow.site.ask(path, "POST", b"seeds=http://a.test/&action=retire&host=a.test&url=http://a.test/")
        assert answer.status == 403, path
    assert not (slow.directory.root / "rules.txt").exists() and slow.json("/crawl.json")["seed_count"] == 0
    for path in ("/crawl", "/crawl/hosts", "/crawl/rules"):
        shown = slow.site.ask(path).page
        assert shown.css("form[method=post]") == [] or path == "/crawl/rules"
        assert "enter the token" in shown.text() and "Save" not in shown.text()


def test_a_program_may_steer_with_the_token_and_gets_json(slow: Desk) -> None:
    answer = slow.post("/crawl/pause", "application/json")
    assert answer.status == 409 and answer.json == {"words": "No crawl is running.", "kind": "bad", "lines": []}
    answer = slow.post("/crawl/seeds", "application/json", seeds=slow.web.root)
    assert answer.status == 200 and answer.json["kind"] == "good"
    assert slow.post("/crawl/seeds", "*/*", seeds="").status == 409, "whoever does not ask for HTML is a program"


def test_a_program_may_save_rules_unless_they_are_none_or_others_were_quicker(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        mark = here.json("/crawl/rules.json")["mark"]
        answer = here.post("/crawl/rules/save", "application/json", draft="exclude colour = red", mark=mark)
        assert answer.status == 409 and answer.json["lines"][0].startswith("line 1, column")
        answer = here.post("/crawl/rules/save", "application/json", draft="exclude host = a.org", mark=mark)
        assert answer.status == 200 and answer.json["words"] == "The rules are saved."
        answer = here.post("/crawl/rules/save", "application/json", draft="exclude host = b.org", mark=mark)
        assert answer.status == 409 and "changed in the meantime" in answer.json["words"]


def test_every_number_leads_to_the_list_that_it_counts(site: Site) -> None:
    shown = site.ask("/crawl").page
    links = [link.attributes["href"] or "" for link in shown.css("ul.figures a, table a")]
    assert len(links) > 10 and all(site.ask(link).status == 200 for link in links if link.startswith("/crawl"))
    counted = {row.css_first("td a").text(): row.css("td")[1].text() for row in shown.css("section table tbody tr")}
    for code, number in counted.items():
        if code and "/" not in code:
            found = json.loads(site.ask(f"/crawl/visits.json?reason={code}&most=1000").body)["visits"]
            assert len(found) == int(number.split()[0].replace(",", "")), code


def test_the_hints_lead_to_visits_by_their_reason(site: Site) -> None:
    answer = site.ask("/crawl?reason=contact")
    assert answer.status == 303 and answer.headers["location"] == "/crawl/visits?reason=contact"


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    pages = {"/": page("Home", "x", "/a%3Cscript%3E")}
    with desk(tmp_path, pages) as here:
        here.change("/crawl/seeds", seeds=here.web.root, then="start")
        until(lambda: here.state() == "at rest", "it never ended")
        for path in ("/crawl", "/crawl/visits", "/crawl/hosts", f"/crawl/rules?add={nasty.replace(' ', '+')}"):
            assert trouble_in(here.see(path).page) == [], path
        answer = here.post("/crawl/seeds", seeds=nasty)
        shown = here.see(answer.headers["location"]).page
        assert trouble_in(shown) == [] and nasty in shown.text()


def test_a_form_that_is_too_long_or_none_is_refused_in_words(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        assert here.post("/crawl/seeds", seeds="a" * 1_600_000).status in (400, 413, 503)
        assert here.json("/crawl.json")["seed_count"] == 0


def test_the_page_says_what_an_idle_crawl_waits_for(tmp_path: Path) -> None:
    outside, says = real_outside(), "waiting 58 s to retry http://a.test/<b>: server-error (status 500)"
    with desk(tmp_path) as here, Control(here.directory.control, outside.clock) as control:
        assert "waiting" not in here.see("/crawl").text
        control.beat("crawler", outside.processes.own_pid(), {"waits": {"says": says}})
        shown = here.see("/crawl").page.css_first("#waits")
        assert shown is not None and shown.text() == f"The crawler is {says}."
        assert here.json("/crawl.json")["crawler"]["waits"] == says


def test_F_W16_previews_hold_at_most_two_of_the_threads_that_make_pages(tmp_path: Path) -> None:
    outside = real_outside()
    with Control(tmp_path / "control.db", outside.clock) as control, ThreadPoolExecutor(1) as crew:
        control_of_it = CrawlControl(Directory(tmp_path), Settings(), outside, control)

        def wait_and_look() -> bool:
            with control_of_it.turn_to_search():
                return True

        def refused() -> bool:
            try:
                with control_of_it.turn_to_search():
                    return False
            except GossamerError:
                return True

        with control_of_it.turn_to_search():
            second = crew.submit(wait_and_look)
            until(lambda: control_of_it._threads._value == 0, "the second does not wait")
            until(refused, "a third waited too")
        assert second.result(LONG_S)
