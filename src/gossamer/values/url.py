"""URLs and hosts. A `Url` is absolute, canonical, and http(s) unless another scheme was admitted.

One WHATWG parser (ada-url) makes them all.
"""

import re
from array import array
from collections.abc import Iterable

import ada_url
import msgspec
import xxhash

LONGEST_URL = 8192
DEFAULT_PORTS = {"http": 80, "https": 443}
NEVER_SCHEMES = {"javascript", "vbscript", "data", "blob", "file", "about", "view-source", "filesystem"}
"""What a browser would run, or read on its own machine: never turned into a link."""
OTHER = "|"
"""Separates a non-web scheme from the rest in the name of a host; no host name can contain it."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_PLAIN_PORT = re.compile(r"[^/?#]*//[^/?#]*:0*80(?![0-9])")


def admit(scheme: str, port: int) -> None:
    """Accept URLs of this scheme from now on. Called at start-up by every process of a crawl, for the custom protocols.
    REQUIRES: its URLs are built like those of http."""
    if _SCHEME.match(scheme + ":") is None or ":" in scheme or scheme != scheme.lower():
        raise ValueError(f"{scheme!r} is not a valid scheme")
    if scheme in NEVER_SCHEMES:
        raise ValueError(f"{scheme!r} is not a network scheme")
    DEFAULT_PORTS.setdefault(scheme, port)


def id_of(text: str) -> int:
    """The 64-bit id of a canonical text: xxh3, as the signed integer that databases store."""
    number = xxhash.xxh3_64_intdigest(text.encode())
    return number - (1 << 64) if number >= 1 << 63 else number


def ids_of(texts: Iterable[str]) -> "array[int]":
    """`id_of` for each; faster than one by one."""
    return array("q", array("Q", [xxhash.xxh3_64_intdigest(text.encode()) for text in texts]).tobytes())


class Host(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The unit of politeness: a name (punycode) or IP address, with the port unless it is the default."""

    name: str

    @property
    def id(self) -> int:
        return id_of(self.name)

    def __str__(self) -> str:
        return self.name


class Url(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A normalised URL: WHATWG serialisation without fragment, user or password. Made by `url_of`."""

    text: str

    @property
    def id(self) -> int:
        return id_of(self.text)

    @property
    def scheme(self) -> str:
        return self.text[: self.text.index(":")]

    @property
    def host(self) -> Host:
        """The same server under a non-web scheme is a host of its own."""
        scheme, _, name, _ = self.text.split("/", 3)
        return Host(name if scheme in _OF_THE_WEB else scheme[:-1] + OTHER + name)

    @property
    def hostname(self) -> str:
        """Without the port; an IPv6 address without its brackets."""
        name = self.text.split("/", 3)[2]
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
        """Scheme and authority: the scope of one robots.txt."""
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
    """The URL that `text` means (relative to `base` if given); None if it is not one that can be crawled."""
    if len(text) > LONGEST_URL:
        return None
    if len(DEFAULT_PORTS) > 2 and (other := _other_scheme(text, base)) is not None:
        return _of_other_scheme(text, base, other)
    try:
        absolute = ada_url.join_url(base.text, text) if base is not None else ada_url.normalize_url(text)
    except (ValueError, UnicodeEncodeError):
        return None
    return _canonical(absolute)


def _other_scheme(text: str, base: Url | None) -> str | None:
    """The admitted scheme of the URL; None for web schemes and unknown ones."""
    named = _SCHEME.match(text.lstrip())
    scheme = named[0].lower() if named else base.scheme if base is not None else ""
    return scheme if scheme in DEFAULT_PORTS and f"{scheme}:" not in _OF_THE_WEB else None


def _of_other_scheme(text: str, base: Url | None, scheme: str) -> Url | None:
    """Parsed under a borrowed web scheme whose default port the URL does not name: the parser splits URLs of other
    schemes differently."""
    text, given = text.strip(), base.text if base is not None and base.scheme == scheme else ""
    if _SCHEME.match(text):
        text = text[len(scheme) :]
        lent = "https" if _PLAIN_PORT.match(text) else "http"
        if not text.startswith("://"):
            return None
        found = url_of(lent + text)
    else:
        lent = "https" if _PLAIN_PORT.match(given) else "http"
        found = url_of(text, Url(lent + given[len(scheme) :]))
    if found is None:
        return None
    port = f":{DEFAULT_PORTS[scheme]}"
    _, _, authority, rest = found.text.split("/", 3)
    return Url(f"{scheme}://{authority.removesuffix(port)}/{rest}")


_OF_THE_WEB = ("http:", "https:")


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
    """Without user and password, and without the trailing dot of a fully qualified name: both name the same host."""
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return host
    name, colon, port = host.partition(":")
    return name.rstrip(".") + colon + port
