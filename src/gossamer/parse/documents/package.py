"""The parts of a document that is a ZIP file, and XML parts as a stream of events.

Nothing is loaded from elsewhere, no entity is expanded, and no part is ever written to a file. A part is inflated to
the limit of the whole document and no further.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from io import BytesIO
from posixpath import join, normpath
from typing import Any, NamedTuple, Protocol, cast

from lxml import etree

from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.containers import MOST_MEMBERS, ZipPlace, local_parts, zip_directory
from gossamer.parse.documents.draft import Draft, DraftFull, NoText
from gossamer.parse.xml import SAFELY, has_too_many_attributes, without_entities
from gossamer.values.document import CUT, DAMAGED

MOST_NESTED = 500
"""Elements inside elements."""
LARGEST_PART = 32 * 1024 * 1024
"""Bytes, inflated; of a larger part the beginning is read."""
_CHUNK = 1 << 16
_ENCRYPTED = 1
OFFICE_RELATIONS = ("officeDocument/2006/relationships", "officeDocument/relationships")
PROTECTED = "The document is protected with a password."


class XmlEvents(Protocol):
    """What receives the events of an XML part. Names are local ones; attributes of the namespace of relations keep the
    prefix `r:`."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


class Relation(NamedTuple):
    kind: str
    """The last part of its type: `hyperlink`, `slide`, ..."""
    target: str
    """The name of a part, or a URL."""
    is_external: bool


@lru_cache(maxsize=4096)
def _local(name: str) -> str:
    return name.rpartition("}")[2]


@lru_cache(maxsize=4096)
def _attribute(name: str) -> str:
    space, brace, local = name.rpartition("}")
    return f"r:{local}" if brace and space.endswith(OFFICE_RELATIONS) else local


class _Target:
    """Passes the parser's events on, counting work and depth."""

    def __init__(self, draft: Draft, events: XmlEvents) -> None:
        self._draft, self._events = draft, events
        self._depth = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._draft.spend(1 + len(attributes) // 8)
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._draft.flag(CUT)
            raise DraftFull
        self._events.start(_local(tag), {_attribute(name): value for name, value in attributes.items()})

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._events.end(_local(tag))

    def data(self, text: str) -> None:
        self._events.data(text)

    def close(self) -> None: ...


def feed_xml(body: bytes, events: XmlEvents, draft: Draft, content_type: str = "application/xml") -> None:
    """Reads one XML part. If it is damaged, the events until there are all there are, and the draft is flagged."""
    plain = without_entities(as_utf8(body, charset_of(content_type, body).encoding))
    if plain is None or has_too_many_attributes(plain):
        draft.flag(CUT)
        return
    parser = etree.XMLParser(target=cast(Any, _Target(draft, events)), encoding="utf-8", **_OPTIONS)
    try:
        for at in range(0, len(plain), _CHUNK):
            parser.feed(plain[at : at + _CHUNK])
        parser.close()
    except (etree.XMLSyntaxError, ValueError):
        draft.flag(DAMAGED)


_OPTIONS: dict[str, Any] = SAFELY | {"huge_tree": True}
"""Depth and attributes are limited here, and there is no tree; a single text may be long."""


class Package:
    """The parts of a ZIP file, by name."""

    def __init__(self, body: bytes, draft: Draft) -> None:
        """Of a file whose directory is missing, because its end was cut off, the parts that are there are found by
        their own headers. Raises NoText if there are none."""
        self._draft, self._body = draft, body
        self._zip: zipfile.ZipFile | None = None
        self._infos: dict[str, zipfile.ZipInfo | ZipPlace] = {}
        if zip_directory(body) is not None:
            try:
                self._zip = zipfile.ZipFile(BytesIO(body))
                self._infos = {one.filename.lstrip("/"): one for one in reversed(self._zip.infolist()[:MOST_MEMBERS])}
            except (zipfile.BadZipFile, ValueError, LookupError, RuntimeError, OSError):
                self._zip = None
        if self._zip is None:
            draft.flag(DAMAGED)
            self._infos = {name.lstrip("/"): place for name, place in local_parts(body)}
        if not self._infos:
            raise NoText("damaged", "The file is damaged: none of its parts can be found.")
        self._folded = {name.lower(): name for name in self._infos}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(reversed(self._infos))

    def has(self, name: str) -> bool:
        return name.lower() in self._folded

    def part(self, name: str) -> bytes | None:
        """A part's bytes, up to what the document may still have; None if there is none of that name, or nothing of it
        can be read."""
        info = self._infos.get(self._folded.get(name.lower(), ""))
        if info is None or (isinstance(info, zipfile.ZipInfo) and info.is_dir()):
            return None
        if info.flag_bits & _ENCRYPTED:
            raise NoText("encrypted", PROTECTED)
        pieces: list[bytes] = []
        length = 0
        try:
            for piece in self._pieces(info):
                pieces.append(piece)
                length += len(piece)
                if length > LARGEST_PART or self._draft.may_inflate < len(piece):
                    self._draft.flag(CUT)
                    break
                self._draft.inflate(len(piece))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError):
            self._draft.flag(DAMAGED)
        return b"".join(pieces) if pieces else None

    def _pieces(self, info: zipfile.ZipInfo | ZipPlace) -> Iterator[bytes]:
        if isinstance(info, ZipPlace):
            yield from info.pieces(self._body)
        elif self._zip is not None:
            with self._zip.open(info) as part:
                while piece := part.read(_CHUNK):
                    yield piece

    def feed(self, name: str, events: XmlEvents) -> bool:
        """Whether there is such a part, of which the events were sent."""
        body = self.part(name)
        if body is None:
            return False
        feed_xml(body, events, self._draft)
        return True

    def relations(self, name: str) -> dict[str, Relation]:
        """The relations of a part of an Office document, by id. The empty name: those of the document itself."""
        folder, slash, file = name.rpartition("/")
        found = _Relations(folder)
        self.feed(f"{folder}{slash}_rels/{file}.rels", found)
        return found.by_id

    def related(self, name: str, *kinds: str) -> Iterator[str]:
        """The parts that a part is related to in one of these ways, each once."""
        seen = set()
        for one in self.relations(name).values():
            if one.kind in kinds and not one.is_external and one.target not in seen:
                seen.add(one.target)
                yield one.target


