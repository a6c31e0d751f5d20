"""UTF-16 and UTF-32, told by their byte order mark or by where the zeros are. Every other encoding of the web is ASCII
in its lower half, EBCDIC apart."""

_MARKS = (
    (b"\0\0\xfe\xff", "utf-32be"),
    (b"\xff\xfe\0\0", "utf-32le"),  # before the shorter mark of UTF-16 that it begins with
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
_HIGHEST_PLANE = 0x10


def marked_wide(head: bytes) -> str | None:
    """The encoding that a byte order mark names."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def unmarked_wide(head: bytes) -> str | None:
    """UTF-32 has a zero and a plane in every unit; in UTF-16 nearly every second byte of a page is zero."""
    if b"\0" not in head:
        return None
    units = len(head) // 4 * 4
    columns = [head[at:units:4] for at in range(4)]
    if units >= 8:
        if not any(columns[3]) and max(columns[2]) <= _HIGHEST_PLANE:
            return "utf-32le"
        if not any(columns[0]) and max(columns[1]) <= _HIGHEST_PLANE:
            return "utf-32be"
    pairs = len(head) // 2
    if pairs < 2:
        return None
    even, odd = head[: pairs * 2 : 2].count(0), head[1 : pairs * 2 : 2].count(0)
    if odd > 0.6 * pairs and even < 0.1 * pairs:
        return "utf-16le"
    return "utf-16be" if even > 0.6 * pairs and odd < 0.1 * pairs else None
