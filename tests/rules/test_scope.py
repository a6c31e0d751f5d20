"""Which URLs belong to a crawl."""

import pytest

from gossamer.rules.scope import Reach, Scope, domain_of, folder_of, judge, judge_host, scope_of
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Url


def verdict(text: str, *seeds: tuple[str, Reach], depth: int = 0, deepest: int | None = None) -> Allowed | Denied:
    return judge(Url(text), depth, scope_of([(Url(seed), reach) for seed, reach in seeds], deepest))


@pytest.mark.parametrize(
    ("seed", "reach", "text", "is_in"),
    [
        ("https://a.test/docs/index.html", Reach.PREFIX, "https://a.test/docs/x/y?z", True),
        ("https://a.test/docs/index.html", Reach.PREFIX, "https://a.test/docs", False),
        ("https://a.test/docs/", Reach.PREFIX, "http://a.test/docs/", False),
        ("https://a.test/docs/?q=/x/", Reach.PREFIX, "https://a.test/docs/a", True),
        ("https://a.test/", Reach.PREFIX, "https://a.test.evil.test/", False),
        ("https://a.test/x/y", Reach.HOST, "http://a.test/", True),
        ("https://a.test/", Reach.HOST, "https://www.a.test/", False),
        ("https://a.test:8443/", Reach.HOST, "https://a.test/", False),
        ("https://www.example.co.uk/", Reach.DOMAIN, "http://shop.example.co.uk:81/", True),
        ("https://www.example.co.uk/", Reach.DOMAIN, "https://other.co.uk/", False),
        ("https://a.github.io/", Reach.DOMAIN, "https://b.github.io/", False),
        ("http://20.0.0.1/", Reach.DOMAIN, "http://20.0.0.1:8080/", True),
        ("http://20.0.0.1/", Reach.DOMAIN, "http://19.0.0.1/", False),
        ("http://[2001:db8::1]/", Reach.DOMAIN, "http://[2001:db8::1]:80/", True),
        ("http://[2001:db8::1]/", Reach.DOMAIN, "http://[2001:db8::2]/", False),
        ("https://a.test/", Reach.ANY, "http://anything.example/at/all", True),
    ],
)
def test_each_reach_accepts_the_urls_it_promises(seed: str, reach: Reach, text: str, is_in: bool) -> None:
    assert isinstance(verdict(text, (seed, reach)), Allowed) is is_in


def test_a_refusal_names_the_rule() -> None:
    denied = verdict("https://b.test/", ("https://a.test/", Reach.HOST), ("https://c.test/d/", Reach.PREFIX))
    assert denied == Denied("outside the scope: prefix https://c.test/d/; host a.test")
    many = [(f"https://h{number}.test/", Reach.HOST) for number in range(9)]
    assert verdict("https://b.test/", *many) == Denied(
        "outside the scope: host h0.test, h1.test, h2.test, h3.test, h4.test and 4 more"
    )
    assert isinstance(judge(Url("https://b.test/"), 0, Scope()), Denied)


def test_seeds_may_have_different_reaches() -> None:
    seeds = [("https://a.test/x/", Reach.PREFIX), ("https://b.test/", Reach.HOST)]
    assert isinstance(verdict("https://a.test/x/1", *seeds), Allowed)
    assert isinstance(verdict("https://a.test/y", *seeds), Denied)
    assert isinstance(verdict("https://b.test/y", *seeds), Allowed)


def test_links_are_followed_up_to_the_given_depth() -> None:
    seed = ("https://a.test/", Reach.ANY)
    assert isinstance(verdict("https://a.test/", seed, depth=3, deepest=3), Allowed)
    assert verdict("https://a.test/", seed, depth=4, deepest=3) == Denied("4 links from its seed; the limit is 3")
    assert isinstance(verdict("https://a.test/", seed, depth=10**6), Allowed)
    with pytest.raises(ValueError):
        scope_of([], deepest=-1)


def test_a_folder_ends_at_the_last_slash_of_the_path() -> None:
    assert folder_of(Url("https://a.test/x/y?a=/b/")) == "https://a.test/x/"


def test_hosts_without_a_registrable_domain_are_their_own_domain() -> None:
    assert [domain_of(name) for name in ("localhost", "github.io", "1.2.3.4", "::1", "a.b.example.org.")] == [
        "localhost",
        "github.io",
        "1.2.3.4",
        "::1",
        "example.org",
    ]


@pytest.mark.parametrize(
    ("hostname", "domain"),
    [
        ("www.xn--55qx5d.cn", "www.xn--55qx5d.cn"),  # a public suffix of two labels, the first in punycode
        ("a.www.xn--55qx5d.cn", "www.xn--55qx5d.cn"),
        ("a.b.xn--bcher-kva.example.com", "example.com"),
        ("shop.xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("a.xn--zz-invalid-.de", "xn--zz-invalid-.de"),  # not punycode
        ("xn--55qx5d.a.cn", "a.cn"),
    ],
)
def test_public_suffixes_are_recognised_in_punycode(hostname: str, domain: str) -> None:
    assert domain_of(hostname) == domain


def test_an_ipv6_address_that_ends_like_an_ipv4_address_is_its_own_domain() -> None:
    assert domain_of("::ffff:1.2.3.4") == "::ffff:1.2.3.4"


def test_a_scope_names_up_to_five_and_counts_the_rest() -> None:
    five, six = ([(f"https://h{number}.test/", Reach.HOST) for number in range(count)] for count in (5, 6))
    assert verdict("https://b.test/", *five) == Denied(
        "outside the scope: host h0.test, h1.test, h2.test, h3.test, h4.test"
    )
    assert verdict("https://b.test/", *six) == Denied(
        "outside the scope: host h0.test, h1.test, h2.test, h3.test, h4.test and 1 more"
    )


@pytest.mark.parametrize(
    ("reach", "text", "is_visited"),
    [
        (Reach.PREFIX, "https://a.test/elsewhere", True),
        (Reach.PREFIX, "http://a.test/docs/", False),
        (Reach.PREFIX, "https://a.test.evil/docs/", False),
        (Reach.HOST, "http://a.test/", True),
        (Reach.HOST, "http://b.test/", False),
        (Reach.DOMAIN, "http://www.a.test/", True),
        (Reach.DOMAIN, "http://www.b.test/", False),
        (Reach.ANY, "http://b.test/", True),
    ],
)
def test_a_host_is_visited_when_any_url_on_it_may_be(reach: Reach, text: str, is_visited: bool) -> None:
    scope = scope_of([(Url("https://a.test/docs/x"), reach), (Url("https://c.test/"), Reach.PREFIX)])
    assert isinstance(judge_host(Url(text), scope), Allowed) is is_visited


def test_without_seeds_nothing_is_in_scope_and_the_refusal_says_so() -> None:
    assert judge(Url("https://b.test/"), 0, Scope()) == Denied("outside the scope: there are no seeds")
    assert judge_host(Url("https://b.test/"), Scope()) == Denied("outside the scope: there are no seeds")
