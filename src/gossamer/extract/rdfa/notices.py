"""Notices for authors of RDFa: names that mean nothing, and prefixes that mean something else.

The conditions are those of RDFa Core 1.1, 7.6.1, and a few of our own. Collected only on request.
"""

from collections.abc import Iterator

from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.extract.rdfa.scope import MOST_NAMES, Evaluation, declarations
from gossamer.extract.source import Notice
from gossamer.extract.terms import language_suffix
from gossamer.values.tree import Attributes, Element

_NAMING = ("property", "typeof", "rel", "rev", "datatype")
_SCHEMES = frozenset(
    ("data", "doi", "ftp", "geo", "http", "https", "info", "isbn", "javascript", "mailto", "sms", "tag", "tel", "urn")
)
"""Schemes of IRIs without `//`; other words before a colon look like prefixes."""


def notices_on(element: Element, attributes: Attributes, scope: Evaluation) -> Iterator[Notice]:
    """REQUIRES: `scope` includes the element's own prefixes and vocabulary."""
    for kind, says in _warnings(attributes, scope):
        yield Notice("warning", kind, says, element)


def _warnings(attributes: Attributes, scope: Evaluation) -> Iterator[tuple[str, str]]:
    for name in _NAMING:
        if name in attributes:
            yield from _unresolved(name, attributes[name] or "", scope)
    for name in ("about", "resource"):
        if name in attributes:
            yield from _unusable(name, (attributes[name] or "").strip(), scope)
    if scope.resolver.rules.is_old:
        for name in ("vocab", "prefix", "inlist"):
            if name in attributes:
                yield "rdfa-version", f"@{name} is part of RDFa 1.1; the page declares RDFa 1.0, so it was ignored."
    else:
        yield from _prefix_warnings(attributes)
    language = attributes.get("xml:lang") or attributes.get("lang")
    if language and not language_suffix(language):
        yield "unknown-language", f'"{language[:80]}" is not a valid language tag.'


def _unresolved(name: str, text: str, scope: Evaluation) -> Iterator[tuple[str, str]]:
    is_old = scope.resolver.rules.is_old
    for word in text.split(None, MOST_NAMES)[:MOST_NAMES]:
        prefix, colon, reference = word.partition(":")
        shown = f'"{word[:80]}" in @{name}'
        if not colon:
            if is_old and name not in ("rel", "rev"):
                yield (
                    "unresolved-term",
                    f"{shown} is not a CURIE; RDFa 1.0, which the page declares, has no terms there.",
                )
            elif not scope.resolver.names(word, scope.vocabulary):
                yield "unresolved-term", f"{shown} is not a known term, and there is no vocabulary."
        elif not _is_known(prefix, scope) and (
            is_old or (not reference.startswith("//") and prefix.lower() not in _SCHEMES)
        ):
            became = "RDFa 1.0 ignores it" if is_old else "it was read as an IRI"
            yield "unresolved-curie", f"The prefix of {shown} is not declared; {became}."


def _unusable(name: str, text: str, scope: Evaluation) -> Iterator[tuple[str, str]]:
    shown = f'"{text[:80]}" in @{name}'
    if text.startswith("[") and text.endswith("]"):
        prefix, colon, _ = text[1:-1].partition(":")
        if text != "[]" and not (colon and _is_known(prefix, scope)):
            yield "unresolved-curie", f"The prefix of {shown} is not declared; the attribute was ignored."
    elif ":" not in text and scope.resolver.iri(text) is None:
        yield "unusable-address", f"{shown} cannot be made an IRI."


def _is_known(prefix: str, scope: Evaluation) -> bool:
    folded = prefix.lower() if scope.resolver.rules.folds_prefixes else prefix
    return prefix == "_" or folded in scope.vocabulary.prefixes


def _prefix_warnings(attributes: Attributes) -> Iterator[tuple[str, str]]:
    declared = declarations(attributes)
    for prefix, iri in declared.items():
        if PREFIXES.get(prefix, iri) != iri:
            usual = f'The prefix "{prefix[:80]}" usually means {PREFIXES[prefix]}'
            yield "prefix-redefinition", f"{usual} and is redefined as {iri[:200]}."
    words = (attributes.get("prefix") or "").split(None, MOST_NAMES)[:MOST_NAMES]
    names = [word for word in words if word.endswith(":")]
    if len(words) != 2 * len(names) or any(name[:-1].lower() not in declared for name in names):
        yield (
            "malformed-prefix",
            f'@prefix "{" ".join(words)[:200]}" is not a list of names, each with a colon, and IRIs.',
        )
