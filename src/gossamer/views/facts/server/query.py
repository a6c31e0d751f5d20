"""A user's query as a SPARQL server gets it: written again from its tokens.

The query was parsed by the embedded engine, but another engine may split the same text in another way: code points
that are escaped (`\\u0022`), comments, comparisons without spaces. So nothing of the text is passed on. Strings and
IRIs are serialised, names are IRIs, and tokens have spaces between them.

Blank nodes are IRIs on the server (`terms`), so isBlank and isIRI are rewritten. Of our own functions, those on classes
and properties become lists of IRIs; those on the origin of a fact are computed here, from the rows of the answer.
"""

import re
from collections.abc import Callable, Mapping

import msgspec
from pyoxigraph import Literal

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import Vocabularies
from gossamer.views.facts.query_job import IS_A, SPECIALISES
from gossamer.views.facts.query_text import CLOSES, END, Token, prefixes_in, tokens_of, unescaped
from gossamer.views.facts.server.terms import BLANK, XSD, literal_in_sparql, stored_iri
from gossamer.views.facts.sources import PATH, SPELLING, SYNTAX

ORIGINS = (SYNTAX, PATH, SPELLING)

MOST_BYTES = 1 << 20
"""Of the text that is sent: inference and classes make it longer than the user's."""
NO_CODE = "IRIs that begin with java: name code of the server, and are not available."
NO_FUNCTION = (
    "<{}> is not a function of this collection. A list ( ) right after a property cannot be queried here either; write "
    "it out with rdf:first and rdf:rest."
)
ONLY_SELECTED = (
    "As the facts are on a SPARQL server, <{}> can only be used as (<...>(?page, ?s, ?p, ?o) AS ?name) in the first "
    "SELECT of a query, with variables that it selects too, or with IRIs."
)
ONLY_NAMED = "As the facts are on a SPARQL server, <{}> needs a variable, and the IRI that it is compared with."
TOO_LONG = "The query is too long for the server once its names are expanded; run it without inference."

_UNSAFE = re.compile(r"""[<>"{}|^`\\\x00-\x20]""")
_STRING_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_LETTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_FORMS = {"SELECT": "rows", "ASK": "truth", "CONSTRUCT": "triples", "DESCRIBE": "triples"}


class OriginColumn(msgspec.Struct, frozen=True):
    """A column of the answer that is computed here: a function on where a fact is from, and its four arguments."""

    name: str
    function: str
    arguments: tuple[str, str, str, str]
    """Each a variable with its question mark, or a term as N-Triples."""
    place: int
    """Its number among the columns."""


class ServerQuery(msgspec.Struct, frozen=True):
    text: str
    form: str
    """What it answers with: "rows", "truth" or "triples"."""
    columns: tuple[OriginColumn, ...] = ()
    helpers: tuple[str, ...] = ()
    """Variables that are selected only for `columns`."""


def server_query(query: str, known: Vocabularies, most_rows: int) -> ServerQuery:
    """With a limit of one row more than is shown, if it has no limit of its own.

    REQUIRES: a query that the embedded engine can parse and `inspect` allows. Raises QueryRefused for what cannot be
    asked of a server.
    """
    writer = _Writer(query, known)
    found = writer.written()
    if found.form == "rows" and not writer.outer & {"LIMIT", "VALUES"}:
        found = msgspec.structs.replace(found, text=f"{found.text} LIMIT {most_rows + 1}")
    if len(found.text) > MOST_BYTES:
        raise QueryRefused(TOO_LONG)
    return found


