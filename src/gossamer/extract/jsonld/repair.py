"""JSON as people write it in pages: comments, trailing commas, CDATA, several roots, control characters, entities.

What is sure is tried first. Only when nothing can be read after that, commas that were forgotten, quotation marks
inside strings, other quotation marks and brackets that are never closed are guessed at.
"""

import json
import re
from html import unescape
from typing import Any, NamedTuple

LARGEST_REPAIR = 1 << 19
"""Mending costs a hundred times what reading does; longer scripts are not worth it."""
LARGEST_GUESS = 1 << 17
"""Guessing comes on top of that."""

SENTENCES = {
    "wrapped": "wrapped in CDATA or an HTML comment",
    "comment": "comment, which JSON does not allow",
    "comma": "trailing comma",
    "no-value": "name without a value",
    "undefined": "undefined, NaN or Infinity",
    "escape": "invalid escape in a string",
    "control-character": "unescaped control character (line break or tab) in a string",
    "entities": "quotation marks written as HTML entities",
    "missing-comma": "missing comma between two values",
    "quote-in-string": "unescaped quotation mark in a string",
    "single-quotes": "strings in single quotes",
    "bare-name": "name without quotes",
    "unclosed": "unclosed bracket",
    "several-roots": "several values in a row; put them in one array",
    "around": "text before or after the value",
}
"""What is told of each breakage."""

