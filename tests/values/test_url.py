"""URLs: one canonical form, or none."""

import pytest

from gossamer.values.url import Url, id_of, url_of


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTP://Example.ORG:80/a/../b?q#part", "http://example.org/b?q"),
        ("https://user:secret@example.org/", "https://example.org/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://example.org.:8080/x", "http://example.org:8080/x"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://example.org", "http://example.org/"),
    ],
)
def test_F_U3_F_U9_spellings_of_one_url_have_one_canonical_form(text: str, canonical: str) -> None:
    assert url_of(text) == Url(canonical)


@pytest.mark.parametrize(
    "text",
    ["mailto:a@b", "javascript:alert(1)", "file:///etc/passwd", "http://", "http://./", "http://..:5/", "x" * 9000],
)
def test_F_D7_a_text_that_is_not_a_web_url_is_none(text: str) -> None:
    assert url_of(text) is None


def test_a_relative_url_is_joined_with_its_base() -> None:
    assert url_of("../c?d", Url("https://example.org/a/b/")) == Url("https://example.org/a/c?d")


def test_the_parts_of_a_url() -> None:
    url = Url("https://example.org:8443/a/b?c=d")
    assert (url.scheme, url.host.name, url.hostname, url.port) == ("https", "example.org:8443", "example.org", 8443)
    assert (url.origin, url.target, url.path) == ("https://example.org:8443", "/a/b?c=d", "/a/b")
    assert Url("http://[::1]/").hostname == "::1" and Url("http://[::1]/").port == 80


def test_ids_are_signed_64_bit_numbers() -> None:
    ids = {id_of(f"http://example.org/{n}") for n in range(1000)}
    assert len(ids) == 1000 and all(-(2**63) <= one < 2**63 for one in ids) and min(ids) < 0 < max(ids)