class _Writer:
    """One pass over the tokens."""

    def __init__(self, query: str, known: Vocabularies) -> None:
        self._tokens = tokens_of(query)
        self._prefixes = {name: unescaped(iri) for name, iri in prefixes_in(self._tokens).items()}
        self._known = known
        self._at = 0
        self.outer = words_outside(self._tokens)
        self._relations: Mapping[str, Callable[[str, str], bool]] = {
            IS_A.value: lambda narrow, wide: known.is_a(narrow, wide, "class"),
            SPECIALISES.value: lambda narrow, wide: known.is_a(narrow, wide, "property"),
        }

    def written(self) -> ServerQuery:
        out: list[str] = []
        while self._next().is_word("PREFIX", "BASE", "VERSION"):
            if self._take().is_word("PREFIX"):
                self._take()  # names are written in full
                self._term(self._take())
            elif self._tokens[self._at - 1].is_word("BASE"):
                out += ["BASE", self._term(self._take())]
            else:
                self._take()
        form = _FORMS.get(self._next().text.upper(), "rows")
        columns, helpers = list[OriginColumn](), list[str]()
        if self._next().is_word("SELECT"):
            out.append(self._select(columns, helpers))
        while self._next() is not END:
            out.append(self._part())
        return ServerQuery(" ".join(out), form, tuple(columns), tuple(helpers))

    def _next(self, ahead: int = 0) -> Token:
        return self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else END

    def _take(self) -> Token:
        token = self._next()
        self._at += 1
        return token

    def _select(self, columns: list[OriginColumn], helpers: list[str]) -> str:
        """The clause of the first SELECT, without the columns that are computed here."""
        self._take()
        modifier = self._take().text if self._next().is_word("DISTINCT", "REDUCED") else ""
        items, names = list[str](), list[str]()
        while not self._next().is_word("FROM", "WHERE") and not self._next().is_mark("{") and self._next() is not END:
            if (column := self._column(len(items) + len(columns))) is not None:
                columns.append(column)
                continue
            if self._next().kind == "variable":
                names.append(f"?{self._next().text[1:]}")
            items.append(self._bracketed() if self._next().is_mark("(") else self._part())
        wanted = [one for column in columns for one in column.arguments if one.startswith("?")]
        helpers += [one[1:] for one in dict.fromkeys(wanted) if one not in names]
        if helpers and modifier:
            raise QueryRefused(ONLY_SELECTED.format(columns[0].function))
        items += [f"?{name}" for name in helpers]
        if not items:
            helpers.append("gossamer_row")
            items.append("(1 AS ?gossamer_row)")
        return " ".join(["SELECT", modifier, *items])

    def _column(self, place: int) -> OriginColumn | None:
        """`(<function>(a, b, c, d) AS ?name)`, if that comes next."""
        function = self._iri(self._next(1))
        if not (self._next().is_mark("(") and function in ORIGINS):
            return None
        assert function is not None
        self._at += 2
        if not self._take().is_mark("("):
            raise QueryRefused(ONLY_SELECTED.format(function))
        arguments = [self._argument(function)]
        while self._next().is_mark(","):
            self._take()
            arguments.append(self._argument(function))
        closes, as_, name, ends = (self._take() for _ in range(4))
        is_whole = closes.is_mark(")") and as_.is_word("AS") and name.kind == "variable" and ends.is_mark(")")
        if not is_whole or len(arguments) != 4:
            raise QueryRefused(ONLY_SELECTED.format(function))
        one, two, three, four = arguments
        return OriginColumn(name.text[1:], function, (one, two, three, four), place)

    def _argument(self, function: str) -> str:
        token = self._take()
        if token.kind == "variable":
            return f"?{token.text[1:]}"
        if (iri := self._iri(token)) is not None:
            return f"<{iri}>"
        if token.kind != "string":
            raise QueryRefused(ONLY_SELECTED.format(function))
        text = _decoded(token.text)
        if self._next().kind == "language":
            return str(Literal(text, language=self._take().text[1:]))
        if self._next().is_mark("^^"):
            raise QueryRefused(ONLY_SELECTED.format(function))
        return str(Literal(text))

    def _part(self) -> str:
        """The next token, or call, as text."""
        token = self._take()
        if token.is_word("ISBLANK", "ISIRI", "ISURI") and self._next().is_mark("("):
            return self._kind_test(token)
        if self._next().is_mark("(") and (iri := self._iri(token)) is not None:
            return self._call(iri)
        return self._term(token)

    def _bracketed(self) -> str:
        """From an opening bracket to its closing one."""
        out, depth = list[str](), 0
        while self._next() is not END:
            depth += self._next().is_mark(*CLOSES) - self._next().is_mark(*CLOSES.values())
            out.append(self._part() if not self._next().is_mark(*CLOSES, *CLOSES.values()) else self._take().text)
            if depth == 0:
                break
        return " ".join(out)

    def _kind_test(self, word: Token) -> str:
        value = self._bracketed()
        is_ours = f'STRSTARTS(STR{value}, "{BLANK}")'
        if word.is_word("ISBLANK"):
            return f"(ISBLANK{value} || (ISIRI{value} && {is_ours}))"
        return f"(ISIRI{value} && !{is_ours})"

    def _call(self, iri: str) -> str:
        if iri in ORIGINS:
            raise QueryRefused(ONLY_SELECTED.format(iri))
        if iri in self._relations:
            return self._relation(iri)
        if not iri.startswith(XSD):
            raise QueryRefused(NO_FUNCTION.format(iri))
        return f"<{iri}>"

    def _relation(self, function: str) -> str:
        """Whether a class or property is below another one. An error, as here, where the value is no IRI."""
        _, value, comma, wide, end = (self._take() for _ in range(5))
        named, is_variable = self._iri(wide), value.kind == "variable"
        narrow = self._iri(value)
        if named is None or not (comma.is_mark(",") and end.is_mark(")")) or not (is_variable or narrow is not None):
            raise QueryRefused(ONLY_NAMED.format(function))
        if narrow is not None:
            return "true" if self._relations[function](narrow, named) else "false"
        below = self._known.subclasses(named) if function == IS_A.value else self._known.subproperties(named)
        every = ", ".join(f"<{stored_iri(one)}>" for one in dict.fromkeys([named, *below]) if not _UNSAFE.search(one))
        variable = f"?{value.text[1:]}"
        return f"IF(ISIRI({variable}), {variable} IN ({every}), 1/0)"

    def _iri(self, token: Token) -> str | None:
        """The absolute IRI that the token names."""
        if token.kind == "iri":
            iri = unescaped(token.text[1:-1])
            return iri if ":" in iri else None
        if token.kind != "name":
            return None
        prefix, _, local = token.text.partition(":")
        namespace = self._prefixes.get(prefix)
        return None if namespace is None else namespace + local.replace("\\", "")

    def _term(self, token: Token) -> str:
        match token.kind:
            case "iri" | "name":
                iri = self._iri(token)
                if iri is None:  # depends on BASE
                    iri = unescaped(token.text[1:-1])
                if iri.lower().startswith("java:"):
                    raise QueryRefused(NO_CODE)
                if _UNSAFE.search(iri):
                    raise QueryRefused(f"The IRI {token.text[:200]} has characters that no IRI may have.")
                return f"<{stored_iri(iri)}>"
            case "string":
                return literal_in_sparql(Literal(_decoded(token.text)))
            case "variable":
                return f"?{token.text[1:]}"
        return token.text


def words_outside(tokens: list[Token]) -> set[str]:
    """The words of a query that are in no brackets, in capitals."""
    depth, found = 0, set[str]()
    for token in tokens:
        depth += token.is_mark(*CLOSES) - token.is_mark(*CLOSES.values())
        if not depth and token.kind == "word":
            found.add(token.text.upper())
    return found


def _decoded(string: str) -> str:
    """The value of a string of a query."""
    quote = string[:3] if string[:3] in ('"""', "'''") else string[0]
    return _STRING_ESCAPE.sub(_character, string[len(quote) : -len(quote)])


def _character(escape: re.Match[str]) -> str:
    short, long, letter = escape.groups()
    return _LETTERS.get(letter, letter) if letter else chr(int(short or long, 16))
