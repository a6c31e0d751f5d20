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

TEXT = "-text"
"""The tag of a text node."""
VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"))


def inner_xml(
    element: Element, allowance: LengthAllowance, prefixes_are_namespaces: bool, default_namespace: str
) -> str:
    """Well-formed XML. Namespaces declared around the literal are repeated on its outermost elements, so that it can be
    read alone (RDFa Core 1.1, 7.5, step 11); with `prefixes_are_namespaces` those of @prefix too. `default_namespace`
    is declared where there is no other. Once the allowance is spent, the result is incomplete (in `inner_html` too)."""
    outer = _namespaces(element, allowance, prefixes_are_namespaces)
    if default_namespace:
        outer.setdefault("xmlns", default_namespace)
    outer = dict(sorted(outer.items()))

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:
        kept = {**attributes, **{n: v for n, v in outer.items() if n not in attributes}} if is_outermost else attributes
        return start_tag(tag, kept) + ("/>" if is_empty else ">")

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
        return start_tag(tag, attributes) + ">"

    def text_of(tag: str, text: str) -> str:
        return text if tag in RAW else plain_text(text)

    return _inside(element, allowance, start, text_of, lambda tag, _: tag not in VOID)


def plain_text(text: str) -> str:
    return escape(text, quote=False).replace("\u00a0", "&nbsp;")


def start_tag(tag: str, attributes: Attributes) -> str:
    """Without its end, `>` or `/>`."""
    quotable = [(name, escape(value or "", quote=False)) for name, value in attributes.items()]
    return f"<{tag}" + "".join([f' {name}="{value.replace(chr(34), "&quot;")}"' for name, value in quotable])


def _inside(
    element: Element,
    allowance: LengthAllowance,
    start: Callable[[str, Attributes, bool, bool], str],
    text_of: Callable[[str, str], str],
    has_end: Callable[[str, bool], bool],
) -> str:
    """Start tags, texts and end tags below `element`, in document order. Stops once the result is longer than any
    literal may be: then it is not stated."""
    written: list[str] = []
    opened: list[tuple[str, str]] = []
    left = LONGEST_LITERAL
    is_xml = isinstance(element, Qualified)  # testing every element would cost more than everything else
    for node, tag in events(element):
        if node is None:
            written.append(opened.pop()[1])
            continue
        if not opened:  # the element itself
            opened.append((tag, ""))
            continue
        if left < 0 or not allowance.spend(STEP):
            break
        if tag == TEXT:
            piece = text_of(opened[-1][0], node.text(deep=False))
        elif tag:
            is_empty = next(node.iter(include_text=True), None) is None
            tag = getattr(node, "written_name", tag) if is_xml else tag
            piece = start(tag, node.attributes, len(opened) == 1, is_empty)
            opened.append((tag, f"</{tag}>" if has_end(tag, is_empty) else ""))
        else:
            continue
        written.append(piece)
        left -= len(piece)
        allowance.spend(len(piece))
    written.extend(end for _, end in reversed(opened))
    return "".join(written)


def events(outermost: Element) -> Iterator[tuple[Element | None, str]]:
    """Elements with their tags, texts (TEXT) and other nodes (no tag), in document order; None where an element ends.
    Does not recurse, however deep they nest."""
    open_ids: list[int] = []
    for node in outermost.traverse(include_text=True):
        tag = node.tag or "-"
        parent = node.parent
        parent_id = parent.mem_id if parent is not None else 0
        while open_ids and open_ids[-1] != parent_id:
            open_ids.pop()
            yield None, ""
        if tag[0] not in "-_!":
            open_ids.append(node.mem_id)
        elif tag != TEXT:
            tag = ""
        yield node, tag
    for _ in open_ids:
        yield None, ""
