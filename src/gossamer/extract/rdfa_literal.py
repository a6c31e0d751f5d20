"""The literal that an element with @property stands for (RDFa Core 1.1, 7.5, step 11; HTML+RDFa 1.1, 3.1)."""

import re
from collections.abc import Mapping

from gossamer.extract.markup import inner_html, inner_xml
from gossamer.extract.terms import RDF, XSD, quoted, typed_literal
from gossamer.values.tree import Element

XML_LITERAL = f"<{RDF}XMLLiteral>"
HTML_LITERAL = f"<{RDF}HTML>"

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_MOMENTS = tuple(
    (re.compile(form, re.ASCII), f"<{XSD}{kind}>")
    for form, kind in (
        (r"-?P(?!$)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?", "duration"),
        (f"{_DATE}T{_TIME}{_ZONE}", "dateTime"),
        (f"{_DATE}{_ZONE}", "date"),
        (f"{_TIME}{_ZONE}", "time"),
        (f"-?\\d{{4,}}-(?:0[1-9]|1[0-2]){_ZONE}", "gYearMonth"),
        (f"-?\\d{{4,}}{_ZONE}", "gYear"),
    )
)


def literal_of(element: Element, attributes: Mapping[str, str | None], language: str, datatype: str | None) -> str:
    """`language` as `language_suffix` gives it. `datatype`: an IRI term; empty when @datatype names none; None when
    there is no @datatype."""
    if "content" in attributes:
        text, is_moment = attributes["content"] or "", False
    elif "datetime" in attributes:
        text, is_moment = attributes["datetime"] or "", True
    elif datatype == XML_LITERAL:
        text, is_moment = inner_xml(element), False
    elif datatype == HTML_LITERAL:
        text, is_moment = inner_html(element), False
    else:
        text, is_moment = element.text(), element.tag == "time"
    if datatype:
        return typed_literal(text, datatype)
    if is_moment and datatype is None:
        kind = _kind_of_moment(text)
        if kind is not None:
            return typed_literal(text, kind)
    return quoted(text) + language


def _kind_of_moment(text: str) -> str | None:
    """The XML Schema type whose form `text` has; the first that fits."""
    return next((kind for form, kind in _MOMENTS if form.fullmatch(text)), None)
