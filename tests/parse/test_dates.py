"""Dates in the dialects of feeds and sitemaps."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import in_words
from gossamer.parse.dates import instant_of

DIALECTS = {
    "2003-12-31T10:14:55Z": "2003-12-31T10:14:55",
    "2003-12-31T10:14:55-08:00": "2003-12-31T18:14:55",
    "2003-12-31T10:14:55.123+0100": "2003-12-31T09:14:55",
    "2003-12-31 10:14": "2003-12-31T10:14:00",
    "2003-12-31": "2003-12-31T00:00:00",
    "2003-12": "2003-12-01T00:00:00",
    "2003": "2003-01-01T00:00:00",
    "20031231T101455Z": "2003-12-31T10:14:55",
    "2003-335": "2003-12-01T00:00:00",
    "1970-01-01": "1970-01-01T00:00:00",
    "Thu, 01 Jan 2004 19:48:21 GMT": "2004-01-01T19:48:21",
    "Thu, 1 Jan 04 19:48:21 +0200": "2004-01-01T17:48:21",
    "01 Jan 2004 19:48 EST": "2004-01-02T00:48:00",
    "26 Jun 2012 10:00:00 +01:00 (CET)": "2012-06-26T09:00:00",
    "Tue, 26 Jun 2012 24:00:00 GMT": "2012-06-27T00:00:00",
    "Sunday, 06-Nov-94 08:49:37 GMT": "1994-11-06T08:49:37",
    "Thu Jan  1 19:48:21 2004": "2004-01-01T19:48:21",
    "January 5 2004 3:05 PM": "2004-01-05T15:05:00",
    "2004-07-08 23:56:58.0": "2004-07-08T23:56:58",
    "Fri, 2006/09/15 08:19:53 EDT": "2006-09-15T12:19:53",
    "2004년 05월 28일 오전 01:31:15": "2004-05-27T16:31:15",
    "2004-05-25 오후 11:23:17": "2004-05-25T14:23:17",
    "Κυρ, 11 Ιούλ 2004 12:00:00 EST": "2004-07-11T17:00:00",
    "2004-július-13T9:15-05:00": "2004-07-13T14:15:00",
}


@pytest.mark.parametrize("text", DIALECTS)
def test_a_date_is_read_in_each_dialect(text: str) -> None:
    at = instant_of(text)
    assert at is not None and in_words(at)[:19] == DIALECTS[text]


@pytest.mark.parametrize(
    "text", ["", "soon", "2004-13-40", "2004-02-30", "0000-00-00", "99999999999", "12:00", "31 Foo 2004", "9" * 500]
)
def test_an_invalid_date_is_none(text: str) -> None:
    assert instant_of(text) is None


@given(st.text(alphabet="0123456789-:T+Z ,/JanFebMonGMT", max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    at = instant_of(text)
    assert at is None or isinstance(at, int)


@given(st.datetimes(min_value=datetime(1000, 1, 1)))
def test_every_rfc_3339_instant_is_read(moment: datetime) -> None:
    text = f"{moment:%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")
    at = instant_of(text)
    assert at is not None and in_words(at)[:19] + "Z" == text
