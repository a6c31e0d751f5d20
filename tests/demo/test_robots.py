"""The served robots.txt files have the rules of the manifest."""

from urllib.parse import urlsplit

import pytest

from gossamer.demo.pages import DemoRequest
from gossamer.demo.verdict import ExpectedHost, manifest_of, may_be_asked
from gossamer.demo.web import DemoWeb
from gossamer.rules.robots import judge, parse
from gossamer.values.outcome import Allowed
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import url_of

WEB = DemoWeb(seed=2, hosts=12, pages=120)
HOSTS = [host for host in manifest_of(WEB).hosts if host.robots == "read"]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_robots_parser_reads_the_rules_and_delays_of_the_manifest(host: ExpectedHost) -> None:
    parsed = parse(WEB.answer(DemoRequest(host.name, "/robots.txt")).body, "gossamer")
    assert {(rule.allows, rule.pattern) for rule in parsed.rules} == set(host.rules)
    assert parsed.crawl_delay_s == host.crawl_delay_s
    robots = Robots(f"http://{host.name}", RobotsState.READ, 0, 1, parsed.rules)
    for text in [*(page.url for page in host.pages), *host.forbidden, f"http://{host.name}/private/other"]:
        url, parts = url_of(text), urlsplit(text)
        assert url is not None
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        assert isinstance(judge(url, robots), Allowed) == may_be_asked(host, target), text


def test_one_host_has_a_group_for_gossamer_and_disallows_all_other_agents() -> None:
    text = WEB.answer(DemoRequest("people.demo.test", "/robots.txt")).body
    assert parse(text, "otherbot").rules[0].pattern == "/"
    assert "/" not in {rule.pattern for rule in parse(text, "gossamer").rules}


def test_one_host_has_no_robots_txt_and_one_answers_with_errors() -> None:
    assert WEB.answer(DemoRequest("open.demo.test", "/robots.txt")).status == 404
    assert [WEB.answer(DemoRequest("closed.demo.test", "/robots.txt")).status for _ in range(3)] == [500, 500, 500]
