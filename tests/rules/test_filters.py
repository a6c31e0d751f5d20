"""The user's rules: what they mean, which one said so, and where one that is none goes wrong."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.rules.scope import Reach, scope_of
from gossamer.rules.user.language import Asked, expression_of
from gossamer.rules.user.rulebook import NO_RULES, UNKNOWN, Problems, RuleBook, Unknown, judge, load_rules
from gossamer.rules.verdict import ALLOWED, Allowed, Denied
from gossamer.values.link import How
from gossamer.values.url import Url


def holds(expression: str, url: str = "https://www.example.org/a/b?c=d", depth: int = 2, kind: str | None = None):
    return expression_of(expression).holds(Asked(Url(url), depth, kind))


def book(*lines: str) -> RuleBook:
    found = load_rules("\n".join(lines))
    assert isinstance(found, RuleBook), found
    return found


@pytest.mark.parametrize(
    ("expression", "is_so"),
    [
        ("host = www.example.org", True),
        ("host = WWW.Example.ORG", True),
        ("host = example.org", False),
        ("host != example.org", True),
        ("host in (a.org, www.example.org)", True),
        ('host ~ "^www[.]"', True),
        ("domain = example.org", True),
        ("domain = www.example.org", True),
        ("domain = ample.org", False),
        ("domain in (a.org, b.org)", False),
        ("prefix = https://www.example.org/a/", True),
        ("prefix = https://www.example.org/a/c", False),
        ("prefix = http://www.example.org/", False),
        ("scheme = https", True),
        ("scheme in (http, https)", True),
        ('path ~ "^/a/"', True),
        ('path !~ "b$"', False),
        ('path = "/a/b"', True),
        ("path = /a/b", True),
        ('query ~ "c="', True),
        ('url ~ "example.*[?]c"', True),
        ("query has c", True),
        ("query has d", False),
        ("depth <= 2", True),
        ("depth < 2", False),
        ("depth >= 3", False),
        ("depth > 1", True),
        ("depth = 2", True),
        ("depth != 2", False),
        ("not depth = 2", False),
        ("depth = 1 or depth = 2 and scheme = https", True),
        ("(depth = 2 or depth = 1) and scheme = http", False),
        ("not (depth = 1 or scheme = http)", True),
        ("not not scheme = https", True),
    ],
)
def test_M_B5_an_expression_says_which_addresses_are_meant(expression: str, is_so: bool) -> None:
    assert holds(expression) is is_so


def test_M_B7_a_content_type_is_unknown_until_the_headers_are_in() -> None:
    assert holds("type = text/html") is None
    assert holds("type = text/html", kind="text/html") is True
    assert holds("type = TEXT/*", kind="text/plain") is True
    assert holds("type in (text/html, image/*)", kind="application/pdf") is False
    assert holds("not type = text/html") is None
    assert holds("type = text/html and depth = 9") is False
    assert holds("type = text/html or depth = 2") is True
    assert holds("type = text/html or depth = 9") is None
    assert holds("type = text/html and depth = 2") is None


def test_names_are_compared_as_addresses_show_them() -> None:
    url = "http://xn--bcher-kva.test:8080/"
    assert holds("host = bücher.test:8080", url) and holds("domain = BÜCHER.test", url)
    assert holds("host = bücher.test", url) is False
    assert holds("domain = [::1]", "http://[::1]:81/") and holds("host = [::1]:81", "http://[::1]:81/")


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    both = [st.builds(f"({{}}) {word} ({{}})".format, inner, inner) for word in ("and", "or")]
    return st.one_of(inner.map("not ({})".format), *both)


CLAUSES = st.sampled_from(["depth = 1", "depth = 2", "type = text/html", "scheme = https"])


@settings(max_examples=200, deadline=None)
@given(st.recursive(CLAUSES, joined, max_leaves=8))
def test_unknown_is_said_only_when_the_type_may_still_decide(expression: str) -> None:
    early = holds(expression)
    late = {holds(expression, kind=kind) for kind in ("text/html", "image/png")}
    assert None not in late
    assert early is None or late == {early}


def test_the_last_rule_that_applies_decides_and_is_named() -> None:
    rules = book("include domain = example.org", 'exclude path ~ "/private/"', 'include path ~ "/private/open/"')
    assert rules.judge(Url("http://example.org/x"), 0) == ALLOWED
    assert rules.judge(Url("http://example.org/private/x"), 0) == Denied('rule 2: exclude path ~ "/private/"')
    assert rules.judge(Url("http://example.org/private/open/x"), 0) == ALLOWED
    assert rules.judge(Url("http://other.test/"), 0) == Denied("no include rule speaks of it")


def test_without_an_include_all_that_is_not_excluded_is_let_in() -> None:
    assert book("exclude host = a.test").judge(Url("http://b.test/"), 0) == ALLOWED
    assert NO_RULES.judge(Url("http://b.test/"), 0) == ALLOWED
    assert book("# only remarks", "", "   # and more").judge(Url("http://b.test/"), 0) == ALLOWED


def test_M_B7_a_rule_on_types_lets_an_address_in_until_its_type_is_known() -> None:
    rules = book("exclude type in (application/pdf, image/*)")
    url = Url("http://a.test/x")
    assert rules.judge(url, 0) == UNKNOWN
    assert rules.judge(url, 0, "text/html") == ALLOWED
    assert rules.judge(url, 0, "image/png") == Denied("rule 1: exclude type in (application/pdf, image/*)")
    certain = book("exclude host = a.test", "exclude type = image/png")
    assert certain.judge(url, 0) == Denied("rule 1: exclude host = a.test")


def test_with_a_type_no_judgement_is_unknown() -> None:
    lines = ["include type = text/html", "exclude type = text/*", "include depth = 1", "exclude scheme = http",
             "seed http://a.test/: type = text/html"]  # fmt: skip
    for chosen in itertools.permutations(lines, 3):
        for depth in (0, 1):
            assert not isinstance(book(*chosen).judge(Url("http://a.test/"), depth, "text/html"), Unknown)


def test_a_seed_s_rule_holds_in_that_seed_s_reach_only() -> None:
    rules = book('seed https://a.test/docs/: path ~ "^/docs/" and not query has print')
    rules = rules.for_seeds([(Url("https://a.test/docs/"), Reach.HOST), (Url("https://b.test/"), Reach.HOST)])
    refused = Denied('rule 1: seed https://a.test/docs/: path ~ "^/docs/" and not query has print')
    assert rules.judge(Url("https://a.test/docs/x"), 1) == ALLOWED
    assert rules.judge(Url("https://a.test/blog/x"), 1) == refused
    assert rules.judge(Url("https://a.test/docs/x?print=1"), 1) == refused
    assert rules.judge(Url("https://b.test/blog/x"), 1) == ALLOWED


def test_an_address_that_several_seeds_reach_needs_one_that_takes_it() -> None:
    rules = book("seed https://a.test/x/: depth <= 1", "seed https://a.test/y/: depth <= 3")
    both = rules.for_seeds([(Url("https://a.test/x/"), Reach.HOST), (Url("https://a.test/y/"), Reach.HOST)])
    assert [isinstance(both.judge(Url("https://a.test/z"), depth), Allowed) for depth in (1, 3, 4)] == [
        True,
        True,
        False,
    ]
    free = rules.for_seeds([(Url("https://a.test/x/"), Reach.HOST), (Url("https://www.a.test/"), Reach.DOMAIN)])
    assert free.judge(Url("https://a.test/z"), 9) == ALLOWED


def test_sooner_and_later_add_up_within_bounds() -> None:
    rules = book(
        "sooner 2 domain = news.test", "sooner 3 depth <= 1", "later 1 query has page", "later 4 type = text/html"
    )
    assert rules.nudge(Url("http://news.test/?page=2"), 5) == -1
    assert rules.nudge(Url("http://news.test/"), 0) == -4
    assert rules.nudge(Url("http://a.test/"), 5) == 0
    assert rules.judge(Url("http://a.test/"), 5) == ALLOWED


def test_scope_rules_and_own_filters_are_asked_in_that_order() -> None:
    asked: list[str] = []

    def own(url: str, depth: int) -> Allowed | Denied:
        asked.append(url)
        return Denied("filter own: no cats") if "cat" in url else ALLOWED

    scope, rules = scope_of([(Url("http://a.test/"), Reach.HOST)]), book("exclude query has sort")
    texts = ["http://b.test/", "http://a.test/?sort=1", "http://a.test/cat", "http://a.test/dog"]
    verdicts = [judge(Url(text), 1, How.LINK, scope, rules, [own]) for text in texts]
    assert [getattr(verdict, "rule", "") for verdict in verdicts] == [
        "outside the scope: host a.test",
        "rule 1: exclude query has sort",
        "filter own: no cats",
        "",
    ]
    assert asked == texts[2:]


def test_seeds_where_they_lead_and_sitemaps_face_the_scope_alone() -> None:
    scope, rules = scope_of([(Url("http://a.test/"), Reach.HOST)]), book('include path ~ "^/news/"')
    for how, depth, is_in in [
        (How.SEED, 0, True), (How.REDIRECT, 0, True), (How.ROBOTS, 0, True), (How.MAP, 1, True),
        (How.LINK, 1, False), (How.REDIRECT, 1, False), (How.SITEMAP, 0, False), (How.FEED, 1, False),
    ]:  # fmt: skip
        assert isinstance(judge(Url("http://a.test/x"), depth, how, scope, rules), Allowed) is is_in
    assert isinstance(judge(Url("http://b.test/"), 0, How.SEED, scope, rules), Denied)


@pytest.mark.parametrize(
    ("line", "column", "says"),
    [
        ("ban host = a.org", 1, "a rule begins with"),
        ("exclude", 8, "expected one of host"),
        ("exclude colour = red", 9, "expected one of host"),
        ("exclude host a.org", 14, "host is followed by"),
        ('exclude domain ~ "x"', 16, "domain is followed by"),
        ("exclude host = a.org b.org", 22, 'expected "and", "or" or the end'),
        ("exclude host =", 15, "expected a value"),
        ("exclude host = a/b", 16, "not the name of a host"),
        ("exclude domain = a.org:81", 18, "a domain has no port"),
        ("exclude domain in a.org", 19, "followed by a list"),
        ("exclude domain in (a.org, b.org", 19, "never closed"),
        ("exclude (depth = 1", 9, "never closed"),
        ("exclude scheme = ftp", 18, "http or https"),
        ("exclude prefix = news/", 18, "the beginning of an address"),
        ("exclude path ~ /news/", 16, "stands in quotes"),
        ('exclude path ~ "/(news"', 18, "never closed"),
        ('exclude path = "x', 16, "never closed"),
        ("exclude depth <= deep", 18, "a number of links"),
        ("exclude depth in (1, 2)", 18, "compared with <="),
        ("exclude type = html", 16, "not a content type"),
        ("exclude depth = 1 and", 22, "expected one of host"),
        ("sooner host = a.org", 8, "by how much"),
        ("later 9 host = a.org", 7, "by how much"),
        ("seed a.org: depth = 1", 6, "a seed's address and a colon"),
        ("exclude " + "not " * 60 + "depth = 1", 209, "in one another"),
    ],
)
def test_a_line_that_is_no_rule_is_pointed_at(line: str, column: int, says: str) -> None:
    found = load_rules(f"# a remark\n  {line}\n")
    assert isinstance(found, Problems)
    (problem,) = found.problems
    assert (problem.line, problem.column - 2) == (2, column) and says in problem.says
    assert problem.in_words.splitlines()[2] == " " * (problem.column + 1) + "^"


def test_all_that_is_wrong_is_told_at_once() -> None:
    found = load_rules("exclude x\ninclude host = a.org\nban\n")
    assert isinstance(found, Problems) and [problem.line for problem in found.problems] == [1, 3]


@settings(max_examples=300, deadline=None)
@given(st.text(' ()"~=!<>,.andortscehdp\\[*', max_size=40))
def test_no_text_makes_the_reader_of_rules_fail(text: str) -> None:
    assert isinstance(load_rules(f"exclude {text}"), RuleBook | Problems)
    assert isinstance(load_rules(text), RuleBook | Problems)
