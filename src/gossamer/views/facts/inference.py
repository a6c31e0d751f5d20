"""RDFS inference by rewriting the query.

`?x a schema:Organization` also matches entities stated to be a Restaurant.

Nothing is written, and nothing inferred is ever stored. Inferred facts (RDF 1.1 Semantics, section 9, rules rdfs5, 7,
9 and 11) match where the query has

- a class as a type: the class and its subclasses;
- a variable as a type: the stated classes and their superclasses;
- a named property: the property and its subproperties.

Each such pattern becomes a sub-query with DISTINCT, so a fact that follows twice is still one fact, as in a graph that
contains the inferred ones. In `GRAPH ?page { ... }` an inferred fact belongs to the pages that state what it follows
from. Matched as stated, with a note: property paths, variables as properties, anything in brackets [ ], ( ) or an
expression. Domains and ranges are not used: on the web they produce mostly nonsense.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import Kind, Vocabularies
from gossamer.views.facts.query_text import CLOSES, END, Token, in_full, prefixes_in, tokens_of

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
MOST_PAIRS = 5_000
"""Of a stated and an inferred class, for a variable as a type."""
PATHS = "Property paths are matched as stated, without inference."
VARIABLES = "A variable as a property matches stated facts only."
BRACKETS = "Anything in brackets or in an expression is matched as stated, without inference."
NO_SHORT_FORM = "With inference, write out what to construct: CONSTRUCT { ... } WHERE { ... }."
NO_BLANKS = "With inference, use variables (?x) instead of [ ] and _:x."
NO_QUOTES = "Inference cannot be combined with triple terms (<< >>)."

IsStated = Callable[[Kind, str], bool]
"""(kind, IRI): whether any fact has this class or property."""


@dataclass(frozen=True, slots=True)
class Widened:
    query: str
    notes: tuple[str, ...]
    """For the user: what was added and what was not."""


def widened(query: str, known: Vocabularies, is_stated: IsStated, repeats_graph: bool = False) -> Widened:
    """`repeats_graph`: for engines other than the embedded one, which bind a graph variable only by GRAPH itself.

    REQUIRES: a query that the engine can parse. Raises QueryRefused where inference is not possible.
    """
    walk = _Walk(query, known, is_stated, repeats_graph)
    text = walk.query()
    return Widened(text if walk.count else query, tuple(dict.fromkeys(walk.notes)))


@dataclass(slots=True)
class _Pattern:
    """One triple of the query."""

    subject: Token
    verb: list[Token]
    value: list[Token]


@dataclass(slots=True)
class _Block:
    """Consecutive triples, and the sub-queries that replace some of them."""

    kept: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def text(self) -> str:
        return " ".join([*self.replaced, *(f"{one} ." for one in self.kept)])


class _Walk:
    """One pass over the tokens, by the grammar of group graph patterns (SPARQL 1.1, rules 53 to 83)."""

    def __init__(self, query: str, known: Vocabularies, is_stated: IsStated, repeats_graph: bool) -> None:
        self._query, self._repeats_graph = query, repeats_graph
        self._tokens = tokens_of(query)
        self._prefixes = prefixes_in(self._tokens)
        self._at = 0
        self._known, self._is_stated = known, is_stated
        self._stem = "inferred"
        while self._stem in query:
            self._stem += "_"
        self._graph: Token | None = None
        self.notes: list[str] = []
        self.count = 0

    def _next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _take(self) -> str:
        token = self._next()
        self._at += 1
        return token.text

    def query(self) -> str:
        if any(token.is_mark("<<", ">>", "{|", "|}") for token in self._tokens):
            raise QueryRefused(NO_QUOTES)
        out = []
        while (token := self._next()) is not END:
            out.append(self._part())
            if token.is_word("CONSTRUCT"):
                if not self._next().is_mark("{"):
                    raise QueryRefused(NO_SHORT_FORM)
                out.append(self._copied())
            if token.is_word("PREFIX", "BASE"):
                out += [self._take() for _ in range(2 if token.is_word("PREFIX") else 1)] + ["\n"]
        return " ".join(out)

    def _part(self) -> str:
        """The next part outside of group graph patterns."""
        token = self._next()
        if token.is_mark("("):
            return self._copied()
        if token.is_word("VALUES"):
            return self._values()
        return self._group() if token.is_mark("{") else self._take()

    def _copied(self) -> str:
        """From an opening bracket to its closing one, unchanged."""
        depth, start = 0, self._at
        while (token := self._next()) is not END:
            depth += token.is_mark(*CLOSES) - token.is_mark(*CLOSES.values())
            if token.is_word("EXISTS"):
                self.notes.append(BRACKETS)
            self._take()
            if depth == 0:
                break
        return self._text(self._tokens[start : self._at])

    def _text(self, tokens: list[Token]) -> str:
        """As written in the query."""
        return self._query[tokens[0].start : tokens[-1].end] if tokens else ""

    def _values(self) -> str:
        out = [self._take(), self._copied() if self._next().is_mark("(") else self._take()]
        return " ".join([*out, self._copied()])

    def _group(self) -> str:
        out, block = [self._take()], _Block()
        while not (token := self._next()).is_mark("}") and token is not END:
            piece = self._other_than_triples(token)
            if piece is None:
                self._triples(block)
            else:
                out += [block.text(), piece]
                block = _Block()
        return " ".join([*out, block.text(), self._take()])

    def _other_than_triples(self, token: Token) -> str | None:
        if token.is_mark("{"):
            return self._group()
        if token.is_mark("."):
            self._take()
            return ""
        if token.is_word("SELECT"):
            return self._sub_select()
        if token.is_word("OPTIONAL", "MINUS", "UNION", "LATERAL"):
            return self._take()
        if token.is_word("GRAPH"):
            return self._graph_pattern()
        if token.is_word("BIND"):
            return f"{self._take()} {self._copied()}"
        if token.is_word("VALUES"):
            return self._values()
        return self._filter() if token.is_word("FILTER") else None

    def _graph_pattern(self) -> str:
        """The engine binds the graph variable only if the sub-query selects it too."""
        word, around = self._take(), self._graph
        self._graph = self._next() if self._next().kind == "variable" else None
        text = f"{word} {self._take()} {self._group()}"
        self._graph = around
        return text

    def _sub_select(self) -> str:
        out = []
        while not (token := self._next()).is_mark("}") and token is not END:
            out.append(self._part())
        return " ".join(out)

    def _filter(self) -> str:
        out = [self._take()]
        while self._next().is_word("NOT", "EXISTS"):
            out.append(self._take())
        if self._next().is_mark("{"):
            return " ".join([*out, self._group()])
        while not self._next().is_mark("(") and self._next() is not END:
            out.append(self._take())
        return " ".join([*out, self._copied()])

    def _triples(self, block: _Block) -> None:
        """TriplesSameSubjectPath."""
        subject = self._node()
        if len(subject) > 1:
            self.notes.append(BRACKETS)
        kept = []
        while not self._next().is_mark(".", "}", "{") and self._next() is not END and not self._is_keyword():
            if self._next().is_mark(";"):
                self._take()
                continue
            verb, values = self._verb(), [self._node()]
            while self._next().is_mark(","):
                self._take()
                values.append(self._node())
            for value in values:
                head = subject[0] if len(subject) == 1 else Token("bracket", self._text(subject), subject[0].start)
                replacement = self._replacement(_Pattern(head, verb, value))
                if replacement is None:
                    kept.append(f"{self._text(verb)} {self._text(value)}")
                else:
                    block.replaced.append(replacement)
        if kept or len(subject) > 1:
            block.kept.append(f"{self._text(subject)} {' ; '.join(kept)}")
        if self._next().is_mark("."):
            self._take()

    def _is_keyword(self) -> bool:
        return self._next().is_word("OPTIONAL", "MINUS", "GRAPH", "BIND", "VALUES", "FILTER", "UNION", "SERVICE")

    def _node(self) -> list[Token]:
        """A term: one token, a literal with its language or datatype, or everything in brackets."""
        start = self._at
        if self._next().is_mark("[", "("):
            self._copied()
            if self._at - start > 2:
                self.notes.append(BRACKETS)
            return self._tokens[start : self._at]
        self._take()
        if self._next().kind == "language":
            self._take()
        elif self._next().is_mark("^^"):
            self._at += 2
        return self._tokens[start : self._at]

    def _verb(self) -> list[Token]:
        """A variable, or a path: steps, each with signs before and after, separated by / or |."""
        start = self._at
        while True:
            while self._next().is_mark("^", "!"):
                self._take()
            if self._next().is_mark("("):
                self._copied()
            else:
                self._take()
            while self._next().is_mark("*", "+", "?"):
                self._take()
            if not self._next().is_mark("/", "|"):
                return self._tokens[start : self._at]
            self._take()

    def _replacement(self, pattern: _Pattern) -> str | None:
        """The sub-query that replaces the pattern; None where it stays."""
        if len(pattern.verb) > 1:
            self.notes.append(PATHS)
            return None
        [verb] = pattern.verb
        if verb.kind == "variable":
            self.notes.append(VARIABLES)
            return None
        iri = TYPE if verb.text == "a" else in_full(verb, self._prefixes)
        if iri is None:
            return None
        if iri == TYPE and len(pattern.value) == 1:
            [value] = pattern.value
            wanted = in_full(value, self._prefixes)
            if value.kind == "variable":
                return self._any_class(pattern)
            return None if wanted is None else self._class(pattern, wanted)
        return self._property(pattern, iri)

    def _class(self, pattern: _Pattern, iri: str) -> str | None:
        family = self._family("class", iri, self._known.subclasses(iri))
        if family is None:
            return None
        stated = self._fresh()
        return self._sub_query(pattern, f"VALUES {stated} {{ {family} }} {pattern.subject.text} a {stated}", [])

    def _any_class(self, pattern: _Pattern) -> str | None:
        pairs = []
        for narrow in self._known.classes.wider:
            if self._is_stated("class", narrow):
                pairs += [f"(<{narrow}> <{wide}>)" for wide in self._known.superclasses(narrow)]
        if not pairs:
            return None
        if len(pairs) > MOST_PAIRS:
            raise QueryRefused("Too many classes are in use to infer every type; name the class you are looking for.")
        subject, value = pattern.subject.text, self._text(pattern.value)
        self._note(f"{value} also matches the superclasses of the stated classes")
        stated = self._fresh()
        wider = f"VALUES ({stated} {value}) {{ {' '.join(pairs)} }} {subject} a {stated}"
        return self._sub_query(pattern, f"{{ {subject} a {value} }} UNION {{ {wider} }}", pattern.value)

    def _property(self, pattern: _Pattern, iri: str) -> str | None:
        family = self._family("property", iri, self._known.subproperties(iri))
        if family is None:
            return None
        path = "|".join(family.split(" "))
        where = f"{pattern.subject.text} {path} {self._text(pattern.value)}"
        return self._sub_query(pattern, where, pattern.value)

    def _family(self, kind: Kind, iri: str, below: Iterable[str]) -> str | None:
        """The IRI and its sub-classes or -properties that are in use; None when there are none."""
        found = [iri, *[one for one in below if self._is_stated(kind, one)]]
        if len(found) == 1:
            return None
        self._note(f"<{iri}> also matches {', '.join(f'<{one}>' for one in found[1:])}")
        return " ".join(f"<{one}>" for one in found)

    def _note(self, words: str) -> None:
        self.count += 1
        self.notes.append(words)

    def _fresh(self) -> str:
        return f"?{self._stem}{self.count}"

    def _sub_query(self, pattern: _Pattern, where: str, value: list[Token]) -> str:
        terms = [pattern.subject, *value]
        if any(term.kind in ("blank", "bracket") or term.is_mark("[", "(") for term in terms):
            raise QueryRefused(NO_BLANKS)
        selected = terms if self._graph is None else [*terms, self._graph]
        variables = dict.fromkeys(f"?{term.text[1:]}" for term in selected if term.kind == "variable")
        if self._graph is not None and self._repeats_graph:
            where = f"GRAPH {self._graph.text} {{ {where} }}"
        if not variables:
            return f"FILTER EXISTS {{ {where} }}"
        return f"{{ SELECT DISTINCT {' '.join(variables)} WHERE {{ {where} }} }}"
