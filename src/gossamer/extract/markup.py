"""The content of an element serialised as XML or HTML, for literals that are markup."""

from collections.abc import Callable, Iterator
from html import escape

from gossamer.extract.rdfa.scope import declarations
from gossamer.extract.source import LengthAllowance
from gossamer.extract.terms import LONGEST_LITERAL
from gossamer.values.tree import Attributes, Element, Qualified

MOST_MARKUP = 4 << 20
"""Characters of all markup of a page together; each node counts as STEP more."""
STEP = 8

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"))


def inner_xml(
    element: Element, allowance: LengthAllowance, prefixes_are_namespaces: bool, default_namespace: str
) -> str:
    """Well-formed XML. Namespaces declared around the literal are repeated on its outermost elements, so that it can be
    read alone (RDFa Core 1.1, 7.5, step 11); with `prefixes_are_namespaces` those of @prefix too. `default_namespace`
    is declared where there is no other. Here and below: once the allowance is spent, the result is incomplete."""
    outer = _namespaces(element, allowance, prefixes_are_namespaces)
    if default_namespace:
        outer.setdefault("xmlns", default_namespace)
    outer = dict(sorted(outer.items()))

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:
        kept = {**attributes, **{n: v for n, v in outer.items() if n not in attributes}} if is_outermost else attributes
        return _start(tag, kept) + ("/>" if is_empty else ">")

    return _inside(
        element, allowance, start, lambda _, text: escape(text, quote=False), lambda _, is_empty: not is_empty
    )


def _namespaces(element: Element, allowance: LengthAllowance, prefixes_too: bool) -> dict[str, str | None]:
    """The declarations as attributes; the nearest one counts."""
    outer: dict[str, str | None] = {}
    up: Element | None = element
    while up is not None and allowance.spend(STEP * len(up.attributes)):
        for name, value in up.attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                outer.setdefault(name, value)
        if prefixes_too and "prefix" in up.attributes:
            for prefix, iri in declarations({"prefix": up.attributes["prefix"]}).items():
                outer.setdefault(f"xmlns:{prefix}", iri)
        up = up.parent
    return outer


def inner_html(element: Element, allowance: LengthAllowance) -> str:
    """A fragment as the HTML standard serialises it (13.3), without comments."""

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:  # noqa: ARG001
        return _start(tag, attributes) + ">"

    def words(tag: str, text: str) -> str:
        return text if tag in RAW else plain_text(text)

    return _inside(element, allowance, start, words, lambda tag, _: tag not in VOID)


def plain_text(text: str) -> str:
    return escape(text, quote=False).replace("\u00a0", "&nbsp;")


def attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value, quote=False).replace(chr(34), "&quot;")}"'


def _start(tag: str, attributes: Attributes) -> str:
    return f"<{tag}{''.join([attribute(name, value or '') for name, value in attributes.items()])}"


def _inside(
    element: Element,
    allowance: LengthAllowance,
    start: Callable[[str, Attributes, bool, bool], str],
    words: Callable[[str, str], str],
    ends: Callable[[str, bool], bool],
) -> str:
    """Start tags, texts and end tags below `element`, in document order, without recursion. Stops once the result is
    longer than any literal may be: then it is not stated."""
    nodes = element.traverse(include_text=True)
    next(nodes)
    written: list[str] = []
    opened: list[tuple[int, str]] = [(element.mem_id, "")]
    left = LONGEST_LITERAL
    is_xml = isinstance(element, Qualified)  # testing every element would cost more than everything else
    node, parent_id = _next(nodes)
    while node is not None and left >= 0 and allowance.spend(STEP):
        here, here_id, around_id = node, node.mem_id, parent_id
        node, parent_id = _next(nodes)
        while opened[-1][0] != around_id and len(opened) > 1:
            written.append(opened.pop()[1])
        tag = here.tag or ""
        if tag == "-text":
            written.append(words(opened[-1][1][2:-1] or (element.tag or ""), here.text(deep=False)))
        elif tag[:1] not in ("-", "_", "!"):
            is_empty = parent_id != here_id
            tag = getattr(here, "written_name", tag) if is_xml else tag
            written.append(start(tag, here.attributes, len(opened) == 1, is_empty))
            opened.append((here_id, f"</{tag}>" if ends(tag, is_empty) else ""))
        else:
            continue
        left -= len(written[-1])
        allowance.spend(len(written[-1]))
    written.extend(end for _, end in reversed(opened))
    return "".join(written)


def _next(nodes: Iterator[Element]) -> tuple[Element | None, int]:
    """The next node, and the id of its parent."""
    node = next(nodes, None)
    parent = node.parent if node is not None else None
    return node, parent.mem_id if parent is not None else 0
