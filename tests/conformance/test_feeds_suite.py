"""The feedparser corpus: nothing raises, and links, ids, dates and titles are right in at least 98 %."""

from collections import Counter

import pytest
from tests.conformance.feeds_suite import holds, parts_of, read, rows
from tests.conformance.suites import HOME

SUITE = HOME / "feeds"

ENTITY_CHANGED = "HTML 5 assigns other characters to these entities than HTML 4"
HEAD_AND_BODY = "a whole page in a title: a browser shows its body, the corpus the text of a repaired version"
NOT_SHOWN = "a declaration or comment that is never closed is shown by no browser"
DIFFERENT = {
    "entities/lang.xml": ENTITY_CHANGED,
    "entities/rang.xml": ENTITY_CHANGED,
    "wellformed/sanitize/entry_title_crazy.xml": HEAD_AND_BODY,
    "wellformed/sanitize/feed_title_crazy.xml": HEAD_AND_BODY,
    "wellformed/sanitize/xml_declaration_unexpected_character.xml": NOT_SHOWN,
    "wellformed/sanitize/xml_malicious_comment.xml": NOT_SHOWN,
}
"""Rows that we read differently, each with the reason."""

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the feeds are not here; set GOSSAMER_CONFORMANCE")


def test_M_C8_links_ids_dates_and_titles_are_right_and_nothing_raises() -> None:
    applicable: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    every = rows(SUITE)
    for row in every:
        feed = read(row)
        parts = parts_of(row)
        if not parts:
            continue
        applicable[parts[0][0]] += 1
        if not all(holds(part, feed) for _, part in parts):
            wrong[row["path"]] = parts[0][0]
    total = applicable.total()
    print(f"{len(every)} rows, {total} applicable: {dict(applicable)}; wrong: {len(wrong)}")
    assert wrong.keys() == DIFFERENT.keys()
    assert len(every) == 2107 and total >= 650 and len(wrong) <= 0.02 * total
