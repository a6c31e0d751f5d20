"""What stands inside an element, written out again as XML or as HTML, for literals that are markup."""

from collections.abc import Callable, Mapping
from html import escape

from gossamer.values.tree import Element

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"))

Attributes = Mapping[str, str | None]


def inner_xml(element: Element) -> str:
    """Well-formed XML. Namespaces declared around the literal are repeated on its outermost elements, so that it
    can be read alone (RDFa Core 1.1, 7.5, step 11)."""
    outer: dict[str, str | None] = {}
    up: Element | None = element
    while up is not None:
        for name, value in up.attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                outer.setdefault(name, value)
        up = up.parent

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:
        kept = {**attributes, **{n: v for n, v in outer.items() if n not in attributes}} if is_outermost else attributes
        return _start(tag, kept) + ("/>" if is_empty else ">")

    return _inside(element, start, lambda _, text: escape(text, quote=False), lambda _, is_empty: not is_empty)


def inner_html(element: Element) -> str:
    """As the HTML standard serialises a fragment (13.3), comments left out."""

    def start(tag: str, attributes: Attributes, is_outermost: bool, is_empty: bool) -> str:  # noqa: ARG001
        return _start(tag, attributes) + ">"

    def words(tag: str, text: str) -> str:
        return text if tag in _RAW else escape(text, quote=False).replace("\u00a0", "&nbsp;")

    return _inside(element, start, words, lambda tag, _: tag not in _VOID)


def _start(tag: str, attributes: Attributes) -> str:
    written = "".join(
        f' {name}="{escape(value or "", quote=False).replace(chr(34), "&quot;")}"' for name, value in attributes.items()
    )
    return f"<{tag}{written}"


def _inside(
    element: Element,
    start: Callable[[str, Attributes, bool, bool], str],
    words: Callable[[str, str], str],
    ends: Callable[[str, bool], bool],
) -> str:
    """The start tags, texts and end tags below `element`, in document order; no recursion, however deep."""
    nodes = list(element.traverse(include_text=True))[1:]
    parents = {node.parent.mem_id for node in nodes if node.parent is not None}
    written: list[str] = []
    opened: list[tuple[int, str]] = [(element.mem_id, "")]
    for node in nodes:
        parent_id = node.parent.mem_id if node.parent is not None else element.mem_id
        while opened[-1][0] != parent_id and len(opened) > 1:
            written.append(opened.pop()[1])
        tag = node.tag or ""
        if tag == "-text":
            written.append(words(opened[-1][1][2:-1] or (element.tag or ""), node.text(deep=False)))
        elif tag[:1] not in ("-", "_", "!"):
            is_empty = node.mem_id not in parents
            written.append(start(tag, node.attributes, len(opened) == 1, is_empty))
            opened.append((node.mem_id, f"</{tag}>" if ends(tag, is_empty) else ""))
    written.extend(end for _, end in reversed(opened))
    return "".join(written)
