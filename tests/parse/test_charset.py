"""Recognising the encoding of a page."""

import pytest

from gossamer.parse.charset import as_utf8, charset_of, decode, encoding_named, is_utf8, prescan

RUSSIAN = "Сегодня в городе открылась новая выставка, на которой показали картины молодых художников из разных стран."
JAPANESE = "今日は天気がいいので、公園を散歩してから図書館で本を読みました。とても楽しかったです。"
CHINESE = "今天天氣很好，我們去公園散步，然後到圖書館看書。大家都覺得很高興，晚上還一起吃飯。"
SIMPLIFIED = str.maketrans("氣們園後圖館書覺興還飯", "气们园后图馆书觉兴还饭")
CZECH = "Včera večer jsme se šli podívat na příšerně žluťoučkého koně, který úpěl ďábelské ódy na náměstí."


def test_M_C10_pi_is_read_in_any_encoding():
    for name in ("utf-8", "utf-16le", "utf-16be", "iso-8859-7", "windows-1253", "euc-jp", "gb18030"):
        assert as_utf8("π".encode(name.replace("windows-", "cp")), name) == b"\xcf\x80"


def test_a_byte_order_mark_beats_the_header_and_the_header_beats_the_page():
    page = b'<meta charset="iso-8859-2">\xe1'
    assert charset_of("text/html; charset=koi8-r", b"\xef\xbb\xbf" + page)[:2] == ("utf-8", "bom")
    assert charset_of("text/html; charset=koi8-r", page)[:2] == ("koi8-r", "header")
    assert charset_of("text/html", page)[:2] == ("iso-8859-2", "meta")


def test_F_M3_declarations_that_disagree_are_flagged():
    page = b'<meta charset="iso-8859-2">\xe1'
    assert charset_of("text/html; charset=koi8-r", page).conflict
    assert charset_of("text/html", b"\xef\xbb\xbf" + page).conflict
    assert not charset_of("text/html; charset=ISO-8859-2", page).conflict
    assert not charset_of("text/html; charset=UTF-8", b'<meta charset="UTF-8">').conflict


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_F_M3_utf_16_without_a_mark_is_recognised_by_its_zeros(codec):
    found = charset_of("text/html", "<html><p>Grüße aus Köln</p>".encode(codec))
    assert found[:2] == (codec.replace("utf-16-", "utf-16"), "zeros")


def test_F_M3_iso_2022_jp_is_recognised_by_its_escapes_and_by_its_label():
    body = JAPANESE.encode("iso-2022-jp")
    assert charset_of("text/html; charset=iso-2022-jp", body).encoding == "iso-2022-jp"
    assert charset_of("text/html", b"<title>" + body)[:2] == ("iso-2022-jp", "escapes")
    assert charset_of("text/plain", b"\x1b[1mbold\x1b[0m")[:2] == ("utf-8", "utf-8")
    assert as_utf8(body, "iso-2022-jp").decode() == JAPANESE


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["unmarked", "marked"])
@pytest.mark.parametrize("encoding", ["utf-32le", "utf-32be"])
def test_M_C10_utf_32_is_recognised_by_its_mark_or_its_zeros(encoding, mark):
    body = f"{mark}<title>π, 今日は, 🌍</title>".encode(encoding)
    for label in ("text/html", "text/html; charset=utf-32", "text/html; charset=utf-8" if mark else None):
        found = charset_of(label, body)
        assert found[:2] == (encoding, "bom" if mark else "zeros")
        assert as_utf8(body, found.encoding).decode() == "<title>π, 今日は, 🌍</title>"


def test_utf_16_is_not_mistaken_for_utf_32():
    for text in ("<p>plain words", "今日は天気がいい", "a"):
        for codec in ("utf-16le", "utf-16be"):
            assert charset_of(None, f"\ufeff{text}".encode(codec)).encoding == codec


EBCDIC_PAGE = "<!DOCTYPE html>\n<title>Grüße [1]</title>\n<p>El niño corrió"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("IBM037", "cp037"),
        ("ebcdic-cp-us", "cp037"),
        ("cp500", "cp500"),
        ("ebcdic-cp-ch", "cp500"),
        ("ibm-273", "cp273"),
        ("IBM1026", "cp1026"),
        ("IBM01140", "cp1140"),
    ],
)
def test_M_C10_declared_ebcdic_is_read(label, codec):
    body = EBCDIC_PAGE.replace("\n", "\x85").encode(codec)  # EBCDIC lines end with NEL
    found = charset_of(f"text/html; charset={label}", body)
    assert found.how == "header"
    assert as_utf8(body, found.encoding).decode() == EBCDIC_PAGE


def test_M_C10_ebcdic_of_open_systems_is_read():
    body = "<p>a[0] ^ b".translate({ord("["): "\xdd", ord("]"): "\xa8", ord("^"): "\xac"}).encode("cp037")
    assert as_utf8(body, charset_of("text/html; charset=IBM-1047", body).encoding) == b"<p>a[0] ^ b"


