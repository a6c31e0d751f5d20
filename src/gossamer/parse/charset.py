"""The encoding of a page, detected as browsers do, and decoding.

WHATWG HTML, "determining the character encoding".

In order: byte order mark, Content-Type header, declaration in the first 1,024 bytes, the zeros of UTF-16 and UTF-32,
the escapes of ISO-2022-JP, valid UTF-8, and finally a guess. Labels are those of WHATWG Encoding, 4.2, and IBM code
pages; UTF-7 is deliberately never accepted.
"""

import codecs
import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from chardetng_py.detector import EncodingDetector

# UTF-16 and UTF-32, recognised by their byte order mark or by the positions of zeros. All other encodings of the web
# are ASCII in their lower half, except EBCDIC.

_MARKS = (
    (b"\0\0\xfe\xff", "utf-32be"),
    (b"\xff\xfe\0\0", "utf-32le"),  # before the shorter mark of UTF-16 that it begins with
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
_HIGHEST_PLANE = 0x10


def encoding_by_mark(head: bytes) -> str | None:
    """The encoding of the byte order mark."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def encoding_by_zeros(head: bytes) -> str | None:
    """UTF-32 has a zero and a plane number in every unit; in UTF-16 nearly every second byte of a page is zero."""
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


# The last resort for bytes without a declaration that are not UTF-8: Firefox's detector (chardetng), and two Cyrillic
# code pages that it does not know.

FALLBACK = "windows-1252"
_SAMPLE = 1 << 20
_WORD = re.compile(r"[^\x00-\x40\[-`{-~]{3,}")
_CYRILLIC = re.compile("[\u0400-\u042f\u0490]?[\u0430-\u045f\u0491]+|[\u0400-\u042f\u0490]+")
"""A word as people write it: lower case, perhaps with a capital first, or upper case. In the wrong code page the
capitals and some of the letters are symbols, Latin, or capitals inside a word."""
_LEAST_WORDS = 5
_LEAST_SHARE = 0.9


def guessed(body: bytes) -> str:
    detector = EncodingDetector()
    detector.feed(body[:_SAMPLE], last=len(body) <= _SAMPLE)
    label = detector.guess(tld=None, allow_utf8=False)
    found = encoding_named("windows-874" if label == "cp874" else label) or FALLBACK
    if found not in ("windows-1252", "windows-1251"):
        return found
    shares = {name: _cyrillic(body[:_SAMPLE], name) for name in ("windows-1251", "x-mac-cyrillic", "ibm855")}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > _LEAST_SHARE else found


def _cyrillic(sample: bytes, encoding: str) -> float:
    """The share of well-formed Cyrillic words among the non-ASCII ones."""
    words = [word for word in _WORD.findall(decode(sample, encoding)) if not word.isascii()]
    if len(words) < _LEAST_WORDS:
        return 0.0
    return sum(_CYRILLIC.fullmatch(word) is not None for word in words) / len(words)


PRESCANNED = 1024
_LATE = 1 << 16
_IN_CONTENT = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*))"
)
_ESCAPES = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")
_EBCDIC_XML = "<?xml".encode("cp037")
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
# One step of the prescan: a comment, the start of a meta tag or another tag, or markup to be skipped to its ">".
_STEP = re.compile(
    rb"<!--(?P<comment>)|<meta(?=[\t\n\f\r /])(?P<meta>)|</?[a-z][^\t\n\f\r >]*+(?P<tag>)|<[!/?][^>]*+>?", re.IGNORECASE
)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)[\t\n\f\r ]*+"
    rb"(?:=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*+|(?=[\t\n\f\r >]))))?+"
)
How = Literal["bom", "header", "meta", "zeros", "escapes", "utf-8", "guess"]
"""How the encoding was determined, in the order of the rules above."""


class Charset(NamedTuple):
    encoding: str
    """A name of the WHATWG standard, lower case; or "utf-32le", "utf-32be", "ibm" and the number of a code page."""
    how: How
    """How it was determined."""
    conflict: bool = False
    """Two declarations disagree, and the stronger one was used."""


def charset_of(content_type: str | None, body: bytes) -> Charset:
    head = body[:PRESCANNED]
    marked = "utf-8" if head.startswith(b"\xef\xbb\xbf") else encoding_by_mark(head)
    in_header = encoding_in(content_type)
    if in_header in EBCDIC and is_utf8(body):
        in_header = None  # a gateway converted the page without changing its label
    # Usually the declaration agrees with the header: then comparing its name is enough.
    is_repeated = in_header is not None and in_header.encode() in head.lower()
    in_meta = in_header if is_repeated else prescan(head)
    declared = [name for name in (marked, in_header, in_meta) if name is not None]
    conflict = len(set(declared)) > 1
    if declared:
        how: How = "bom" if marked else "header" if in_header else "meta"
        return Charset(declared[0], how, conflict)
    if (wide := encoding_by_zeros(head)) is not None:
        return Charset(wide, "zeros")
    if b"\x1b" in body and _ESCAPES.search(body):
        return Charset("iso-2022-jp", "escapes")  # before UTF-8: its bytes are ASCII
    if is_utf8(body):
        return Charset("utf-8", "utf-8")
    # A browser that finds a later declaration starts again with it.
    late = prescan(body[:_LATE])
    return Charset(late, "meta") if late is not None else Charset(guessed(body), "guess")


def as_utf8(body: bytes, encoding: str) -> bytes:
    """The text in UTF-8 without byte order mark. UTF-8 is returned as it is, errors included."""
    if encoding == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return decode(body, encoding).removeprefix("\ufeff").encode("utf-8", "replace")


def is_utf8(body: bytes) -> bool:
    """A character cut off at the very end is accepted, because bodies are cut at a limit."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError as broken:
        return broken.reason == "unexpected end of data" and not body[: broken.start].isascii()
    return True


def prescan(head: bytes) -> str | None:
    """The declaration inside the page, if there is a credible one."""
    if head.startswith(_EBCDIC_XML):
        # All EBCDIC code pages agree on the characters of a declaration (XML, appendix F).
        xml = _XML.match(head.decode("cp037").encode("latin-1"))
        named = encoding_named(xml[1].decode()) if xml else None
        return named if named in EBCDIC else None
    if b"harset" not in head and b"HARSET" not in head and b"encoding" not in head:
        return None
    if (xml := _XML.match(head)) is not None and (named := _believable(xml[1])) is not None:
        return named
    at = 0
    while (step := _STEP.search(head, at)) is not None:
        at = step.end()
        if step["comment"] is not None:
            # "<!-->" is a complete comment: its dashes may be those of the opening.
            if (end := head.find(b"-->", at - 2)) < 0:
                return None
            at = end + 3
        elif step["meta"] is not None or step["tag"] is not None:
            attributes, at = _attributes(head, at)
            if step["meta"] is not None and (found := _declared(attributes)) is not None:
                return found
    return None


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    found: dict[bytes, bytes] = {}
    while (each := _ATTRIBUTE.match(head, at)) is not None and each.end() > at:
        at = each.end()
        if at >= len(head):
            return {}, at  # the tag is incomplete within the prescanned bytes
        found.setdefault(each[1].lower(), next((v for v in each.groups()[1:] if v is not None), b""))
    return found, at


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None:
        if attributes.get(b"http-equiv", b"").lower() != b"content-type":
            return None
        inside = _IN_CONTENT.search(attributes.get(b"content", b"").lower())
        label = next((g for g in inside.groups() if g is not None), b"") if inside else b""
    return _believable(label)


def _believable(label: bytes) -> str | None:
    """A declaration readable as ASCII is neither in UTF-16 nor in EBCDIC; x-user-defined is never meant."""
    named = encoding_named(label.decode("latin-1"))
    if named is None or named in EBCDIC:
        return None
    return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(named, named)


# Characters that WHATWG Encoding has in EUC-JP, ISO-2022-JP and Big5, and Python's codecs lack.
# Each set is an error handler of the codec. Where Python has another character in the same place (a wave dash for a
# full-width tilde), Python's is kept: it is that of the national standard.

# Big5: the code of the first character and the characters from there on (HKSCS-2008, ETEN, the euro).
_BIG5_RUNS = (
    "877A㡵 877E㻬 87A2㫵竼龗 87AA䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄 87C1瓆鿇垳䤯呌䄱 87C8堘穲 87CB讏䚮 "
    "87CE䆁 87D0箮 87D2鿈 87D6鿉蔄 87D9䂴鿊䓡 87DD拁灮鿋 8E69箸 8E6F簆 8E7E糎 8EAB緒 8EB4縝 8ECD者 8ED0耨 8F57菁 "
    "8F69蒨 8F6E萏 8FCB覦覩 8FFE起 906D都 907A銹 90DC靜 90F1響 91BF鼖 92AF兙兛兝兞 92C8鍮 92D1瑹 9447浧 94CA禛 "
    "95D9邗 9644靝 96ED瀞 96FC嬨 9B76爁 9B78矗 9B7B纇 9BC6駖 9BDE釔 9BEC惞 9BF6澶 9C42輶 9C53侻 9C62營 9C68鄄 "
    "9C6B鷰 9C77菏 9CBC尐秣 9CD0婧 9D57輋 9D5A筑 9DC4拐 9EA9恢 9EEF痹 9EFD汊 9F60鬮 9FCB僭 A077拎 A0DF煢 A3E0␡€ "
    "C6CF廴 C6D3无 C6D5癶 C6D7隶 C6DF仝 FB48嘅 FBF9廐 FC6C悤 FE52猪"
)
_BIG5 = {0xA3C0 + at: chr(0x2400 + at) for at in range(32)} | {
    int(run[:4], 16) + at: character for run in _BIG5_RUNS.split() for at, character in enumerate(run[4:])
}


def _big5(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    found = _BIG5.get(int.from_bytes(error.object[error.start : error.start + 2], "big"))
    return (found, error.start + 2) if found else ("\ufffd", error.end)


def _jis(error: UnicodeError) -> tuple[str, int]:
    """NEC's and IBM's additions to JIS X 0208: the Shift_JIS codec has them, at the position given by row and cell."""
    assert isinstance(error, UnicodeDecodeError)
    lowest = 0xA0 if error.encoding == "euc_jp" else 0x20
    pair = error.object[error.start : error.start + 2]
    row, cell = (byte - lowest for byte in pair) if len(pair) == 2 else (0, 0)
    if not (1 <= row <= 94 and 1 <= cell <= 94):
        return "\ufffd", error.end
    lead = (row + 1) // 2 + (0x80 if row <= 62 else 0xC0)
    trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell >= 64)
    found = bytes((lead, trail)).decode("cp932", "ignore")
    return (found, error.start + 2) if found else ("\ufffd", error.end)


codecs.register_error("gossamer.big5", _big5)
codecs.register_error("gossamer.jis", _jis)
HANDLERS = {"euc-jp": "gossamer.jis", "iso-2022-jp": "gossamer.jis", "big5": "gossamer.big5"}
"""The error handler for each of these encodings."""
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866",
    "iso-8859-2": "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i "
    "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
    "iso_8859-8:1988 visual",
    "iso-8859-8-i": "csiso88598i logical",
    "iso-8859-10": "csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso8859-13 iso885913",
    "iso-8859-14": "iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "",
    "koi8-r": "cskoi8r koi koi8 koi8_r",
    "koi8-u": "koi8-ru",
    "macintosh": "csmacintosh mac x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    **{f"windows-{page}": f"cp{page} x-cp{page}" for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "x-cp1254",
    "x-mac-cyrillic": "x-mac-ukrainian",
    "gbk": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk",
    "gb18030": "",
    "big5": "big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese x-euc-jp",
    "iso-2022-jp": "csiso2022jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr",
    "utf-16be": "unicodefffe",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16",
    "x-user-defined": "",
}

