"""Mail: single messages (eml), boxes of them (mbox), and the parts of each."""

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime

from gossamer.parse.charset import charset_of, decode, encoding_named
from gossamer.parse.documents.draft import MOST_CHARACTERS, MOST_DEPTH, Draft
from gossamer.parse.documents.markup import add_markup
from gossamer.values.document import CUT, type_by_name

MOST_PARTS = 1_000
MOST_MESSAGES = 2_000
MOST_HEADERS = 2_000
LARGEST_HEAD = 1 << 20
_SHOWN = ("From", "To", "Cc", "Date")
_MBOX_LINE = re.compile(rb"^From [^\r\n]{1,300}(?=\r?\n)", re.MULTILINE)
_ENVELOPE = re.compile(rb"From \S{1,200} +(?:\w{3},? +)?\w{3} +\d[^\r\n]{0,60}\d{4}(?: [-+]\d{4})?")
_NESTED = re.compile(rb"^content-type:\s*(?:multipart/|message/rfc822)", re.IGNORECASE | re.MULTILINE)
MOST_NESTED = 200
"""Parts inside parts: Python's parser calls itself for each."""
LONGEST_FIELD = 2_000
LONGEST_BODY = 2 * MOST_CHARACTERS

AddInner = Callable[[bytes, str, Draft], None]
"""Adds a document inside a document: bytes, media type, draft."""
_FAULTS = (ValueError, TypeError, LookupError, AttributeError, MessageError, AssertionError, RecursionError)


def add_mail(body: bytes, draft: Draft, inner: AddInner) -> None:
    """The text of one message: its subject as heading, then addresses, body and attachments."""
    message = _parsed(body, draft)
    if message is not None:
        _add_message(message, draft, inner, level=1)


def add_mailbox(body: bytes, draft: Draft, inner: AddInner) -> None:
    """The messages of an mbox file, one after the other."""
    starts = [found.start() for found in _MBOX_LINE.finditer(body) if _begins_message(body, found)]
    for number, start in enumerate(starts):
        if number >= MOST_MESSAGES:
            draft.flag(CUT)
            return
        end = starts[number + 1] if number + 1 < len(starts) else len(body)
        message = _parsed(body[body.find(b"\n", start) + 1 : end], draft)
        if message is not None:
            _add_message(message, draft, inner, level=2)


def _begins_message(body: bytes, found: re.Match[bytes]) -> bool:
    """Whether a header field follows: sentences begin with `From` too."""
    if _ENVELOPE.fullmatch(found[0]):
        return True
    line = body[found.end() : found.end() + 400].lstrip(b"\r\n").partition(b"\n")[0]
    return re.match(rb"[!-9;-~]{1,80}:|>?From ", line) is not None


def _parsed(body: bytes, draft: Draft) -> Message | None:
    head = body[: LARGEST_HEAD + 1].partition(b"\n\n")[0]
    if len(head) > LARGEST_HEAD or head.count(b"\n") > MOST_HEADERS:
        draft.flag(CUT)
        return None
    draft.spend(len(body) // 200)
    if body.count(b"\n--") > 200 * MOST_PARTS or len(_NESTED.findall(body)) > MOST_NESTED:
        draft.flag(CUT)
        body = body[: 1 << 16]
        if len(_NESTED.findall(body)) > MOST_NESTED:
            return None
    try:
        return message_from_bytes(body, policy=policy.compat32)
    except _FAULTS:
        return None


def _add_message(message: Message, draft: Draft, inner: AddInner, level: int) -> None:
    subject = field_of(message, "Subject")
    draft.state(
        title=subject,
        authors=[field_of(message, "From")] if message["From"] else [],
        created=_date(message),
        language=field_of(message, "Content-Language"),
        identifier=field_of(message, "Message-ID").strip("<> "),
    )
    draft.line(subject, "heading", level)
    for name in _SHOWN:
        if value := field_of(message, name):
            draft.line(f"{name}: {value}")
    has_text = any(_is_shown(part, "text/plain") for part in _parts(message))
    for number, part in enumerate(_parts(message)):
        if number >= MOST_PARTS:
            draft.flag(CUT)
            return
        draft.spend(10)
        _add_part(part, draft, inner, has_text)


def _parts(message: Message) -> Iterator[Message]:
    """The parts that are no containers, without recursion."""
    stack = [message]
    while stack:
        part = stack.pop()
        held = part.get_payload()
        if isinstance(held, list):
            stack += [one for one in reversed(held) if isinstance(one, Message)]
            if part.get_content_type() == "message/rfc822" and part is not message:
                continue
        else:
            yield part


def _is_shown(part: Message, kind: str) -> bool:
    return part.get_content_type() == kind and not _file_name(part)


def _add_part(part: Message, draft: Draft, inner: AddInner, has_text: bool) -> None:
    kind, name = part.get_content_type(), _file_name(part)
    if name:
        draft.line(f"Attachment: {name}")
    if kind not in ("text/plain", "text/html", "message/delivery-status") and not name:
        return
    try:
        body = part.get_payload(decode=True)
    except _FAULTS:
        return
    if not isinstance(body, bytes) or not body:
        return
    if kind == "text/html" and not name:
        if not has_text:
            add_markup(body, draft, f"text/html; charset={part.get_content_charset('') or ''}")
    elif kind.startswith(("text/plain", "message/")):
        add_lines(_text(body, part), draft)
    elif draft.depth < MOST_DEPTH:
        inner(body, type_by_name(name) or kind, draft)


def add_lines(text: str, draft: Draft) -> None:
    """Plain text: a block for each paragraph."""
    if len(text) > LONGEST_BODY:
        draft.flag(CUT)
    for line in text[:LONGEST_BODY].split("\n"):
        draft.spend()
        if line.strip():
            draft.run(line + " ")
        else:
            draft.end()
    draft.end()


def _text(body: bytes, part: Message) -> str:
    label = part.get_content_charset("") or ""
    encoding = encoding_named(label) if label else None
    return decode(body, encoding or charset_of(None, body).encoding)


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except _FAULTS:
        return ""
    return _decoded(name)[:LONGEST_FIELD]


def field_of(message: Message, name: str) -> str:
    """A header field, decoded."""
    return _decoded(str(message.get(name, ""))[:LONGEST_FIELD])


def _decoded(value: str) -> str:
    text = " ".join(value.split())
    if "=?" in text:
        try:
            text = str(make_header(decode_header(text)))
        except _FAULTS:
            return text
    return text.encode("utf-8", "replace").decode("utf-8", "replace")


def _date(message: Message) -> str:
    try:
        return parsedate_to_datetime(field_of(message, "Date")).isoformat()
    except _FAULTS:
        return ""
