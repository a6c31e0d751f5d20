"""Style that asks for nothing: whatever could load something, or hide that it does, is cut out."""

import re

LONGEST = 512 * 1024
"""Characters of one style sheet; a longer one is left out."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_FUNCTIONS = "url|url-prefix|src|image|image-set|cross-fade|element|paint|expression"
_LOADING = (
    rf"[\\<\x00]|(?:{_FUNCTIONS})\s*\(|@\s*(?:import|namespace|charset|font-face)|javascript\s*:"
    r"|-moz-binding|behavior\s*:"
)
"""A backslash can spell any of the others (CSS Syntax 3, 4.3.7); `<` could end the element the style stands in."""
_FORBIDDEN = re.compile(_LOADING, re.IGNORECASE)
_PIECE = re.compile(r"[^{};]*")


def harmless_style(css: str) -> str:
    """The style without the declarations, selectors and at-rules that hold something forbidden; nothing when that
    cannot be had. What remains may be nonsense in places, which browsers skip (CSS Syntax 3, 2.2)."""
    if len(css) > LONGEST:
        return ""
    plain = _COMMENT.sub(" ", css)
    if _FORBIDDEN.search(plain) is None:
        return plain
    kept = _PIECE.sub(lambda piece: "" if _FORBIDDEN.search(piece[0]) else piece[0], plain)
    return "" if _FORBIDDEN.search(kept) else kept