ENCODING_OF: dict[str, str] = {label: name for name, others in _LABELS.items() for label in (name, *others.split())}

_DOS = frozenset({437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 869})
_EBCDIC = {37: "us ca wt nl", 273: "", 424: "he", 500: "be ch", 875: "", 1026: "", 1047: "", 1140: ""}
"""Code pages, and the countries of their other names, such as ebcdic-cp-us (IANA character sets)."""
EBCDIC = frozenset({f"ibm{page:03}" for page in _EBCDIC})
_EBCDIC_NAMES = {f"ebcdic-cp-{one}": page for page, countries in _EBCDIC.items() for one in countries.split()}
_NUMBERED = re.compile(r"(?:csibm|ibm|cp|ccsid)-?0*(\d{2,4})", re.ASCII)
_IN_HEADER = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"?|([^;\s]+))", re.IGNORECASE)

# Where Python's codec of that name is narrower than its use on the web, or has another name.
_CODECS = {
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "iso-2022-jp": "iso2022_jp_ext",
    "ibm1047": "cp037",
}

# Characters that an encoding has and Python's table of the same name lacks. EBCDIC ends lines with NEL (0x15).
_ADDED = {
    "koi8-u": {0xAE: "\u045e", 0xBE: "\u040e"},
    "windows-1255": {0xCA: "\u05ba"},
    **{name: {0x15: "\n"} for name in EBCDIC},
    "ibm1047": {0x15: "\n", 0x5F: "^", 0xAD: "[", 0xB0: "\xac", 0xBA: "\xdd", 0xBB: "\xa8", 0xBD: "]"},
}
_USER_DEFINED = "".join(chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(256))
_UNDEFINED = "\ufffe"  # marks a hole for codecs.charmap_decode


