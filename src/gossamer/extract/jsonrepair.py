"""JSON as people write it in pages: comments, trailing commas, CDATA, several roots, control characters, entities."""

import json
import re
from html import unescape
from typing import Any

LARGEST_REPAIR = 1 << 19
"""Mending costs a hundred times what reading does; longer scripts are not worth it."""

_CDATA = re.compile(r"(?://|/\*)?[ \t]{0,8}(?:<!\[CDATA\[|\]\]>)[ \t]{0,8}(?:\*/)?|^\s*<!--|-->\s*$")
_TOKEN = re.compile(  # each alternative runs to the end when it is not closed, so that no input is scanned twice
    r"""
      (?P<string>"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z))
    | (?P<comment>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z) | //[^\n]*+ | <!--(?:[^-]|-(?!->))*+(?:-->|\Z))
    | (?P<commas>,[\s,]*+)
    | (?P<undefined>\bundefined\b)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"[{\[]")
_BETWEEN_ROOTS = re.compile(r"[\s,;\ufeff}\]]*")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def repaired(text: str) -> list[Any]:
    """The values that can be read out of a script that is not valid JSON; empty when it is hopeless."""
    if len(text) > LARGEST_REPAIR:
        return []
    roots = _roots(_cleaned(text))
    if not roots and "&" in text:
        roots = _roots(_cleaned(unescape(text)))
    return roots


def _cleaned(text: str) -> str:
    """Twice, because a comma shows itself as trailing only when the comment after it is gone."""
    return _TOKEN.sub(_token, _TOKEN.sub(_token, _CDATA.sub(" ", text)))


def _token(found: re.Match[str]) -> str:
    """Strings keep their words; what JSON does not know goes."""
    if found.lastgroup == "string":
        return _ESCAPE.sub(_escape, found[0]) if "\\" in found[0] else found[0]
    if found.lastgroup == "undefined":
        return "null"
    is_trailing = found.lastgroup == "comment" or found.string[found.end() : found.end() + 1] in ("}", "]")
    return " " if is_trailing else ","


def _escape(found: re.Match[str]) -> str:
    """Escapes that JSON does not have (`\\'`, `\\x`) stand for the character itself."""
    return found[0] if found[0][1] in '"\\/bfnrtu' and (found[0][1] != "u" or len(found[0]) == 6) else found[0][1:]


def _roots(text: str) -> list[Any]:
    """Objects and arrays that follow one another; what comes before the first and after the last is left."""
    roots: list[Any] = []
    first = _OPENING.search(text)
    at = first.start() if first is not None else len(text)
    while at < len(text):
        try:
            root, at = _DECODER.raw_decode(text, at)
        except ValueError:
            break
        if isinstance(root, dict | list):
            roots.append(_whole(root))
        between = _BETWEEN_ROOTS.match(text, at)
        at = between.end() if between is not None else at
    return roots


def _whole(root: Any) -> Any:
    """Without halves of surrogate pairs, which no encoding can hold."""
    text = json.dumps(root, ensure_ascii=False)
    return json.loads(_HALF_PAIR.sub("\ufffd", text)) if _HALF_PAIR.search(text) else root
