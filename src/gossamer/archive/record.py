"""Captures as WARC 1.1 records (ISO 28500:2017), each a gzip member of its own.

Pure: called in reader processes.

Writing one takes four lines of code. A library would hash every body twice, and change HTTP headers that are not ASCII.
The tests read these records with two libraries.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import xxhash

from gossamer.base.clock import Instant, in_words
from gossamer.parse.sniff import media_type_of
from gossamer.spool.codec import gzip_member
from gossamer.values.capture import Capture, Truncated, capture_id_of
from gossamer.values.history import Original
from gossamer.values.messages import ReadDone
from gossamer.values.url import Url

ORIGINAL = "X-Archive-Orig-"
"""Prefix of a header that is kept but no longer describes the stored body."""
TOOK = "X-Gossamer-Took"
DISTRUST = "X-Gossamer-Distrust"
HTTP_RESPONSE = "application/http; msgtype=response"
FIELDS = "application/warc-fields"
CONFORMS_TO = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
LINE_BREAKS = re.compile(r"[\r\n]+[ \t]*")

PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
NOT_MODIFIED, SAME_PAYLOAD = PROFILES + "server-not-modified", PROFILES + "identical-payload-digest"

Field = tuple[str, str]


def response_record(capture: Capture, digest: bytes | None = None) -> bytes:
    """The capture as one compressed `response` record. `digest`: the body's SHA-256, if known."""
    return _http_record("response", capture, digest or hashlib.sha256(capture.body).digest(), capture.body)


def revisit_record(capture: Capture, original: Original) -> bytes:
    """A response whose body is in an earlier capture of the URL (WARC 1.1, 6.7), with its own headers.

    Either a 304, or a response with the same body as the original's.
    """
    before = capture_id_of(Url(original.url), original.fetched_at)
    fields = [
        ("WARC-Profile", NOT_MODIFIED if capture.status == 304 else SAME_PAYLOAD),
        ("WARC-Refers-To", _record_id(f"response {before} {original.digest.hex()}")),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", in_words(original.fetched_at)),
    ]
    return _http_record("revisit", capture, original.digest, b"", fields)


def _http_record(kind: str, capture: Capture, digest: bytes, body: bytes, fields: Sequence[Field] = ()) -> bytes:
    """`digest`: that of the body as received, which `body` need not have."""
    block = _http_head(capture) + body
    digests = [
        ("WARC-Payload-Digest", _labelled("sha256", digest)),
        ("WARC-Block-Digest", _labelled("sha1", hashlib.sha1(block, usedforsecurity=False).digest())),
    ]
    return _record([*_capture_fields(kind, capture, digest), *fields, *digests], HTTP_RESPONSE, block)


def metadata_record(capture: Capture, links: Sequence[str], digest: bytes | None = None) -> bytes:
    """A page without its body: status, headers, digest and links."""
    digest = digest or hashlib.sha256(capture.body).digest()
    block = _fields_block(
        [
            ("status", f"{capture.status} {capture.reason}"),
            ("digest", _labelled("sha256", digest)),
            ("size", str(len(capture.body))),
            *[("header", f"{name}: {value}") for name, value in capture.headers],
            *[("outlink", link) for link in links],
        ]
    )
    return _record([*_capture_fields("metadata", capture, digest), *_own_digests(block)], FIELDS, block)


def warcinfo_record(volume: str, at: Instant, about: Mapping[str, str]) -> bytes:
    """The first record of a volume: its creator and format."""
    block = _fields_block([*about.items(), ("format", "WARC File Format 1.1"), ("conformsTo", CONFORMS_TO)])
    return _record(
        [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", _record_id(f"warcinfo {volume}")),
            ("WARC-Filename", volume),
            ("WARC-Date", in_words(at)),
            *_own_digests(block)[:1],
        ],
        FIELDS,
        block,
    )


