"""URLs of a scheme that was admitted, and of one that was not."""

import pytest

from gossamer.frontier.rows import parts_of, text_of
from gossamer.values.url import DEFAULT_PORTS, Url, admit, url_of


@pytest.fixture
def _quay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFAULT_PORTS, "quay", 1900)


@pytest.mark.usefixtures("_quay")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("quay://Example.ORG", "quay://example.org/"),
        ("QUAY://example.org:1900/a/../b?c#d", "quay://example.org/b?c"),
        ("quay://example.org:80/", "quay://example.org:80/"),
        ("quay://example.org:443/", "quay://example.org:443/"),
        ("quay://user:word@[::1]:1901/x y", "quay://[::1]:1901/x%20y"),
        ("quay://bücher.example/", "quay://xn--bcher-kva.example/"),
        ("quay:example.org", None),
        ("quay://", None),
        ("quay:///x", "quay://x/"),
        ("kai://example.org/", None),
    ],
)
def test_urls_of_an_admitted_scheme_have_a_canonical_form(text: str, expected: str | None) -> None:
    found = url_of(text)
    assert (found.text if found else None) == expected
    if found is not None:
        assert url_of(found.text) == found and url_of("", found) == found


@pytest.mark.usefixtures("_quay")
@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("/c", "quay://h.org:80/c"),
        ("c", "quay://h.org:80/a/c"),
        ("?q", "quay://h.org:80/a/b?q"),
        ("//other.org/", "quay://other.org/"),
        ("http://h.org/c", "http://h.org/c"),
        ("quay://x.org/", "quay://x.org/"),
        ("mailto:a@h.org", None),
    ],
)
def test_links_on_its_pages_may_be_relative_or_lead_to_the_web(link: str, expected: str | None) -> None:
    found = url_of(link, Url("quay://h.org:80/a/b"))
    assert (found.text if found else None) == expected


@pytest.mark.usefixtures("_quay")
def test_its_hosts_are_distinct_from_hosts_of_the_web() -> None:
    url = Url("quay://h.org:1901/x")
    assert (url.host.name, url.hostname, url.port, url.origin, url.target) == (
        "quay|h.org:1901", "h.org", 1901, "quay://h.org:1901", "/x",
    )  # fmt: skip
    assert Url("quay://[::1]/").hostname == "::1" and Url("quay://[::1]/").port == 1900
    assert url.robots.text == "quay://h.org:1901/robots.txt"
    lane, name, rest = parts_of(url.text)
    assert name == url.host.name and text_of(lane, name, rest) == url.text
    assert url_of("http://quay|h.org:1901/") is None  # no host of the web can have its name


def test_other_schemes_are_not_admitted() -> None:
    assert url_of("quay://example.org/") is None
    for scheme in ("", "a b", "Quay", "quay:", "1st"):
        with pytest.raises(ValueError, match="scheme"):
            admit(scheme, 1)
