"""The user's rules: what they mean, which rule decided, and where an invalid line is wrong."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.rules.scope import Reach, scope_of
from gossamer.rules.user.language import RuleSubject, expression_of
from gossamer.rules.user.rulebook import NO_RULES, UNKNOWN, Problems, RuleBook, Unknown, judge, load_rules
from gossamer.values.link import How
from gossamer.values.outcome import ALLOWED, Allowed, Denied, FilterFailed
from gossamer.values.url import Url


def holds(expression: str, url: str = "https://www.example.org/a/b?c=d", depth: int = 2, kind: str | None = None):
    return expression_of(expression).holds(RuleSubject(Url(url), depth, kind))


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
def test_M_B5_an_expression_selects_urls(expression: str, is_so: bool) -> None:
    assert holds(expression) is is_so


def test_M_B7_a_content_type_is_unknown_until_the_headers_arrive() -> None:
    assert holds("type = text/html") is None
    assert holds("type = text/html", kind="text/html") is True
    assert holds("type = TEXT/*", kind="text/plain") is True
    assert holds("type in (text/html, image/*)", kind="application/pdf") is False
    assert holds("not type = text/html") is None
    assert holds("type = text/html and depth = 9") is False
    assert holds("type = text/html or depth = 2") is True
    assert holds("type = text/html or depth = 9") is None
    assert holds("type = text/html and depth = 2") is None


def test_host_names_are_compared_in_punycode() -> None:
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
def test_the_result_is_unknown_only_while_the_type_may_still_decide(expression: str) -> None:
    early = holds(expression)
    late = {holds(expression, kind=kind) for kind in ("text/html", "image/png")}
    assert None not in late
    assert early is None or late == {early}


def test_the_last_rule_that_applies_decides_and_is_named() -> None:
    rules = book("include domain = example.org", 'exclude path ~ "/private/"', 'include path ~ "/private/open/"')
    assert rules.judge(Url("http://example.org/x"), 0) == ALLOWED
    assert rules.judge(Url("http://example.org/private/x"), 0) == Denied('rule 2: exclude path ~ "/private/"')
    assert rules.judge(Url("http://example.org/private/open/x"), 0) == ALLOWED
    assert rules.judge(Url("http://other.test/"), 0) == Denied("no include rule matches it")


def test_without_an_include_rule_every_url_that_is_not_excluded_is_accepted() -> None:
    assert book("exclude host = a.test").judge(Url("http://b.test/"), 0) == ALLOWED
    assert NO_RULES.judge(Url("http://b.test/"), 0) == ALLOWED
    assert book("# only comments", "", "   # and more").judge(Url("http://b.test/"), 0) == ALLOWED


def test_M_B7_a_rule_on_types_accepts_a_url_until_its_type_is_known() -> None:
    rules = book("exclude type in (application/pdf, image/*)")
    url = Url("http://a.test/x")
    assert rules.judge(url, 0) == UNKNOWN
    assert rules.judge(url, 0, "text/html") == ALLOWED
    assert rules.judge(url, 0, "image/png") == Denied("rule 1: exclude type in (application/pdf, image/*)")
    certain = book("exclude host = a.test", "exclude type = image/png")
    assert certain.judge(url, 0) == Denied("rule 1: exclude host = a.test")


def test_with_a_known_type_no_verdict_is_unknown() -> None:
    lines = ["include type = text/html", "exclude type = text/*", "include depth = 1", "exclude scheme = http",
             "seed http://a.test/: type = text/html"]  # fmt: skip
    for chosen in itertools.permutations(lines, 3):
        for depth in (0, 1):
            assert not isinstance(book(*chosen).judge(Url("http://a.test/"), depth, "text/html"), Unknown)


def test_a_rule_of_a_seed_applies_within_the_scope_of_that_seed_only() -> None:
    rules = book('seed https://a.test/docs/: path ~ "^/docs/" and not query has print')
    rules = rules.for_seeds([(Url("https://a.test/docs/"), Reach.HOST), (Url("https://b.test/"), Reach.HOST)])
    refused = Denied('rule 1: seed https://a.test/docs/: path ~ "^/docs/" and not query has print')
    assert rules.judge(Url("https://a.test/docs/x"), 1) == ALLOWED
    assert rules.judge(Url("https://a.test/blog/x"), 1) == refused
    assert rules.judge(Url("https://a.test/docs/x?print=1"), 1) == refused
    assert rules.judge(Url("https://b.test/blog/x"), 1) == ALLOWED


def test_a_url_in_the_scope_of_several_seeds_needs_one_that_accepts_it() -> None:
    rules = book("seed https://a.test/x/: depth <= 1", "seed https://a.test/y/: depth <= 3")
    both = rules.for_seeds([(Url("https://a.test/x/"), Reach.HOST), (Url("https://a.test/y/"), Reach.HOST)])
    assert [isinstance(both.judge(Url("https://a.test/z"), depth), Allowed) for depth in (1, 3, 4)] == [
        True,
        True,
        False,
    ]
    free = rules.for_seeds([(Url("https://a.test/x/"), Reach.HOST), (Url("https://www.a.test/"), Reach.DOMAIN)])
    assert free.judge(Url("https://a.test/z"), 9) == ALLOWED


def test_near_rules_prefer_nodes_by_their_labels() -> None:
    rules = book("near eu domain = de", "near eu host in (a.org, b.org:8080)", "near asia host = a.org")
    none, eu, asia = frozenset[str](), frozenset({"eu", "fast"}), frozenset({"asia"})
    near = {
        host: [rules.is_near(host, labels) for labels in (none, eu, asia)]
        for host in ("www.x.de", "a.org", "b.org:8080", "c.org")
    }
    assert near == {
        "www.x.de": [False, True, False],
        "a.org": [False, True, True],
        "b.org:8080": [False, True, False],
        "c.org": [True, True, True],
    }
    assert not rules.decides and rules.nudge(Url("http://www.x.de/"), 1) == 0


def test_sooner_and_later_rules_add_up_within_bounds() -> None:
    rules = book(
        "sooner 2 domain = news.test", "sooner 3 depth <= 1", "later 1 query has page", "later 4 type = text/html"
    )
    assert rules.nudge(Url("http://news.test/?page=2"), 5) == -1
    assert rules.nudge(Url("http://news.test/"), 0) == -4
    assert rules.nudge(Url("http://a.test/"), 5) == 0
    assert rules.judge(Url("http://a.test/"), 5) == ALLOWED


def test_scope_rules_and_own_filters_apply_in_that_order() -> None:
    filtered: list[str] = []

    def own(url: str, depth: int) -> Allowed | Denied:
        filtered.append(url)
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
    assert filtered == texts[2:]


def test_seeds_their_redirects_and_sitemaps_are_checked_against_the_scope_only() -> None:
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
        ("exclude prefix = news/", 18, "the beginning of a URL"),
        ("exclude path ~ /news/", 16, "must be quoted"),
        ('exclude path ~ "/(news"', 18, "never closed"),
        ('exclude path = "x', 16, "never closed"),
        ("exclude depth <= deep", 18, "a number of links"),
        ("exclude depth in (1, 2)", 18, "compared with <="),
        ("exclude type = html", 16, "not a content type"),
        ("exclude depth = 1 and", 22, "expected one of host"),
        ("sooner host = a.org", 8, "an amount from 1 to 4"),
        ("later 9 host = a.org", 7, "an amount from 1 to 4"),
        ("seed a.org: depth = 1", 6, "a seed URL and a colon"),
        ("exclude " + "not " * 60 + "depth = 1", 209, "nested more than 50 deep"),
    ],
)
def test_an_invalid_line_is_reported_with_its_position(line: str, column: int, says: str) -> None:
    found = load_rules(f"# a comment\n  {line}\n")
    assert isinstance(found, Problems)
    (problem,) = found.problems
    assert (problem.line, problem.column - 2) == (2, column) and says in problem.says
    assert problem.in_words.splitlines()[2] == " " * (problem.column + 1) + "^"


def test_all_errors_are_reported_together() -> None:
    found = load_rules("exclude x\ninclude host = a.org\nban\n")
    assert isinstance(found, Problems) and [problem.line for problem in found.problems] == [1, 3]


@settings(max_examples=300, deadline=None)
@given(st.text(' ()"~=!<>,.andortscehdp\\[*', max_size=40))
def test_no_text_makes_the_rule_parser_fail(text: str) -> None:
    assert isinstance(load_rules(f"exclude {text}"), RuleBook | Problems)
    assert isinstance(load_rules(text), RuleBook | Problems)


@pytest.mark.parametrize(
    ("expression", "url", "is_so"),
    [
        ("host = a.org:81", "http://a.org:81/", True),
        ("host = a.org", "http://a.org:81/", False),
        ("host = a.org:80", "http://a.org/", True),
        ("host in (a.org:81, b.org)", "http://b.org/", True),
        ('host = "a.org"', "http://a.org/", True),
        ("domain = a.org", "http://a.org:81/", True),
        ("domain = a.org", "http://x.a.org/", True),
        ("domain = a.org", "http://xa.org/", False),
        ("domain = a.org:80", "http://a.org/", True),
        ("domain in (a.org, b.org)", "http://x.y.b.org/", True),
        ("domain != a.org", "http://a.org/", False),
        ("scheme in (http)", "http://a.org/", True),
        ("scheme = http", "https://a.org/", False),
        ("scheme != http", "https://a.org/", True),
        ("prefix in (http://a.org/x/, http://b.org)", "http://a.org/x/y", True),
        ("prefix in (http://a.org/x/, http://b.org)", "http://b.org/", True),
        ("prefix in (http://a.org/x/, http://b.org)", "http://a.org/y", False),
        ("prefix != http://a.org/x", "http://a.org/xy", False),
        ("path in (/a, /b)", "http://a.org/b?c", True),
        ("path in (/a, /b)", "http://a.org/c", False),
        ('path ~ "b"', "http://a.org/a?b", False),
        ('path !~ "b"', "http://a.org/a?b", True),
        ("query = c=d", "http://a.org/?c=d", True),
        ("query = c", "http://a.org/?c=d", False),
        ('query = ""', "http://a.org/", True),
        ('query ~ "^c"', "http://a.org/c?d", False),
        ("query in (c=d, e)", "http://a.org/?e", True),
        ("query has c", "http://a.org/?c", True),
        ("query has c", "http://a.org/?cc=1", False),
        ("query has c", "http://a.org/?a=c", False),
        ("query has c", "http://a.org/?a=1&c=1", True),
        ("query has c", "http://a.org/c", False),
        ('query has "c d"', "http://a.org/?c%20d", False),
        ("url = http://a.org/", "http://a.org/", True),
        ("url in (http://a.org/, http://b.org/)", "http://b.org/", True),
        ('url ~ "^https"', "http://a.org/", False),
        (r'path ~ "\.x$"', "http://a.org/y.x", True),
        (r'path ~ "\.x$"', "http://a.org/yzx", False),
    ],
)
def test_each_field_is_compared_with_each_operator(expression: str, url: str, is_so: bool) -> None:
    assert holds(expression, url) is is_so
    assert holds(f"not  {expression}", url) is not is_so
    assert holds(f"( {expression} )", url) is is_so


def test_quoted_strings_hold_any_text_and_two_escapes() -> None:
    assert holds(r'query = "a\"b\\c\d"', "http://a.org/?x") is False
    (problem,) = [load_rules(r'exclude path = "\"')]
    assert isinstance(problem, Problems) and "never closed" in problem.problems[0].says
    one = expression_of(r'path = "/(a, \"b\\c\d"')
    assert one == expression_of(r'path in ("/(a, \"b\\c\d")') and one.texts == {'/(a, "b\\c\\d'}  # type: ignore[union-attr]


@pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("number", [0, 2, 5])
def test_depths_are_compared_as_numbers(sign: str, number: int) -> None:
    compared = {"=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
    for depth in range(8):
        assert holds(f"depth {sign} {number}", depth=depth) is compared[sign](depth, number)
        assert holds(f"depth{sign}{number}", depth=depth) is compared[sign](depth, number)


@pytest.mark.parametrize(
    ("expression", "kind", "is_so"),
    [
        ("type = text/*", "text/html", True),
        ("type = text/*", "text/", True),
        ("type = text/*", "textual/x", False),
        ("type = text/html", "text/html5", False),
        ("type != text/html", "text/plain", True),
        ("type in (image/*, application/x-y+z.1)", "application/x-y+z.1", True),
        ("type in (image/*, text/html)", "image/png", True),
        ("type in (image/*, text/html)", "text/plain", False),
    ],
)
def test_a_content_type_is_given_in_full_or_by_its_main_type(expression: str, kind: str, is_so: bool) -> None:
    assert holds(expression, kind=kind) is is_so and holds(expression) is None


TRUTH = {"T": "depth = 2", "F": "depth = 9", "U": "type = text/html"}
AND = {"TT": True, "TF": False, "TU": None, "FF": False, "FU": False, "UU": None}
OR = {"TT": True, "TF": True, "TU": True, "FF": False, "FU": None, "UU": None}


@pytest.mark.parametrize(("word", "table"), [("and", AND), ("or", OR)])
def test_an_unknown_value_is_neither_true_nor_false(word: str, table: dict[str, bool | None]) -> None:
    for pair, expected in table.items():
        for one, two in (pair, pair[::-1]):
            assert holds(f"{TRUTH[one]} {word} {TRUTH[two]}") is expected, pair
            assert holds(f"{TRUTH[one]} {word} {TRUTH[two]} {word} {TRUTH[two]}") is expected, pair
    assert holds(f"not {TRUTH['U']}") is None


@pytest.mark.parametrize(
    ("line", "column", "says"),
    [
        ("exclude", 8, "expected one of host, path, query, url, domain, scheme, prefix, type, depth here"),
        ("exclude host", 13, "host is followed by =, !=, ~, !~ or in"),
        ("exclude domain", 15, "domain is followed by =, != or in"),
        ("exclude host < a", 14, "host is followed by"),
        ('exclude scheme ~ "a"', 16, "scheme is followed by =, != or in"),
        ("exclude depth", 14, "depth is followed by =, !=, <, <=, > or >="),
        ("exclude depth ~ 5", 15, "depth is followed by"),
        ("exclude depth = -1", 17, "a depth is a number"),
        ("exclude depth in (1)", 18, "depth is compared with <=, not with in"),
        ("exclude host in ()", 18, "expected a value here"),
        ("exclude host in (a.org", 17, "this ( is never closed"),
        ("exclude host in (a.org b.org)", 17, "this ( is never closed"),
        ("exclude host = a@b.org", 16, "not the name of a host"),
        ("exclude host = a.org?x", 16, "not the name of a host"),
        ("exclude domain in (a.org, b.org:81)", 27, "a domain has no port"),
        ("exclude scheme = HTTP", 18, "a scheme is http or https"),
        ("exclude type = text/", 16, "not a content type"),
        ("exclude type = */*", 16, "not a content type"),
        ("exclude type in (text/html, x)", 29, "not a content type"),
        ("exclude path ~ /x", 16, "a pattern must be quoted"),
        ('exclude path ~ "a(b"', 18, "never closed"),
        ('exclude path ~ "a', 16, "a pattern must be quoted"),
        ("exclude not", 12, "expected one of"),
        ("exclude (depth = 1) x", 21, 'expected "and", "or" or the end here'),
        ("exclude depth = 1 and or", 23, "expected one of"),
        ("exclude " + "(" * 51 + "depth = 1", 59, "parentheses and nots nested more than 50 deep"),
        ("Exclude depth = 1", 1, "a rule begins with"),
        ("excluded depth = 1", 1, "a rule begins with"),
        ("sooner 0 depth = 1", 8, "an amount from 1 to 4 must follow"),
        ("near", 5, "the label of nodes must follow"),
        ("near host = a.org", 6, "the label of nodes must follow, as in: near eu domain = de"),
        ("near eu", 6, "the label of nodes must follow"),
        ("sooner 5 depth = 1", 8, "an amount from 1 to 4"),
        ("later 1", 7, "an amount from 1 to 4"),
        ("seed http://a.org/ depth = 1", 6, "a seed URL and a colon come first"),
        ("seed http://[: depth = 1", 6, "a seed URL and a colon come first"),
        ("seed http://a.org/: depth", 26, "depth is followed by"),
    ],
)
def test_each_error_in_a_rule_is_reported_with_its_column(line: str, column: int, says: str) -> None:
    found = load_rules(line)
    assert isinstance(found, Problems)
    (problem,) = found.problems
    assert (problem.line, problem.column, problem.text) == (1, column, line) and says in problem.says
    assert problem.in_words == f"line 1, column {column}: {problem.says}\n  {line}\n  {' ' * (column - 1)}^"


def test_fifty_nested_parentheses_are_accepted_and_closed_ones_do_not_count() -> None:
    assert holds("(" * 49 + "depth = 2" + ")" * 49) is True
    assert holds("not " * 48 + "depth = 2") is True
    assert holds(" or ".join(["(depth = 9)"] * 60 + ["depth = 2"])) is True


def test_a_rule_is_kept_as_written() -> None:
    rules = book(
        "  # x", "sooner 4 depth = 1", " later 1 depth = 2 ", "seed http://a.org/: depth = 3", "include depth = 4"
    )
    assert [(one.kind.value, one.text, one.line, one.amount, str(one.seed or "")) for one in rules.rules] == [
        ("sooner", "sooner 4 depth = 1", 2, -4, ""),
        ("later", "later 1 depth = 2", 3, 1, ""),
        ("seed", "seed http://a.org/: depth = 3", 4, 0, "http://a.org/"),
        ("include", "include depth = 4", 5, 0, ""),
    ]
    assert [one.in_words for one in rules.deciding] == ["rule 5: include depth = 4"] and len(rules.nudging) == 2
    assert rules.decides and not book("later 1 depth = 2").decides and book("seed http://a.org/: depth = 3").decides


@pytest.mark.parametrize(
    ("lines", "early", "html"),
    [
        (["include type = text/html"], "unknown", "allowed"),
        (["include type = text/html", "include depth = 2"], "allowed", "allowed"),
        (["include depth = 2", "exclude type = text/html"], "unknown", "denied"),
        (["exclude type = text/html", "include depth = 2"], "allowed", "allowed"),
        (["exclude depth = 2", "include type = text/html"], "unknown", "allowed"),
        (["exclude type = text/html", "exclude depth = 2"], "denied", "denied"),
        (["exclude type = text/html"], "unknown", "denied"),
        (["include depth = 9", "exclude type = text/html"], "denied", "denied"),
        (["include depth = 9"], "denied", "denied"),
        (["exclude depth = 9"], "allowed", "allowed"),
    ],
)
def test_rules_on_types_are_unknown_only_where_the_type_decides(lines: list[str], early: str, html: str) -> None:
    names = {Allowed: "allowed", Denied: "denied", Unknown: "unknown"}
    rules, url = book(*lines), Url("http://a.test/")
    assert names[type(rules.judge(url, 2))] == early and names[type(rules.judge(url, 2, "text/html"))] == html


@pytest.mark.parametrize(
    ("one", "two", "early"),
    [("T", "F", "allowed"), ("F", "F", "denied"), ("U", "F", "unknown"), ("F", "U", "unknown"), ("U", "T", "allowed"),
     ("U", "U", "unknown")],
)  # fmt: skip
def test_one_accepting_seed_is_enough_when_several_reach_a_url(one: str, two: str, early: str) -> None:
    names = {Allowed: "allowed", Denied: "denied", Unknown: "unknown"}
    rules = book(f"seed http://a.test/1: {TRUTH[one]}", f"seed http://a.test/2: {TRUTH[two]}")
    seeds = [(Url("http://a.test/1"), Reach.HOST), (Url("http://a.test/2"), Reach.HOST)]
    assert names[type(rules.for_seeds(seeds).judge(Url("http://a.test/x"), 2))] == early
    if early == "denied":
        assert rules.for_seeds(seeds).judge(Url("http://a.test/x"), 2) == Denied(
            "rule 2: seed http://a.test/2: depth = 9"
        )
    free = rules.for_seeds([*seeds, (Url("http://www.a.test/"), Reach.DOMAIN)])
    assert free.judge(Url("http://a.test/x"), 2) == ALLOWED
    assert rules.for_seeds(seeds).judge(Url("http://b.test/x"), 2) == ALLOWED
    strict = book("exclude depth = 2", f"seed http://a.test/1: {TRUTH[one]}").for_seeds(seeds)
    assert isinstance(strict.judge(Url("http://a.test/x"), 2), Denied), "exclude rules apply to every seed"


def test_priority_changes_add_up_between_minus_four_and_four() -> None:
    rules = book(
        "sooner 4 depth = 1", "sooner 4 depth <= 2", "later 3 depth = 2", "later 4 depth >= 3", "later 4 depth = 4"
    )
    assert [rules.nudge(Url("http://a.test/"), depth) for depth in (1, 2, 3, 4, 0)] == [-4, -1, 4, 4, -4]
    assert NO_RULES.nudge(Url("http://a.test/"), 1) == 0


def test_a_filter_that_fails_refuses_nothing_and_other_filters_still_apply() -> None:
    def fails(url: str, depth: int) -> FilterFailed:
        return FilterFailed(f"filter {depth} broke")

    def refuses(url: str, depth: int) -> Denied:
        return Denied("no")

    def passes(url: str, depth: int) -> Allowed:
        return ALLOWED

    scope = scope_of([(Url("http://a.test/"), Reach.HOST)])

    def verdict(*own: object, rules: RuleBook = NO_RULES) -> object:
        return judge(Url("http://a.test/x"), 1, How.LINK, scope, rules, own)  # type: ignore[arg-type]

    assert verdict(passes) == ALLOWED and verdict(passes, refuses) == Denied("no") == verdict(fails, refuses)
    assert verdict(fails) == FilterFailed("filter 1 broke") == verdict(passes, fails, passes)
    assert verdict(passes, rules=book("exclude type = text/html")) == UNKNOWN
    assert isinstance(verdict(fails, rules=book("exclude type = text/html")), FilterFailed)