def _record(fields: list[Field], content_type: str, block: bytes) -> bytes:
    """REQUIRES: no line breaks in the fields."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in fields])
    head = f"WARC/1.1\r\n{lines}Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    return gzip_member(b"".join((head.encode("utf-8", "replace"), block, b"\r\n\r\n")))


def _capture_fields(kind: str, capture: Capture, digest: bytes) -> list[Field]:
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", _record_id(f"{kind} {capture.id} {digest.hex()}")),
        ("WARC-Target-URI", capture.url.text),
        ("WARC-Date", in_words(capture.fetched_at)),
    ]
    if capture.address:
        fields.append(("WARC-IP-Address", capture.address))
    if capture.truncated is not None:
        fields.append(("WARC-Truncated", capture.truncated.value))
    if capture.took_s:
        fields.append((TOOK, repr(capture.took_s)))
    if capture.distrust:
        fields.append((DISTRUST, one_line(capture.distrust)))
    return fields


def _record_id(name: str) -> str:
    """A UUID of version 8 (RFC 9562, 5.8) from a name: the same capture always gets the same id."""
    text = xxhash.xxh3_128_hexdigest(name.encode())
    variant = "89ab"[int(text[16], 16) & 3]
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-8{text[13:16]}-{variant}{text[17:20]}-{text[20:]}>"


def _labelled(algorithm: str, digest: bytes) -> str:
    return f"{algorithm}:{digest.hex()}"


def _own_digests(block: bytes) -> list[Field]:
    label = _labelled("sha256", hashlib.sha256(block).digest())
    return [("WARC-Block-Digest", label), ("WARC-Payload-Digest", label)]


def _http_head(capture: Capture) -> bytes:
    fields = stored_fields(capture.headers, len(capture.body))
    head = _head_text(capture.status, capture.reason, fields)
    if head.count("\n") != len(fields) + 2 or head.count("\r") != len(fields) + 2:
        unfolded = [(one_line(name), one_line(value)) for name, value in fields]
        head = _head_text(capture.status, one_line(capture.reason), unfolded)
    return head.encode("latin-1", "replace")


def _head_text(status: int, reason: str, fields: Sequence[Field]) -> str:
    lines = [f"{name}: {value}\r\n" for name, value in fields]
    return f"HTTP/1.1 {status} {reason}\r\n{''.join(lines)}\r\n"


def stored_fields(headers: Sequence[Field], size: int) -> list[Field]:
    """Headers that describe the stored body; `original_fields` reverses it.

    Transfer codings are removed from the body, so their header is renamed. A wrong Content-Length is renamed too, and
    the right one added at the end. Names that already have the prefix (pages of other archives) get it once more.
    """
    true_length = str(size)
    is_length_wrong = any(value != true_length for name, value in headers if name.lower() == "content-length")
    renamed = ("transfer-encoding", "content-length") if is_length_wrong else ("transfer-encoding",)
    fields = [
        (ORIGINAL + name, value) if name.lower() in renamed or name.startswith(ORIGINAL) else (name, value)
        for name, value in headers
    ]
    return [*fields, ("Content-Length", true_length)] if is_length_wrong else fields


def original_fields(stored: Sequence[Field]) -> tuple[Field, ...]:
    """The headers as received."""
    renamed_length = (ORIGINAL + "content-length").lower()
    if any(name.lower() == renamed_length and name.startswith(ORIGINAL) for name, _ in stored):
        last_length = max((i for i, (name, _) in enumerate(stored) if name.lower() == "content-length"), default=-1)
        stored = [field for i, field in enumerate(stored) if i != last_length]
    return tuple((name.removeprefix(ORIGINAL), value) for name, value in stored)


def one_line(text: str) -> str:
    """Unfold a header value (RFC 9112, 5.2): a line break must never start a new header."""
    return LINE_BREAKS.sub(" ", text) if "\n" in text or "\r" in text else text


def _fields_block(fields: Iterable[Field]) -> bytes:
    return "".join([f"{name}: {one_line(value)}\r\n" for name, value in fields]).encode("utf-8", "replace")


def is_unread(capture: Capture) -> bool:
    """Whether the body was skipped because we have it already: limits never cut a body to nothing."""
    return capture.status == 200 and capture.truncated is Truncated.LENGTH and not capture.body


def stored(capture: Capture, digest: bytes | None = None, original: Original | None = None) -> ReadDone:
    """The record without a reading. `digest`: the body's SHA-256, if known. `original`: the capture that a 304
    confirms."""
    if original is not None and (capture.status == 304 or is_unread(capture)):
        record = revisit_record(msgspec.structs.replace(capture, truncated=None), original)
        return ReadDone(record, b"", "", original.digest, refers_at=original.fetched_at)
    digest = digest or hashlib.sha256(capture.body).digest()
    media_type = media_type_of(capture.header("content-type"), capture.body)
    return ReadDone(response_record(capture, digest), b"", media_type, digest, size=len(capture.body))