def encoding_named(label: str) -> str | None:
    """The encoding that `label` names, or None."""
    label = label.strip("\t\n\f\r ").lower()
    if label in ENCODING_OF:
        return ENCODING_OF[label]
    numbered = _NUMBERED.fullmatch(label)
    page = int(numbered[1]) if numbered else _EBCDIC_NAMES.get(label)
    return f"ibm{page:03}" if page in _DOS or page in _EBCDIC else None


@lru_cache(maxsize=256)
def encoding_in(content_type: str | None) -> str | None:
    """The encoding that a Content-Type field names."""
    if content_type is None or not (found := _IN_HEADER.search(content_type)):
        return None
    return encoding_named(found[1] if found[1] is not None else found[2])


def decode(body: bytes, encoding: str) -> str:
    """Never fails: invalid bytes become U+FFFD. REQUIRES: `encoding` is from `encoding_named` or `charset_of`."""
    if encoding == "replacement":
        return "\ufffd" if body else ""
    if encoding == "x-user-defined":
        return codecs.charmap_decode(body, "replace", _USER_DEFINED)[0]
    if encoding.startswith(("windows-", "ibm")) or encoding == "koi8-u":
        return codecs.charmap_decode(body, "replace", _code_page(encoding))[0]
    return body.decode(_CODECS.get(encoding, encoding), HANDLERS.get(encoding, "replace"))


@cache
def _code_page(encoding: str) -> str:
    """The 256 characters of a code page. Unassigned C1 bytes keep their code points, as on the web."""
    codec, added = _CODECS.get(encoding, encoding.replace("ibm", "cp")), _ADDED.get(encoding, {})

    def character(byte: int) -> str:
        found = added.get(byte) or bytes([byte]).decode(codec, "ignore")
        return found or (chr(byte) if 0x80 <= byte < 0xA0 else _UNDEFINED)

    return "".join(map(character, range(256)))
