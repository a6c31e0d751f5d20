"""Templates and their filters. Everything is escaped; nothing here marks a text as safe.

It imports nothing of the web framework, so that search processes need not load that.
"""

from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import jinja2
import markupsafe

from gossamer.base.clock import SECOND, Instant
from gossamer.values.capture import charset_in_words
from gossamer.values.format import duration, fitted, state_in_words
from gossamer.web.names import language

LEEWAY = 5
"""Characters beyond the limit that are still not cut off, as in Jinja."""
_inside = getattr(markupsafe, "_escape_inner", markupsafe.escape)


def escaped(value: object) -> str:
    """The text of `markupsafe.escape` without its wrapper object, which a text that is only written out does not need.

    Wrapping the seven hundred texts of a page took a third of the time of rendering it.
    """
    return _inside(value) if type(value) is str else str(value) if type(value) is int else markupsafe.escape(value)


class _Template(jinja2.Template):
    """Writes texts with `escaped`."""

    @classmethod
    def _from_namespace(
        cls, environment: jinja2.Environment, namespace: MutableMapping[str, Any], globals: MutableMapping[str, Any]
    ) -> jinja2.Template:
        if "escape" in namespace:
            namespace["escape"] = escaped
        return super()._from_namespace(environment, namespace, globals)


class _Environment(jinja2.Environment):
    template_class = _Template


def make_templates() -> jinja2.Environment:
    templates = _Environment(
        loader=jinja2.PackageLoader("gossamer.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # or else every page checks the files of its templates
    )
    templates.filters |= {
        "moment": moment,
        "day": day,
        "number": number,
        "state": state_in_words,
        "fitted": fitted,
        "shortened": shortened,
        "ago": ago,
        "size": size,
        "language": language,
        "charset": charset_in_words,
        "pieces": pieces,
    }
    return templates


def pieces(words: str) -> list[tuple[str, bool]]:
    """Pieces of text; True marks a command, which is between backquotes."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(words.split("`")) if piece]


def sentence(trouble: Exception) -> str:
    words = str(trouble)
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


def moment(at: Instant) -> str:
    """For people, to the second: clocks on the web are no more exact."""
    return f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m-%d %H:%M:%S} UTC"


def day(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m-%d}"


def number(value: float) -> str:
    return f"{value:,.0f}"


def shortened(text: str, most: int) -> str:
    """The filter `truncate` as a function."""
    if len(text) <= most + LEEWAY:
        return text
    return text[: most - 3].rsplit(" ", 1)[0] + "..."


def ago(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def size(octets: int) -> str:
    if octets < 1000:
        return f"{octets} bytes"
    return f"{octets / 1000:,.1f} kB" if octets < 1_000_000 else f"{octets / 1_000_000:,.1f} MB"
