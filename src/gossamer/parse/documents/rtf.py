"""RTF files: their text with striprtf, their metadata from the group `info`."""

import re
from collections.abc import Callable

from gossamer.parse.documents.draft import MOST_CHARACTERS, Draft, NoText
from gossamer.values.document import CUT

LARGEST = 16 * 1024 * 1024
_PICTURE = re.compile(r"\{\\(?:\*\\shppict|nonshppict|pict)\b[^{}]*(?:\{[^{}]*\}[^{}]*)*\}?")
_HEX = re.compile(r"[0-9a-fA-F\s]{2000,}")
_INFO = re.compile(r"\{\\(title|author|subject|keywords|doccomm|company)\s([^{}\\]{1,2000})")
_TIME = re.compile(r"\{\\(creatim|revtim)\\yr(\d{4})\\mo(\d\d?)\\dy(\d\d?)(?:\\hr(\d\d?))?(?:\\min(\d\d?))?")
_LINK = re.compile(r'HYPERLINK\s+(?:\\l\s+)?"([^"\s{}]{1,2000})"')
_NAMES = {"title": "title", "subject": "subject", "doccomm": "description", "company": "publisher"}
_HEAD = 1 << 16


def add_rtf(body: bytes, draft: Draft) -> None:
    """The text of an RTF file."""
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError:
        raise NoText("needs-extra", "RTF files are read with the extra `documents`.") from None
    if len(body) > LARGEST:
        draft.flag(CUT)
    text = body[:LARGEST].decode("latin-1")
    _state(text, draft)
    draft.spend(len(text) // 100)
    convert: Callable[..., str] = rtf_to_text
    plain = convert(_HEX.sub("", text), errors="replace")
    if len(plain) > MOST_CHARACTERS:
        draft.flag(CUT)
    for target in dict.fromkeys(_LINK.findall(text)):
        draft.link(target)
    for line in plain[: MOST_CHARACTERS + 1].split("\n"):
        draft.spend()
        if "|" in line:
            for cell in line.split("|"):
                draft.run(cell)
                draft.end_cell()
            draft.end_row()
        else:
            draft.run(line)
            draft.end()


def _state(text: str, draft: Draft) -> None:
    info = text.find("{\\info")
    if info < 0:
        return
    head = text[info : info + _HEAD]
    for name, value in _INFO.findall(head):
        if name in _NAMES:
            draft.state(**{_NAMES[name]: value})
        else:
            draft.state(**{"authors" if name == "author" else name: [value]})
    for name, year, month, day, hour, minute in _TIME.findall(head):
        date = f"{year}-{int(month):02d}-{int(day):02d}T{int(hour or 0):02d}:{int(minute or 0):02d}:00Z"
        draft.state(**{"created" if name == "creatim" else "modified": date})