_CDATA = re.compile(r"(?://|/\*)?[ \t]{0,8}(?:<!\[CDATA\[|\]\]>)[ \t]{0,8}(?:\*/)?|^\s*<!--|-->\s*$")
_TOKEN = re.compile(  # each alternative runs to the end when it is not closed, so that no input is scanned twice
    r"""
      (?P<string>"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z))
    | (?P<comment>/\*.*?(?:\*/|\Z) | //[^\n]*+ | <!--.*?(?:-->|\Z))
    | (?P<comma>,[\s,]*+)
    | (?P<empty>:(?=\s*+[,}\]]))
    | (?P<undefined>\b(?:undefined|NaN|Infinity)\b)
    """,
    re.VERBOSE | re.DOTALL,
)
_GUESSED = re.compile(
    r"""
      (?P<quote>["'])
    | (?P<name>(?<![\w$@-])[A-Za-z_$@][\w$@-]{0,99}+(?=\s*+:))
    | (?P<value>[}\]\d]\s*+(?=["{\[]))
    """,
    re.VERBOSE,
)
_AFTER_STRING = re.compile(
    r"\s*+(?:[:}\]]|\Z|,(?=\s*+(?:[\"'{\[\d}\]-]|[A-Za-z_$@][\w$@-]{0,99}+\s*+:|true|false|null)))"
)
_NEXT_LINE = re.compile(r"[ \t]*+\r?\n\s*+\"")
_QUOTED = re.compile(r"\\.|[\"']", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
_BETWEEN_ROOTS = re.compile(r"[\s,;\ufeff}\]]*")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


class Mended(NamedTuple):
    roots: list[Any]
    """The values that can be read; empty when it is hopeless."""
    breakages: tuple[str, ...] = ()
    """What was wrong, as SENTENCES has it."""


def repaired(text: str) -> Mended:
    """What can be read out of a script that is not valid JSON."""
    if len(text) > LARGEST_REPAIR:
        return Mended([])
    mending = _Mending()
    roots = mending.read(mending.cleaned(text))
    if not roots and "&" in text:
        mending = _Mending("entities")
        text = unescape(text)
        roots = mending.read(mending.cleaned(text))
    if not roots and len(text) <= LARGEST_GUESS and _OPENING.search(text):
        roots = mending.read(mending.closed(mending.cleaned(text)))
        if not roots:
            mending = _Mending()
            roots = mending.read(mending.closed(mending.cleaned(mending.guessed(text))))
    return Mended(roots, tuple([kind for kind in SENTENCES if kind in mending.breakages]) if roots else ())


class _Mending:
    def __init__(self, *breakages: str) -> None:
        self.breakages = set(breakages)

    def cleaned(self, text: str) -> str:
        """Twice, because a comma shows itself as trailing only when the comment after it is gone."""
        unwrapped = _CDATA.sub(" ", text)
        if len(unwrapped) != len(text):
            self.breakages.add("wrapped")
        return _TOKEN.sub(self._token, _TOKEN.sub(self._token, unwrapped))

    def _token(self, found: re.Match[str]) -> str:
        """Strings keep their words; what JSON does not know goes."""
        kind, said = found.lastgroup, found[0]
        if kind == "string":
            return _ESCAPE.sub(self._escape, said) if "\\" in said else said
        if kind == "undefined":
            self.breakages.add("undefined")
            return "null"
        if kind == "empty":
            self.breakages.add("no-value")
            return ":null"
        if kind == "comment":
            self.breakages.add("comment")
            return " "
        is_trailing = found.string[found.end() : found.end() + 1] in ("}", "]")
        if is_trailing or said.count(",") > 1:
            self.breakages.add("comma")
        return " " if is_trailing else ","

    def _escape(self, found: re.Match[str]) -> str:
        """Escapes that JSON does not have (`\\'`, `\\x`) stand for the character itself."""
        said = found[0]
        if said[1] in '"\\/bfnrtu' and (said[1] != "u" or len(said) == 6):
            return said
        self.breakages.add("escape")
        return said[1:]

    def guessed(self, text: str) -> str:
        """With every string in quotation marks of its own, names too, and commas between what stands side by side."""
        written: list[str] = []
        at = 0
        while (found := _GUESSED.search(text, at)) is not None:
            written.append(text[at : found.start()])
            at = found.end()
            if found.lastgroup == "quote":
                inside, at = self._string(text, at, found[0])
                written.append(inside)
            elif found.lastgroup == "name":
                self.breakages.add("bare-name")
                written.append(f'"{found[0]}"')
            else:
                self.breakages.add("missing-comma")
                written.append(f"{found[0]},")
        return "".join([*written, text[at:]])

    def _string(self, text: str, start: int, quote: str) -> tuple[str, int]:
        """A string ends where JSON can go on after it, or the next line begins with another."""
        if quote == "'":
            self.breakages.add("single-quotes")
        written: list[str] = []
        at = start
        while (found := _QUOTED.search(text, at)) is not None:
            written.append(text[at : found.start()])
            at = found.end()
            if found[0] != quote:
                written.append('\\"' if found[0] == '"' else found[0])
            elif _AFTER_STRING.match(text, at):
                return f'"{"".join(written)}"', at
            elif _NEXT_LINE.match(text, at):
                self.breakages.add("missing-comma")
                return f'"{"".join(written)}",', at
            else:
                self.breakages.add("quote-in-string")
                written.append('\\"' if quote == '"' else quote)
        return f'"{"".join(written)}', len(text)

    def closed(self, text: str) -> str:
        """With the brackets that are missing at its end."""
        opened: list[str] = []
        for found in _BRACKET.finditer(text):
            if found[0] in "{[":
                opened.append("}" if found[0] == "{" else "]")
            elif found[0] in "}]" and opened and opened[-1] == found[0]:
                opened.pop()
        if opened:
            self.breakages.add("unclosed")
        return text.rstrip().rstrip(",") + "".join(reversed(opened))

    def read(self, text: str) -> list[Any]:
        """Objects and arrays that follow one another; what comes before the first and after the last is left."""
        roots: list[Any] = []
        first = _OPENING.search(text)
        at = first.start() if first is not None else len(text)
        if text[:at].strip():
            self.breakages.add("around")
        while at < len(text):
            try:
                root, at = _DECODER.raw_decode(text, at)
            except ValueError:
                self.breakages.add("around")
                break
            if isinstance(root, dict | list):
                roots.append(_whole(root))
            between = _BETWEEN_ROOTS.match(text, at)
            if between is not None:
                if between[0].strip():
                    self.breakages.add("around")
                at = between.end()
        if len(roots) > 1:
            self.breakages.add("several-roots")
        if not self.breakages:
            self.breakages.add("control-character")
        return roots


def _whole(root: Any) -> Any:
    """Without halves of surrogate pairs, which no encoding can hold."""
    text = json.dumps(root, ensure_ascii=False)
    return json.loads(_HALF_PAIR.sub("\ufffd", text)) if _HALF_PAIR.search(text) else root
