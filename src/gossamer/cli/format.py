"""What several commands print with."""

LONGEST_SHOWN = 200


def plain(text: str) -> str:
    """On one line, cut, and without what a terminal would obey: pages are not to be trusted with that."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST_SHOWN else line[:LONGEST_SHOWN] + "..."
    return "".join([char if char.isprintable() else "�" for char in line])
