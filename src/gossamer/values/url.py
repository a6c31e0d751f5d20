"""Addresses. One WHATWG parser (ada-url) makes them; a `Url` that exists is absolute, http(s) and canonical."""

import ada_url
import msgspec
import xxhash

LONGEST_URL = 8192
DEFAULT_PORTS = {"http": 80, "https": 443}


def id_of(text: str) -> int:
    """The 64-bit id of a canonical text: xxh3, as the signed integer that databases hold."""
    number = xxhash.xxh3_64_intdigest(text.encode())
    return number - (1 << 64) if number >= 1 << 63 else number


class Host(msgspec.Struct, frozen=True, array_like=True):
    """What politeness is owed to: a name (punycode) or address, with the port when it is not the scheme's own."""

    name: str

    @property
    def id(self) -> int:
        return id_of(self.name)

    def __str__(self) -> str:
        return self.name


class Url(msgspec.Struct, frozen=True, array_like=True):
    """A normalised address: WHATWG serialisation without fragment, user or password. Build it with `url_of`."""

    text: str

    @property
    def id(self) -> int:
        return id_of(self.text)

    @property
    def scheme(self) -> str:
        return self.text[: self.text.index(":")]

    @property
    def host(self) -> Host:
        return Host(self.text.split("/", 3)[2])

    @property
    def hostname(self) -> str:
        """Without the port; an IPv6 address without its brackets."""
        name = self.host.name
        if name.startswith("["):
            return name[1 : name.index("]")]
        return name.partition(":")[0]

    @property
    def port(self) -> int:
        tail = self.host.name.rpartition("]")[2] if "]" in self.host.name else self.host.name
        given = tail.partition(":")[2]
        return int(given) if given else DEFAULT_PORTS[self.scheme]

    @property
    def origin(self) -> str:
        """Scheme and authority: what one robots.txt speaks for."""
        return "/".join(self.text.split("/", 3)[:3])

    @property
    def target(self) -> str:
        """Path and query, as sent in the request line."""
        return "/" + self.text.split("/", 3)[3]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def robots(self) -> "Url":
        return Url(self.origin + "/robots.txt")

    def __str__(self) -> str:
        return self.text


def url_of(text: str, base: Url | None = None) -> Url | None:
    """The address that `text` means (relative to `base` when given); None when it is no http(s) address we follow."""
    if len(text) > LONGEST_URL:
        return None
    try:
        absolute = ada_url.join_url(base.text, text) if base is not None else ada_url.normalize_url(text)
    except (ValueError, UnicodeEncodeError):
        return None
    return _canonical(absolute)


def _canonical(absolute: str) -> Url | None:
    if not absolute.startswith(("http://", "https://")):
        return None
    plain = absolute.partition("#")[0]
    scheme, _, authority, rest = plain.split("/", 3)
    if "@" in authority or authority.endswith(".") or ".:" in authority:
        authority = _plain_authority(authority)
        plain = f"{scheme}//{authority}/{rest}"
    is_host = bool(authority) and not authority.startswith(":")
    return Url(plain) if is_host and len(plain) <= LONGEST_URL else None


def _plain_authority(authority: str) -> str:
    """Without user and password, and without the dot that may end a full name: both names are one host."""
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return host
    name, colon, port = host.partition(":")
    return name.rstrip(".") + colon + port