class _Relations:
    def __init__(self, folder: str) -> None:
        self.by_id: dict[str, Relation] = {}
        self._folder = folder

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name != "Relationship" or "Id" not in attributes:
            return
        target = attributes.get("Target", "")
        is_external = attributes.get("TargetMode") == "External"
        if not is_external:
            target = normpath(join("/", self._folder, target)).lstrip("/")
        kind = attributes.get("Type", "").rpartition("/")[2]
        self.by_id.setdefault(attributes["Id"], Relation(kind, target, is_external))

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


_PROPERTIES = {
    "title": "title", "creator": "authors", "initial-creator": "authors", "created": "created",
    "creation-date": "created", "modified": "modified", "date": "modified", "language": "language",
    "subject": "subject", "description": "description", "keywords": "keywords", "keyword": "keywords",
    "publisher": "publisher", "identifier": "identifier", "Company": "publisher", "Manager": "",
}  # fmt: skip


class Properties:
    """Reads the metadata of Office and OpenDocument files: elements named after what they hold."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._name = ""
        self._parts: list[str] = []
        self.values: dict[str, list[str]] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._name, self._parts = _PROPERTIES.get(name, ""), []

    def end(self, name: str) -> None:
        text = "".join(self._parts).strip()
        if self._name and text:
            self.values.setdefault(self._name, []).append(text)
        self._name, self._parts = "", []

    def data(self, text: str) -> None:
        if self._name:
            self._parts.append(text[:10_000])

    def state(self) -> None:
        """Tell the draft what was found."""
        for name, values in self.values.items():
            if name in ("authors", "keywords"):
                words = [word.strip() for value in values for word in value.replace(";", ",").split(",")]
                self._draft.state(**{name: words if name == "keywords" else values})
            else:
                self._draft.state(**{name: values[0]})
