"""What stands inside an element, written out again as XML or as HTML, for literals that are markup."""

from collections.abc import Callable, Iterator
from html import escape

from gossamer.extract.rdfa.scope import declarations
from gossamer.extract.source import LengthAllowance
from gossamer.extract.terms import LONGEST_LITERAL
from gossamer.values.tree import Attributes, Element, Qualified

MOST_MARKUP = 4 << 20
"""Letters of all markup of a page together, each node counted as STEP of them beside."""
STEP = 8

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"))


def inner_xml(
    element: Element, allowance: LengthAllowance, prefixes_are_namespaces: bool = False, default_namespace: str = ""
) -> str:
    """Well-formed XML. Namespaces declared around the literal are repeated on its outermost elements, so that it
    can be read alone (RDFa Core 1.1, 7.5, step 11); with `prefixes_are_namespaces` those of @prefix too.
    `default_namespace` is declared where no other is.

    Here and below: what is written when the allowance is spent is not whole."""
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
    """As attributes that declare them; the nearest declaration counts."""
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
    """As the HTML standard serialises a fragment (13.3), comments left out."""

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:  # noqa: ARG001
        return _start(tag, attributes) + ">"

    def words(tag: str, text: str) -> str:
        return text if tag in _RAW else escape(text, quote=False).replace("\u00a0", "&nbsp;")

    return _inside(element, allowance, start, words, lambda tag, _: tag not in _VOID)


def _start(tag: str, attributes: Attributes) -> str:
    written = "".join(
        f' {name}="{escape(value or "", quote=False).replace(chr(34), "&quot;")}"' for name, value in attributes.items()
    )
    return f"<{tag}{written}"


def _inside(
    element: Element,
    allowance: LengthAllowance,
    start: Callable[[str, Attributes, bool, bool], str],
    words: Callable[[str, str], str],
    ends: Callable[[str, bool], bool],
) -> str:
    """The start tags, texts and end tags below `element`, in document order; no recursion, however deep.

    What grows longer than any literal may be is left at that: it will not be stated."""
    nodes = element.traverse(include_text=True)
    next(nodes)
    written: list[str] = []
    opened: list[tuple[int, str]] = [(element.mem_id, "")]
    left = LONGEST_LITERAL
    is_xml = isinstance(element, Qualified)  # asking every element would cost more than all the rest
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
    """The next node, and which its parent is."""
    node = next(nodes, None)
    parent = node.parent if node is not None else None
    return node, parent.mem_id if parent is not None else 0
