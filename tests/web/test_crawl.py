"""Controlling a real crawl from the web site: start, pause, resume and stop; seeds and rules."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.site import page
from tests.web.crawling import Admin, admin_site, many, until
from tests.web.site import LONG_S, Site, trouble_in

from gossamer.base.environment import real_outside
from gossamer.base.errors import GossamerError
from gossamer.collection.control import STILL_STARTING, CrawlControl
from gossamer.config.settings import Settings
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.options import stored_seeds
from gossamer.store.sqlite.database import read_only

POSTS = (
    "/crawl/start", "/crawl/pause", "/crawl/resume", "/crawl/stop", "/crawl/seeds", "/crawl/rules/save",
    "/crawl/rules/undo", "/crawl/hosts/change", "/page/again",
)  # fmt: skip


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Admin]:
    """Its crawl takes longer than a test, even on a slow machine."""
    with admin_site(tmp_path, many(600), delay_s=0.1) as client:
        yield client


def test_M_A9_a_crawl_is_started_paused_resumed_and_stopped_from_the_page(slow: Admin) -> None:
    message = slow.change("/crawl/seeds", seeds=slow.web.root, reach="host", then="start")
    assert message == "1 URL added. The crawl has started." and slow.state() == "running"
    until(lambda: len(slow.web.pages_hit()) >= 3, "nothing was fetched")
    assert "running already" in slow.change("/crawl/start")
    assert "paused" in slow.change("/crawl/pause")
    until(lambda: slow.state() == "paused", "the crawl is not paused")
    until(lambda: slow.json("/crawl.json")["numbers"]["leased"] == 0, "a fetch never ended")
    before = len(slow.web.hits)
    assert "Resume" in slow.get("/crawl").text and "has resumed" in slow.change("/crawl/resume")
    until(lambda: len(slow.web.hits) > before and slow.state() == "running", "the crawl did not continue")
    assert "Yes, stop" in slow.get("/crawl?confirm=stop").text
    assert "is stopping" in slow.change("/crawl/stop") and slow.state() in ("stopping", "idle")
    until(lambda: slow.state() == "idle", "the crawl did not end")
    assert "was stopped" in slow.get("/crawl").text and "No crawl is running" in slow.change("/crawl/pause")
    log = (slow.directory.root / "crawl.log").read_text()
    assert "the crawl starts" in log and "stopped: " in log


def test_a_crawl_that_has_nothing_left_to_fetch_ends_and_shows_its_results(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, reach="host", then="start")
        until(lambda: admin.state() == "idle", "the crawl never ended")
        shown = admin.get("/crawl").page
        assert trouble_in(shown) == [] and "nothing is left to fetch" in shown.text()
        assert admin.json("/crawl.json")["numbers"]["pages"] == 7
        rows = admin.json("/crawl/visits.json")["visits"]
        assert [one["outcome"] for one in rows] == ["fetched"] * 7
        assert {one["url"] for one in rows} == {admin.web.root + path[1:] for path in many(3)}
        assert admin.json("/crawl/hosts.json")["hosts"][0]["visits"] >= 7


def test_a_page_is_fetched_again_on_request(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, reach="host", then="start")
        until(lambda: admin.state() == "idle", "the crawl never ended")
        where = f"/page?url={quote(admin.web.root, safe='')}"
        shown = admin.get(where).page
        assert trouble_in(shown) == [] and "Fetch again" in shown.text()
        before = admin.web.pages_hit().count("/")
        assert "when the crawl is started next" in admin.change("/page/again", url=admin.web.root)
        waiting = admin.get(where).page
        assert "no crawl is running" in waiting.text() and waiting.css("form[action='/page/again']") == []
        answer = admin.post("/page/again", url=admin.web.root)
        again = admin.get(answer.headers["location"]).page
        assert "already waiting" in again.css_first(".note.good").text() and again.css(".error") == []
        answer = admin.post("/page/again", url=admin.web.root + "never")
        error = admin.get(answer.headers["location"]).page.css_first(".error").text()
        assert "this url was never fetched" in error.lower()
        admin.change("/crawl/start")
        until(lambda: admin.web.pages_hit().count("/") == before + 1, "it was not fetched again")


def test_seeds_added_while_the_crawl_runs_are_crawled(slow: Admin) -> None:
    cats = "\n".join(f"{slow.web.root}cat/{number}" for number in range(30))
    with slow.web.held():
        slow.change("/crawl/seeds", seeds=cats, reach="prefix", then="start")
        until(lambda: slow.state() == "running", "the crawl did not start")
        assert "paused" in slow.change("/crawl/pause")
        new = f"http://localhost.invalid/\n{slow.web.root}dog/7\nnot@an.address\n# a comment\n\n"
        message = slow.change("/crawl/seeds", seeds=new, reach="prefix")
        assert "added. Rejected:" in message and "not@an.address" in message
        with closing(read_only(slow.directory.state)) as state:
            assert (f"{slow.web.root}dog/7", "prefix") in [(url.text, reach) for url, reach in stored_seeds(state)]
        assert "has resumed" in slow.change("/crawl/resume")
    until(lambda: "/dog/7" in slow.web.hits, "the seed was not fetched")


def test_seeds_added_without_a_crawl_wait_for_the_next_one(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        assert admin.change("/crawl/seeds", seeds=f"{admin.web.root}\n{admin.web.root}cat/1") == "2 URLs added."
        assert admin.json("/crawl.json")["numbers"]["queued"] == 2 and admin.state() == "idle"
        assert admin.change("/crawl/start") == "The crawl has started."
        until(lambda: admin.state() == "idle", "the crawl never ended")
        assert admin.json("/crawl.json")["numbers"]["pages"] == 7


def test_invalid_seeds_are_rejected_with_the_reason_and_stay_in_the_form(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        answer = admin.post("/crawl/seeds", seeds="mailto:x@y.z\nhttp://10.0.0.1/", reach="host")
        shown = admin.get(answer.headers["location"]).page
        message = shown.css_first("div[role=alert]").text()
        assert "0 URLs added" in message and "mailto" in message and "10.0.0.1 cannot be crawled" in message
        assert "http://10.0.0.1/" in shown.css_first("textarea[name=seeds]").text()
        assert "at least one URL" in admin.change("/crawl/seeds", seeds="  \n")
        assert "no scope" in admin.change("/crawl/seeds", seeds=admin.web.root, reach="moon")
        assert admin.json("/crawl.json")["seed_count"] == 0


def test_a_public_site_needs_a_contact_and_the_form_asks_for_it(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.directory.config.write_text("")
        message = admin.change("/crawl/seeds", seeds="http://93.184.216.34/", reach="host")
        assert "reach you" in message and "Contact" in message and "--contact" not in message
        assert admin.get("/crawl").page.css_first("#seeds input[name=contact]") is not None
        message = admin.change("/crawl/seeds", seeds="http://93.184.216.34/", reach="host", contact="me@example.org")
        assert message == "1 URL added."
        assert "None of the seeds can be fetched" in admin.change("/crawl/start")


def test_a_crawl_without_seeds_is_not_started(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        assert "There are no seed URLs" in admin.change("/crawl/start")
        assert "starts from the seed URLs you add" in admin.get("/crawl").text


def test_F_a_second_writer_is_refused_naming_the_first(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root)
        lock = lock_directory(admin.directory, real_outside(), "import")
        try:
            message = admin.change("/crawl/start")
            assert "written by pid" in message and "import" in message and str(admin.directory.root) not in message
        finally:
            lock.release()


def test_a_crawler_that_cannot_start_reports_why(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root)
        (admin.directory.root / "rules.txt").write_text("exclude everything\n")
        message = admin.change("/crawl/start")
        if message == STILL_STARTING:
            until(lambda: admin.state() == "idle", "the crawl neither starts nor ends")
            message = admin.get("/crawl").text
        assert "The crawl failed" in message and "rules.txt" in message and str(admin.directory.root) not in message
        assert "The crawl failed" in admin.get("/crawl").text and admin.state() == "idle"


def test_the_crawl_ends_with_the_server_that_started_it(tmp_path: Path) -> None:
    with admin_site(tmp_path, many(600), delay_s=0.1) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, then="start")
        until(lambda: len(admin.web.pages_hit()) >= 2, "nothing was fetched")
    log = (admin.directory.root / "crawl.log").read_text()
    assert "stopped: " in log
    lock_directory(admin.directory, real_outside(), "test").release()


def test_M_B6_a_rule_is_previewed_saved_applied_during_the_crawl_and_undone(slow: Admin) -> None:
    slow.change("/crawl/seeds", seeds=slow.web.root, reach="host", then="start")
    until(lambda: slow.json("/crawl.json")["numbers"]["queued"] > 300, "no links were found")
    slow.change("/crawl/pause")
    rule = 'exclude path ~ "^/dog/"'
    effect = slow.json(f"/crawl/rules.json?add={rule.replace(' ', '+')}")["effect"]
    assert effect["is_whole"] and effect["would_go"] > 150 and len(effect["examples"]) == 10
    shown = slow.get(f"/crawl/rules?draft={rule.replace(' ', '+')}").page
    assert "would be excluded" in shown.text() and shown.css_first("textarea").text().strip() == rule
    mark = shown.css_first("input[name=mark]").attributes["value"] or ""
    message = slow.change("/crawl/rules/save", draft=rule + "\r\n", mark=mark)
    assert message == "The rules are saved. The crawl applies them now."
    assert (slow.directory.root / "rules.txt").read_text() == rule + "\n"
    slow.change("/crawl/resume")
    before = len(slow.web.hits)
    until(lambda: len(slow.web.hits) > before + 10, "the crawl did not continue")
    assert [path for path in slow.web.hits[before + 2 :] if path.startswith("/dog/")] == []
    assert slow.json("/crawl/visits.json?reason=filter&most=1")["visits"][0]["url"].startswith(slow.web.root + "dog/")
    assert "before the last change" in slow.change("/crawl/rules/undo")
    assert (slow.directory.root / "rules.txt").read_text() == ""


def test_an_invalid_rule_is_reported_with_its_line_and_nothing_is_saved(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        text = "exclude host = a.org\nexclude colour = red\n"
        answer = admin.post("/crawl/rules/save", draft=text, mark=admin.mark())
        assert answer.status == 400 and "Line 2, column" in answer.text and "exclude colour = red" in answer.text
        assert not (admin.directory.root / "rules.txt").exists()
        assert admin.json("/crawl/rules.json?add=nonsense")["wrong"][0]["line"] == 1


def test_rules_saved_by_another_user_are_not_overwritten_silently(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        mark = admin.mark()
        (admin.directory.root / "rules.txt").write_text("exclude host = b.org\n")
        answer = admin.post("/crawl/rules/save", draft="exclude host = a.org", mark=mark)
        assert answer.status == 409 and "changed in the meantime" in answer.text
        assert "exclude host = a.org" in answer.text
        again = answer.page.css_first("input[name=mark]").attributes["value"] or ""
        assert "saved" in admin.change("/crawl/rules/save", draft="exclude host = a.org", mark=again)


def test_M_B6_a_host_is_excluded_retired_and_reinstated_with_a_button(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, then="start")
        until(lambda: admin.state() == "idle", "the crawl never ended")
        host = admin.json("/crawl/hosts.json")["hosts"][0]["host"]
        assert "is retired" in admin.change("/crawl/hosts/change", action="retire", host=host)
        assert admin.json("/crawl/hosts.json?state=retired")["hosts"][0]["host"] == host
        assert "is crawled" in admin.change("/crawl/hosts/change", action="reinstate", host=host)
        assert "not retired" in admin.change("/crawl/hosts/change", action="reinstate", host=host)
        assert "is excluded" in admin.change("/crawl/hosts/change", action="exclude", host=host)
        assert (admin.directory.root / "rules.txt").read_text().endswith(f'exclude host = "{host}"\n')
        assert "Say which host" in admin.change("/crawl/hosts/change", action="eat", host=host)


def test_F_W8_nothing_is_changed_without_the_token(slow: Admin) -> None:
    for path in POSTS:
        answer = slow.site.ask(path, "POST", b"seeds=http://a.test/&action=retire&host=a.test&url=http://a.test/")
        assert answer.status == 403, path
    assert not (slow.directory.root / "rules.txt").exists() and slow.json("/crawl.json")["seed_count"] == 0
    for path in ("/crawl", "/crawl/hosts", "/crawl/rules"):
        shown = slow.site.ask(path).page
        assert shown.css("form[method=post]") == [] or path == "/crawl/rules"
        assert "enter the token" in shown.text() and "Save" not in shown.text()


def test_a_program_can_control_the_crawl_with_the_token_and_gets_json(slow: Admin) -> None:
    answer = slow.post("/crawl/pause", "application/json")
    assert answer.status == 409 and answer.json == {"words": "No crawl is running.", "kind": "bad", "lines": []}
    answer = slow.post("/crawl/seeds", "application/json", seeds=slow.web.root)
    assert answer.status == 200 and answer.json["kind"] == "good"
    assert slow.post("/crawl/seeds", "*/*", seeds="").status == 409, "a client that does not ask for HTML is a program"


def test_a_program_can_save_rules_unless_they_are_invalid_or_were_changed_meanwhile(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        mark = admin.json("/crawl/rules.json")["mark"]
        answer = admin.post("/crawl/rules/save", "application/json", draft="exclude colour = red", mark=mark)
        assert answer.status == 409 and answer.json["lines"][0].startswith("line 1, column")
        answer = admin.post("/crawl/rules/save", "application/json", draft="exclude host = a.org", mark=mark)
        assert answer.status == 200 and answer.json["words"] == "The rules are saved."
        answer = admin.post("/crawl/rules/save", "application/json", draft="exclude host = b.org", mark=mark)
        assert answer.status == 409 and "changed in the meantime" in answer.json["words"]


def test_every_number_links_to_the_list_that_it_counts(site: Site) -> None:
    shown = site.ask("/crawl").page
    links = [link.attributes["href"] or "" for link in shown.css("ul.figures a, table a")]
    assert len(links) > 10 and all(site.ask(link).status == 200 for link in links if link.startswith("/crawl"))
    counted = {row.css_first("td a").text(): row.css("td")[1].text() for row in shown.css("section table tbody tr")}
    for code, number in counted.items():
        if code and "/" not in code:
            visits = json.loads(site.ask(f"/crawl/visits.json?reason={code}&most=1000").body)["visits"]
            assert len(visits) == int(number.split()[0].replace(",", "")), code


def test_a_link_with_a_reason_redirects_to_the_fetches_with_that_reason(site: Site) -> None:
    answer = site.ask("/crawl?reason=contact")
    assert answer.status == 303 and answer.headers["location"] == "/crawl/visits?reason=contact"


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    pages = {"/": page("Home", "x", "/a%3Cscript%3E")}
    with admin_site(tmp_path, pages) as admin:
        admin.change("/crawl/seeds", seeds=admin.web.root, then="start")
        until(lambda: admin.state() == "idle", "the crawl never ended")
        for path in ("/crawl", "/crawl/visits", "/crawl/hosts", f"/crawl/rules?add={hostile.replace(' ', '+')}"):
            assert trouble_in(admin.get(path).page) == [], path
        answer = admin.post("/crawl/seeds", seeds=hostile)
        shown = admin.get(answer.headers["location"]).page
        assert trouble_in(shown) == [] and hostile in shown.text()


def test_a_form_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with admin_site(tmp_path) as admin:
        assert admin.post("/crawl/seeds", seeds="a" * 1_600_000).status in (400, 413, 503)
        assert admin.json("/crawl.json")["seed_count"] == 0


def test_the_page_shows_what_an_idle_crawl_waits_for(tmp_path: Path) -> None:
    outside, says = real_outside(), "waiting 58 s to retry http://a.test/<b>: server-error (status 500)"
    with admin_site(tmp_path) as admin, SqliteControl(admin.directory.control, outside.clock) as control:
        assert "waiting" not in admin.get("/crawl").text
        control.beat("crawler", outside.processes.own_pid(), {"waits": {"says": says}})
        shown = admin.get("/crawl").page.css_first("#waits")
        assert shown is not None and shown.text() == f"The crawler is {says}."
        assert admin.json("/crawl.json")["crawler"]["waits"] == says


def test_F_W16_previews_occupy_at_most_two_of_the_threads_that_make_pages(tmp_path: Path) -> None:
    outside = real_outside()
    with SqliteControl(tmp_path / "control.db", outside.clock) as control, ThreadPoolExecutor(1) as pool:
        crawl_control = CrawlControl(Directory(tmp_path), Settings(), outside, control)

        def wait_for_a_turn() -> bool:
            with crawl_control.turn_to_search():
                return True

        def is_refused() -> bool:
            try:
                with crawl_control.turn_to_search():
                    return False
            except GossamerError:
                return True

        with crawl_control.turn_to_search():
            second = pool.submit(wait_for_a_turn)
            until(lambda: crawl_control._threads._value == 0, "the second does not wait")
            until(is_refused, "a third waited too")
        assert second.result(LONG_S)
