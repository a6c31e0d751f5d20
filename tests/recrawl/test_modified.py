"""Modification dates stated by pages."""

import pytest

from gossamer.base.clock import from_words
from gossamer.recrawl.change import modified_at

NOW = from_words("2026-11-15T10:00:00Z")
SCHEMA, ARTICLE, TERMS = (
    b"<https://schema.org/dateModified>",
    b"<http://ogp.me/ns/article#modified_time>",
    b"<http://purl.org/dc/terms/modified>",
)
DATETIME = b"^^<http://www.w3.org/2001/XMLSchema#dateTime>"


@pytest.mark.parametrize("predicate", [SCHEMA, ARTICLE, TERMS])
def test_each_property_for_the_modification_date_is_read(predicate: bytes) -> None:
    facts = b'<http://a.test/> %s "2026-11-01T12:30:00+02:00"%s .\n' % (predicate, DATETIME)
    assert modified_at(facts, NOW) == from_words("2026-11-01T10:30:00Z")


def test_the_latest_date_is_used_except_for_dates_in_the_future() -> None:
    dates = [b"2020-01-01", b"2026-11-14", b"2027-01-01", b"nonsense", b"99999-01-01", b"2026-13-45"]
    facts = b"".join(b'_:b%d %s "%s" .\n' % (number, SCHEMA, one) for number, one in enumerate(dates))
    assert modified_at(facts, NOW) == from_words("2026-11-14T00:00:00Z")


@pytest.mark.parametrize(
    "facts", [b"", b'<a> <https://schema.org/name> "dateModified" .\n', b"<a> %s <http://a.test/2020> .\n" % SCHEMA]
)
def test_other_facts_give_no_date(facts: bytes) -> None:
    assert modified_at(facts, NOW) is None
