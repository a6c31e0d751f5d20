"""Templates give the same pages as plain Jinja, with less work."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from gossamer.web.render import escaped, make_templates, shortened

TEMPLATE = (
    "{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}{% set part %}<i>{{ text }}</i>{% endset %}"
    "{{ part }}{{ bold(text) }}{{ bold(bold(text)) }}{{ text ~ '<' }}{{ text|e }}{{ (text|e) ~ '<' }}"
    "{{ [text, part]|join('<') }}{{ number }}{{ share }}{{ yes }}{{ nothing }}"
    "{% filter upper %}{{ text }}{% endfilter %}{% for one in [text] %}{{ one|truncate(9) }}{% endfor %}"
    "<a title=\"{{ text }}\" href='{{ text|urlencode }}'>{{ text if yes }}</a>"
)
PLAIN = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)


@given(st.text() | st.text("<>&\"'ab ", max_size=40))
def test_any_text_is_escaped_as_by_jinja(text):
    assert escaped(text) == str(escape(text))
    values = {"text": text, "number": 3, "share": 0.5, "yes": True, "nothing": None}
    assert make_templates().from_string(TEMPLATE).render(values) == PLAIN.from_string(TEMPLATE).render(values)


@pytest.mark.parametrize("value", [0, -7, 2.5, True, None, b"<", ["<"], Markup("<b>"), "<script>"])
def test_other_values_are_escaped_too(value):
    assert escaped(value) == str(escape(value))


@given(st.text(max_size=120), st.integers(10, 80))
def test_text_is_shortened_as_by_jinja(text, most):
    assert shortened(text, most) == PLAIN.call_filter("truncate", text, [most])
