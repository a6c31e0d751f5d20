"""Lanes of a host: its http pages and its https pages wait apart, and what is held in quarantine apart from both."""

from gossamer.values.url import OTHER

SCHEMES = ("http", "https")
LANES_OF = ((), (0,), (1,), (0, 1))
"""By the bits of `hosts.lanes`."""
HELD = 2
"""What is added to a lane's number for those of its addresses that are held in quarantine."""


def lane_of(text: str) -> int:
    return int(text.startswith("https:"))


def text_of(lane: int, name: str, rest: str) -> str:
    """The address whose row says so; the inverse of `parts_of`."""
    if OTHER in name:
        scheme, _, name = name.partition(OTHER)
        return f"{scheme}://{name}/{rest}"
    return f"{SCHEMES[lane]}://{name}/{rest}"


def name_in(scheme: str, authority: str) -> str:
    """The host's name, from the parts of an address (the scheme with its colon): `Url.host`, without making one."""
    return authority if scheme in ("https:", "http:") else scheme[:-1] + OTHER + authority


def parts_of(text: str) -> tuple[int, str, str]:
    """Lane, host name, and what follows its slash. REQUIRES: the text of a Url."""
    scheme, _, name, rest = text.split("/", 3)
    return int(scheme == "https:"), name_in(scheme, name), rest


def next_id(number: int) -> int:
    """The id after this one, among signed 64-bit integers."""
    return number + 1 if number < (1 << 63) - 1 else -(1 << 63)