def test_M_C10_ebcdic_is_read_when_an_xml_declaration_names_it():
    text = '<?xml version="1.0" encoding="ebcdic-cp-be"?><p>Ça et là</p>'
    body = text.encode("cp500")
    assert charset_of("text/xml", body)[:2] == ("ibm500", "meta")
    assert as_utf8(body, "ibm500").decode() == text


def test_declared_ebcdic_is_ignored_if_the_declaration_is_in_ascii():
    page = "<?xml version='1.0' encoding='IBM037'?><meta charset=cp500><p>größer".encode()
    assert charset_of("text/html; charset=IBM037", page)[:2] == ("utf-8", "utf-8")
    assert charset_of("text/html", page)[:2] == ("utf-8", "utf-8")


def test_M_C10_a_declared_dos_code_page_is_read():
    body = '<meta charset="IBM850"><p>schön'.encode("cp850")
    found = charset_of("text/html", body)
    assert found[:2] == ("ibm850", "meta") and as_utf8(body, found.encoding).decode().endswith("schön")


def test_M_C10_characters_missing_from_python_codecs_are_read():
    assert decode(b"<p>\xad\xa1\xb4\xc1\xfc\xfc</p>\xad", "euc-jp") == "<p>①漢￤</p>\ufffd"
    assert decode(b"\x1b$B\x2d\x21\x34\x41\x1b(B </p>", "iso-2022-jp") == "①漢 </p>"
    assert decode(b"\x1b(I\x36\x36\x1b(B \xe9", "iso-2022-jp") == "ｶｶ \ufffd"
    assert decode(b"\xa3\xe1 \x87\x7a \xa3\xff", "big5").startswith("€ 㡵 \ufffd")


def test_latin_words_are_not_mistaken_for_cyrillic():
    for text in ("Où étés: « été, dépêche, Zoë, naïve, garçon, à côté »", "Año señor mañana", "à où ça là: é"):
        assert charset_of(None, text.encode("cp1252")).encoding == "windows-1252"


def test_F_M3_utf_7_is_never_used():
    body = b"+ADw-script+AD4-alert(1)+ADw-/script+AD4-"
    for label in ("utf-7", "UTF7", "x-utf-7", "unicode-1-1-utf-7", "csUnicode11UTF7"):
        assert encoding_named(label) is None
        found = charset_of(f"text/html; charset={label}", b'<meta charset="%b">' % label.encode() + body)
        assert found.encoding == "utf-8"
        assert b"<script" not in as_utf8(body, found.encoding)


def test_F_M3_invalid_bytes_never_fail():
    assert decode(b"\xff\xfe\xfd", "utf-8") == "\ufffd\ufffd\ufffd"
    assert decode(b"\x81", "shift_jis") and decode(b"abc", "replacement") == "\ufffd"
    assert decode(b"\x80a", "x-user-defined") == "\uf780a"


def test_a_declaration_in_a_comment_an_attribute_or_another_tag_is_ignored():
    assert prescan(b'<!-- <meta charset="koi8-r"> --><meta charset="big5">') == "big5"
    assert prescan(b"<metacharset=koi8-r>") is None
    assert prescan(b'<p title="<meta charset=koi8-r>">') is None
    assert prescan(b'<meta http-equiv="Content-Type" content="text/html; charset=shift-jis">') == "shift_jis"
    assert prescan(b'<meta content="text/html; charset=koi8-r">') is None


def test_utf_16_declared_in_an_ascii_page_means_utf_8():
    assert prescan(b'<meta charset="utf-16">') == "utf-8"


def test_the_encoding_of_an_xml_declaration_is_used():
    assert prescan(b'<?xml version="1.0" encoding="windows-1251"?>') == "windows-1251"


def test_a_declaration_far_down_is_used_before_guessing():
    body = b"<p>" + b"x" * 3000 + b'<meta charset="iso-8859-2">\xb9'
    assert charset_of(None, body)[:2] == ("iso-8859-2", "meta")


def test_undeclared_utf_8_is_recognised_even_when_its_end_is_cut_off():
    assert charset_of(None, "grün".encode())[:2] == ("utf-8", "utf-8")
    assert is_utf8("üü".encode()[:3]) and is_utf8(b"plain") and not is_utf8(b"\xfcbel")


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-u"),  # KOI8-U has the same letters and the Ukrainian ones
        (RUSSIAN, "mac-cyrillic", "x-mac-cyrillic"),
        (RUSSIAN, "cp855", "ibm855"),
        (CHINESE, "big5", "big5"),
        (CHINESE.translate(SIMPLIFIED), "gb2312", "gb18030"),
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (CZECH, "cp1250", "windows-1250"),
        ("Der Fluß führt über die Höhen, schön und groß, für Köln und München.", "cp1252", "windows-1252"),
    ],
)
def test_undeclared_text_in_an_old_encoding_is_guessed_from_its_language(text, codec, encoding):
    assert charset_of("text/html", b"<p>" + text.encode(codec)) == (encoding, "guess", False)


def test_bytes_that_fit_no_other_encoding_are_windows_1252():
    found = charset_of(None, bytes(range(128, 256)) * 4)
    assert (found.encoding, found.how) == ("windows-1252", "guess")
    assert charset_of(None, b"caf\xe9").encoding == "windows-1252"
