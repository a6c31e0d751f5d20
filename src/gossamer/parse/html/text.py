"""Text of elements, with white space folded as a reader sees it."""

from selectolax.lexbor import LexborNode

_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
INLINE = frozenset(_NAMES.split())
"""Elements that do not end a word."""
SEAM = "\x1f"
_BLANKS = "\n\t\r\f\v\x1c\x1d\x1e\x1f"
_WIDE = "\xa0\u2003\u3000\u2009\u202f\u2002\u2028\u1680\u2000\u2001\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u2029\x85"
_MOST_PIECES = 400
_SHORT = 256


def folded(text: str) -> str:
    """Every run of white space as one space, none at the ends.

    Long texts by replacing instead of splitting: most runs are one space already, so no word is copied by itself.
    """
    if len(text) < _SHORT:
        return " ".join(text.split())
    for blank in _BLANKS:
        if blank in text:
            text = text.replace(blank, " ")
    if not text.isascii():
        for blank in _WIDE:
            if blank in text:
                text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def text_of(element: LexborNode, seamed: str | None = None) -> str:
    """The text of a small element. `<b>J</b>ohn` is one word; two paragraphs are not.

    `seamed` is the element's text with SEAM between its pieces, if the caller already has it.
    """
    if seamed is None:
        seamed = element.text(separator=SEAM)
    return folded(_walked(element) if SEAM in seamed else seamed)


def _walked(element: LexborNode) -> str:
    """Piece by piece, with a space wherever a block boundary or line break is between two pieces."""
    parts: list[str] = []
    home, block, is_apart = element.mem_id, 0, False
    for node in element.traverse(include_text=True):
        if not node.is_text_node:
            is_apart = is_apart or node.tag not in INLINE
            continue
        within = _block_of(node, home)
        if parts and (is_apart or within != block):
            parts.append(" ")
        parts.append(node.text_content or "")
        block, is_apart = within, False
        if len(parts) > _MOST_PIECES:
            break
    return "".join(parts)


def _block_of(node: LexborNode, home: int) -> int:
    at = node.parent
    while at is not None and at.mem_id != home and at.tag in INLINE:
        at = at.parent
    return home if at is None else at.mem_id
