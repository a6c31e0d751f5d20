"""HTML inside documents: chapters of books, bodies of mail, imported parts."""

from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.documents.draft import Draft
from gossamer.parse.html.tree import LARGEST, parse_html
from gossamer.values.document import CUT

_SKIPPED = frozenset(
    ("script", "style", "head", "template", "noscript", "svg", "math", "object", "iframe", "select", "audio", "video",
     "canvas", "datalist", "frameset", "embed", "title")
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    ("p", "div", "section", "article", "blockquote", "ul", "ol", "dl", "dt", "dd", "table", "figure", "figcaption",
     "header", "footer", "nav", "aside", "main", "address", "hr", "form", "fieldset", "center", "caption", "body")
)  # fmt: skip
_BOLD = frozenset(("b", "strong", "th"))
_LINKED = ("http:", "https:", "ftp:", "mailto:", "//")


def add_markup(body: bytes, draft: Draft, content_type: str = "", *, are_links_own: bool = False) -> str:
    """The text of an HTML page. Returns its title.

    `are_links_own`: relative links lead into the document itself, and are left out."""
    if len(body) > LARGEST:
        draft.flag(CUT)
    parsed = parse_html(as_utf8(body[:LARGEST], charset_of(content_type or None, body).encoding))
    title = parsed.tree.css_first("title")
    if (root := parsed.tree.body) is not None:
        _Walk(draft, are_links_own).over(root)
    draft.end()
    return title.text(deep=True) if title is not None else ""


class _Walk:
    """One pass over the tree, without recursion."""

    def __init__(self, draft: Draft, are_links_own: bool) -> None:
        self._draft, self._are_links_own = draft, are_links_own
        self._cells = self._bold = 0
        self._lists = 0
        self._links: list[str] = []

    def over(self, root: object) -> None:
        stack = [("body", root.iter(include_text=True))]  # type: ignore[attr-defined]
        while stack:
            tag, children = stack[-1]
            node = next(children, None)
            if node is None:
                stack.pop()
                self._end(tag)
                continue
            name = node.tag or ""
            self._draft.spend()
            if name == "-text":
                self._draft.run(
                    node.text_content or "", is_bold=self._bold > 0, link=self._links[-1] if self._links else ""
                )
            elif name == "pre" and not self._cells:
                self._draft.code(node.text(deep=True))
            elif name not in _SKIPPED and not name.startswith(("-", "!")):
                self._start(name, node.attributes)
                stack.append((name, node.iter(include_text=True)))

    def _start(self, name: str, attributes: dict[str, str | None]) -> None:
        if name in _HEADINGS or name in _BLOCKS or name in ("li", "tr"):
            self._break()
        elif name == "br":
            self._draft.break_line()
        elif name == "img":
            self._draft.run(attributes.get("alt") or "")
        if name in _BOLD:
            self._bold += 1
        elif name in ("ul", "ol"):
            self._lists += 1
        elif name == "a":
            href = (attributes.get("href") or "").strip()
            is_kept = (
                href and not href.startswith("#") and (not self._are_links_own or href.lower().startswith(_LINKED))
            )
            self._links.append(href if is_kept else "")
        if name in ("td", "th"):
            self._cells += 1

    def _end(self, name: str) -> None:
        if name in _BOLD:
            self._bold -= 1
        if name in ("td", "th"):
            self._cells -= 1
            if not self._cells:
                self._draft.end_cell()
        elif name == "tr" and not self._cells:
            self._draft.end_row()
        elif name in _HEADINGS and not self._cells:
            self._draft.end("heading", _HEADINGS[name])
        elif name == "li" and not self._cells:
            self._draft.end("item", max(self._lists - 1, 0))
        elif name in _BLOCKS:
            self._break()
        elif name == "a":
            self._links.pop()
        if name in ("ul", "ol"):
            self._lists -= 1

    def _break(self) -> None:
        if self._cells:
            self._draft.break_line()
        elif self._lists:
            self._draft.end("item", self._lists - 1)
        else:
            self._draft.end()
