"""Worker jobs on one document that need no full reading.

A safe copy of a page, a document's own bytes, the survey of a robots.txt.
"""

from urllib.parse import quote

import msgspec

from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import decode
from gossamer.parse.content import head_of
from gossamer.parse.document_copy import document_copy
from gossamer.parse.documents.converter import convert, is_document
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.safe_copy import CopyMark, safe_copy, safe_text_copy
from gossamer.parse.sniff import HTML, is_xml, media_type_of
from gossamer.reader.conversion import most_bytes, title_of
from gossamer.rules.robots import directives_of, survey
from gossamer.rules.robots_parser import MOST_BYTES
from gossamer.values.document import ARCHIVES, UnreadableDocument
from gossamer.values.messages import Copied, CopyJob, SurveyJob
from gossamer.values.url import Url

LONGEST_TEXT = 2_000_000


def copy_job(payload: bytes) -> bytes:
    """One `CopyJob` in, one `Copied` out, both as msgpack."""
    return _ENCODER.encode(copied(_COPY_JOB.decode(payload)))


def copied(asked: CopyJob) -> Copied:
    capture = asked.capture
    fields = [value for name, value in capture.headers if name.lower() == "x-robots-tag"]
    declared = capture.header("content-type")
    body = decode(capture.body, capture.joined("content-encoding"), most_bytes(declared)).body
    media_type = media_type_of(declared, body, capture.url.text)
    is_html = media_type in HTML
    if not directives_of((), fields, asked.agent).may_cache:
        return Copied(b"", media_type, may_show=False)
    if asked.is_original:
        return Copied(body if is_document(media_type) or media_type in ARCHIVES else b"", media_type)
    if is_document(media_type) or media_type in ARCHIVES:
        found = convert(body, media_type, declared or "")
        if isinstance(found, UnreadableDocument):
            html = safe_text_copy(found.says, capture.url.text)
        else:
            html = document_copy(found, title_of(found), capture.url, page_of)
        return Copied(html.encode("utf-8", "replace"), media_type)
    if not is_html and not media_type.startswith("text/") and not is_xml(media_type) and "json" not in media_type:
        return Copied(b"", media_type)
    markup = as_utf8(body, charset_of(declared, body).encoding)
    if is_html:
        marks = {path: CopyMark(*said) for path, said in asked.marks.items()}
        tree = parse_html(markup).tree
        if not directives_of(head_of(scan_html(tree)).metas, fields, asked.agent).may_cache:
            return Copied(b"", media_type, may_show=False)
        html = safe_copy(tree, capture.url, page_of, marks)
    else:
        html = safe_text_copy(markup.decode("utf-8", "replace")[:LONGEST_TEXT], capture.url.text)
    return Copied(html.encode("utf-8", "replace"), media_type)


def page_of(url: Url) -> str:
    """Our own page about a URL."""
    return f"/page?url={quote(url.text, safe='')}"


def survey_job(payload: bytes) -> bytes:
    """One `SurveyJob` in, one `RobotsSurvey` out, both as msgpack."""
    asked = _SURVEY_JOB.decode(payload)
    body = decode(asked.body, asked.codings, 2 * MOST_BYTES).body if asked.codings else asked.body
    return _ENCODER.encode(survey(body, asked.agent, asked.naming))


_COPY_JOB = msgspec.msgpack.Decoder(CopyJob)
_SURVEY_JOB = msgspec.msgpack.Decoder(SurveyJob)
_ENCODER = msgspec.msgpack.Encoder()
