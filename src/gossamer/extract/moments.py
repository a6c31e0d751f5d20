"""Which XML Schema type a moment or a span of time has, by the form it is written in.

The forms that the HTML standard allows in `<time>` and XML Schema reads as well; others stay plain words.
"""

import re

from gossamer.extract.terms import XSD

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_FORMS = tuple(
    (re.compile(form, re.ASCII), f"<{XSD}{kind}>")
    for form, kind in (
        (f"{_DATE}{_ZONE}", "date"),
        (f"{_DATE}T{_TIME}{_ZONE}", "dateTime"),
        (f"{_TIME}{_ZONE}", "time"),
        (f"-?\\d{{4,}}-(?:0[1-9]|1[0-2]){_ZONE}", "gYearMonth"),
        (f"-?\\d{{4,}}{_ZONE}", "gYear"),
        (r"-?P(?!$)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?", "duration"),
    )
)


def kind_of_moment(text: str) -> str | None:
    """The datatype, as an IRI term, whose form `text` has; None when it has none of them."""
    return next((kind for form, kind in _FORMS if form.fullmatch(text)), None)
