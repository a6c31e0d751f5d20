"""Addresses of one kind share a template, and those of different kinds do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.learned.templates import LONGEST, kind_of, template_of
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
def test_what_varies_is_named_by_its_kind(target: str, expected: str) -> None:
    assert template(target) == expected


def test_every_combination_of_filters_is_one_template() -> None:
    found = {
        template(f"/shop?colour={colour}&size={size}&sort=name") for colour in ("red", "blue") for size in range(9)
    }
    assert found == {"/shop?..."}


def test_parts_of_a_site_have_templates_of_their_own() -> None:
    assert template("/people/12/ada-close") != template("/places/12/old-quay")


@given(st.text(max_size=300))
def test_a_template_is_bounded_and_made_of_any_address(text: str) -> None:
    url = url_of("/" + text, Url("http://example.org/"))
    if url is not None:
        assert len(template_of(url)) <= LONGEST
        assert template_of(url) == template_of(url)


@given(st.integers(0, 10**9))
def test_numbers_are_all_of_one_kind(number: int) -> None:
    assert kind_of(str(number)) == "{n}"
