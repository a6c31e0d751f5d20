"""URLs of one kind share a template, and URLs of different kinds do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.learned.traps import LONGEST_TEMPLATE, kind_of, template_of
from gossamer.values.url import Url, url_of


def template(target: str) -> str:
    return template_of(Url(f"http://example.org{target}"))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/", "/"),
        ("/about", "/{word}"),
        ("/about.html", "/about.html"),
        ("/2024/05/12/", "/{year}/{month}/{day}/"),
        ("/2024/05/12/what-happened", "/{year}/{month}/{day}/{slug}"),
        ("/calendar/2026/1", "/calendar/{year}/{month}"),
        ("/objects/the-amber-harbour-512", "/objects/{slug}"),
        ("/objects/page/12", "/objects/{word}/{n}"),
        ("/recipe/soup.5.html", "/recipe/{slug}.html"),
        ("/p/17", "/p/{n}"),
        ("/page12.html", "/page{n}.html"),
        ("/x/3f9a0bcd1122", "/x/{hex}"),
        ("/x/123e4567-e89b-12d3-a456-426614174000", "/x/{uuid}"),
        ("/x/qzvbtrkp", "/x/{random}"),
        ("/wiki/%E6%9C%A8", "/wiki/{text}"),
        ("/thread.php?t=5", "/thread.php?t={n}"),
        ("/day?date=2024-05-12", "/day?date={date}"),
        ("/item/5?visit=8842ab77c", "/item/{n}?visit={hex}"),
        ("/shop?colour=red&size=40", "/shop?..."),
        ("/shop?size=40&sort=price&page=2", "/shop?..."),
        ("/1234/05/12/", "/{n}/{n}/{n}/"),
        ("/x/1999/13", "/x/{year}/{n}"),
        ("/index.php?action=show", "/index.php?action=show"),
        ("/index.php?action=5", "/index.php?action={n}"),
        ("/index.php?colour=red", "/index.php?colour={word}"),
        ("/index.php?5=red", "/index.php?{n}={word}"),
        ("/index.php?red", "/index.php?{word}"),
        ("/index.php?action=show&id=5", "/index.php?action=show&..."),
        ("/a/b/c/d/e/f/g/h/i/j/k/l", "/a/{word}/{word}/{word}/{word}/{word}/{word}/{word}/{word}/.../{word}"),
    ],
)
def test_variable_parts_are_replaced_by_their_kind(target: str, expected: str) -> None:
    assert template(target) == expected


def test_all_combinations_of_filters_share_one_template() -> None:
    found = {
        template(f"/shop?colour={colour}&size={size}&sort=name") for colour in ("red", "blue") for size in range(9)
    }
    assert found == {"/shop?..."}


def test_each_part_of_a_site_has_its_own_templates() -> None:
    assert template("/people/12/ada-close") != template("/places/12/old-quay")


@given(st.text(max_size=300))
def test_any_url_has_a_template_of_bounded_length(text: str) -> None:
    url = url_of("/" + text, Url("http://example.org/"))
    if url is not None:
        assert len(template_of(url)) <= LONGEST_TEMPLATE
        assert template_of(url) == template_of(url)


@given(st.integers(0, 10**9))
def test_numbers_are_all_of_one_kind(number: int) -> None:
    assert kind_of(str(number)) == "{n}"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", ""),
        ("7", "{n}"),
        ("-7", "{n}"),
        ("+7", "{n}"),
        ("1.5", "{n}"),
        ("1,000.25", "{n}"),
        ("2024-05", "{date}"),
        ("2024-5-1", "{date}"),
        ("2024-05-12", "{date}"),
        ("2024-05-123", "{slug}"),
        ("abcdefgh" * 3, "{word}"),
        ("abcdefgh" * 3 + "i", "{random}"),
        ("f00ba4", "{hex}"),
        ("abcdef", "{word}"),
        ("f00", "f{n}"),
        ("page12", "page{n}"),
        ("abcdefghijkl1", "abcdefghijkl{n}"),
        ("abcdefghijklm1", "{random}"),
        ("v1234567890", "{random}"),
        ("a-b", "{slug}"),
        ("a.b_c,d~e!f'g*h:i+", "{slug}"),
        ("-a", "{other}"),
        ("1a", "{random}"),
        ("%41", "{text}"),
        ("a%41b", "{text}"),
        ("a%4", "{other}"),
        ("rhythms", "{word}"),
        ("rhthmsb", "{word}"),
        ("rhthmsbc", "{random}"),
        ("strength", "{random}"),
        ("strengths", "{random}"),
        ("strengthen", "{word}"),
        ("bcdaghjkalmn", "{word}"),
        ("bcdaghjkalmnp", "{random}"),
        ("JavaScript", "{word}"),
        ("iPhoneCase", "{random}"),
        ("aBaB", "{word}"),
    ],
)
def test_each_kind_of_text_has_a_name(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize("name", ["option", "task", "action", "act", "do", "mod", "module", "controller", "route",
                                  "op", "cmd"])  # fmt: skip
def test_the_value_of_an_action_parameter_is_kept_in_the_template(name: str) -> None:
    assert template(f"/i.php?{name}=show") == f"/i.php?{name}=show"
    assert template(f"/i.php?{name}=7") == f"/i.php?{name}={{n}}"
    assert template(f"/i.php?x=1&{name}=show&{name}=7") == f"/i.php?{name}=show&..."


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/2024/1/1/", "/{year}/{month}/{day}/"),
        ("/2024/12/31/", "/{year}/{month}/{day}/"),
        ("/2024/13/31/", "/{year}/{n}/{n}/"),
        ("/2024/0/1/", "/{year}/{n}/{n}/"),
        ("/2024/12/32/", "/{year}/{month}/{n}/"),
        ("/2024/12/0/", "/{year}/{month}/{n}/"),
        ("/2024/00012/1", "/{year}/{n}/{n}"),
        ("/2024/012/1", "/{year}/{month}/{day}"),
        ("/1900/1", "/{year}/{month}"),
        ("/2199/1", "/{year}/{month}"),
        ("/1899/1", "/{n}/{n}"),
        ("/2200/1", "/{n}/{n}"),
        ("/20240/1", "/{n}/{n}"),
        ("/2024", "/{year}"),
        ("/x/2024", "/x/{year}"),
        ("/x/2024.html", "/x/{year}.html"),
        ("/x/12/3", "/x/{n}/{n}"),
        ("/x/2024/12.html", "/x/{year}/{month}.html"),
        ("/x/2024/12/31.html", "/x/{year}/{month}/{day}.html"),
        ("/index.php/12", "/index.php/{n}"),
        ("/index.php?", "/index.php?..."),
        ("/a.b.c/12", "/{slug}/{n}"),
        ("/.hidden", "/{other}"),
        ("/x/a.html5", "/x/{word}.html5"),
        ("/x/a.html5x", "/x/{slug}"),
        ("/x/a.h", "/x/{slug}"),
        ("/x/a.5h", "/x/{slug}"),
        ("/page-1.html", "/{slug}.html"),
        ("/about", "/{word}"),
        ("/about?", "/about?..."),
        ("/about/", "/about/"),
        ("/7/", "/{n}/"),
        ("/a/b/c", "/a/{word}/{word}"),
        ("/a//c", "/a//{word}"),
        ("/a/1/2/3/4/5/6/7/8/z", "/a/{n}/{n}/{n}/{n}/{n}/{n}/{n}/{n}/{word}"),
        ("/a/1/2/3/4/5/6/7/8/9/z", "/a/{n}/{n}/{n}/{n}/{n}/{n}/{n}/{n}/.../{word}"),
        ("/x?a=1&", "/x?a={n}"),
        ("/x?&&", "/x?..."),
        ("/x?a-b=1", "/x?a-b={n}"),
        ("/x?12=1", "/x?{n}={n}"),
        ("/x?12", "/x?{n}"),
        ("/x?12=", "/x?{n}="),
        ("/x?a=1&b=2", "/x?..."),
        ("/x?do=show&b=2", "/x?do=show&..."),
    ],
)
def test_dates_extensions_depth_and_parameters_at_their_limits(target: str, expected: str) -> None:
    assert template(target) == expected


def test_a_long_template_is_cut() -> None:
    long = "/x?" + "&".join(f"do={'house' * 4}{'a' * n}" for n in range(1, 5)) * 4
    assert len(template(long)) == LONGEST_TEMPLATE and template(long).startswith("/x?do=househouse")
