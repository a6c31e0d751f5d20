"""Characters of scripts that are written without spaces between words."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gossamer.views.words.schema import signs_of

SIGNS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)


@given(st.text(alphabet=st.sampled_from("ab \n\x00é\u201cж\ud800今日はไทย\U00020000\U0001f600\uff71")))
def test_signs_are_found_in_order_in_any_text(text):
    assert signs_of(text) == " ".join(SIGNS.findall(text))


def test_most_texts_have_no_signs():
    assert signs_of("") == signs_of("plain words") == signs_of("caf\u00e9 \u201cquoted\u201d") == ""
    assert signs_of("in 東京, Japan") == "東 京"
