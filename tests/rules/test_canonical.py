"""Canonical URLs: parameters that are removed, spellings that are unified, and forms that are idempotent."""

import os
import string

import ada_url
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.rules.canonical import identity_of, stripped
from gossamer.values.url import LONGEST_URL, Url, url_of

EXAMPLES = int(os.environ.get("ADDRESS_EXAMPLES", "600"))  # `make addresses` asks for 100,000
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

TOKEN = "0123456789abcdef0123456789abcdef"
TICKET = "(S(4hqa0555fwsecu455xqckv45))"


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (f"http://a.test/x;jsessionid={TOKEN}", "http://a.test/x"),
        (f"http://a.test/x;JSESSIONID={TOKEN}.node1?y=1", "http://a.test/x?y=1"),
        ("http://a.test/x;jsessionid=1;v=2/y", "http://a.test/x;v=2/y"),
        (f"http://a.test/x?a=1&b=2;jsessionid={TOKEN}", "http://a.test/x?a=1&b=2"),
        (f"http://a.test/?PHPSESSID={TOKEN}", "http://a.test/"),
        (f"http://a.test/?a=1&phpsessid={TOKEN}&b=2", "http://a.test/?a=1&b=2"),
        (f"http://a.test/?a=1&sid={TOKEN}", "http://a.test/?a=1"),
        ("http://a.test/?a=1&session_id=123e4567-e89b-12d3-a456-426614174000", "http://a.test/?a=1"),
        ("http://a.test/?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM&a=1", "http://a.test/?a=1"),
        ("http://a.test/?CFID=12412453&CFTOKEN=15501799&a=1", "http://a.test/?a=1"),
        (f"http://a.test/{TICKET}/m.aspx?p=1", "http://a.test/m.aspx?p=1"),
        (f"http://a.test/x/{TICKET}/{TICKET}/m.aspx", "http://a.test/x/m.aspx"),
        ("http://a.test/(4hqa0555fwsecu455xqckv45)/m.aspx", "http://a.test/m.aspx"),
        ("http://a.test/?utm_source=x&utm_medium=y&q=1&gclid=z", "http://a.test/?q=1"),
        ("http://a.test/?Utm_Campaign=x", "http://a.test/"),
        ("http://a.test/?fbclid=1&mc_eid=2&mc_cid=3&msclkid=4&yclid=5&igshid=6&_ga=7&ref_src=8", "http://a.test/"),
        ("http://a.test/a/..;jsessionid=1/b", "http://a.test/b"),
    ],
)
def test_F_U5_session_ids_and_tracking_parameters_are_removed(given: str, plain: str) -> None:
    assert stripped(Url(given)) == Url(plain)


@pytest.mark.parametrize(
    "text",
    [
        "http://a.test/?sid=12",
        "http://a.test/?sid=1234567890123456789",
        "http://a.test/?sessionid=keynote",
        "http://a.test/?session=2024-opening-ceremony-a",
        "http://a.test/?b=2&a=1&&b=",
        "http://a.test/x?",
        "http://a.test/x;v=1.2?a;b",
        "http://a.test/(draft)/x",
        "http://a.test/wiki/Set_(S(n))",
        "http://a.test/?ref=1&source=2&campaign=3&cid=4&id=5",
        "http://a.test/?q=utm_source",
        "http://a.test/utm_source=1/index.html",
        "http://a.test/?x=jsessionid",
        "http://a.test/?cfid=7",
    ],
)
def test_parts_that_may_select_content_are_kept(text: str) -> None:
    assert stripped(Url(text)) == Url(text)


def test_F_U5_a_thousand_variants_are_one_url() -> None:
    shapes = ["x;jsessionid={0:032X}", "x?PHPSESSID={0:032x}", "x?utm_source=s{0}", "x?sid={0:032x}", "x?fbclid=f{0}"]
    texts = [f"http://a.test/{shape.format(number)}" for number in range(200) for shape in shapes]
    assert {stripped(Url(text)).text for text in texts} == {"http://a.test/x"}
    assert len(set(texts)) == 1000


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("http://a.test/index.html", "http://a.test/"),
        ("http://a.test/x/Index.HTM", "http://a.test/x/"),
        ("http://a.test/x/default.aspx", "http://a.test/x/"),
        ("http://a.test/index.php?", "http://a.test/"),
        ("http://a.test/index.php?utm_source=1", "http://a.test/"),
        ("http://a.test/index.php;jsessionid=1", "http://a.test/"),
        ("http://a.test/index.php?id=1", "http://a.test/index.php?id=1"),
        ("http://a.test/myindex.html", "http://a.test/myindex.html"),
        ("http://a.test/index.html/x", "http://a.test/index.html/x"),
        ("http://a.test/index.pdf", "http://a.test/index.pdf"),
        ("http://a.test/x?", "http://a.test/x"),
        ("http://a.test/x?r?", "http://a.test/x?r?"),
        ("http://a.test/x?&&a=1&&b=2&", "http://a.test/x?a=1&b=2"),
        ("http://a.test/%7euser/%41%2fb%c3%a4", "http://a.test/~user/A%2Fb%C3%A4"),
        ("http://a.test/100%", "http://a.test/100%25"),
        ("http://a.test/%%36%31", "http://a.test/%2561"),
        ("http://a.test/%69ndex.html", "http://a.test/"),
        ("http://a.test/?%75tm_source=1", "http://a.test/"),
        ("http://a.test/A?B=c+d", "http://a.test/A?B=c+d"),
    ],
)
def test_spellings_that_servers_treat_alike_have_one_key(text: str, key: str) -> None:
    assert identity_of(text) == key


def test_other_hosts_schemes_and_parameter_orders_have_different_keys() -> None:
    texts = [
        "http://a.test/?a=1&b=2",
        "http://a.test/?b=2&a=1",
        "https://a.test/?a=1&b=2",
        "http://www.a.test/?a=1&b=2",
    ]
    assert len({identity_of(text) for text in texts}) == 4


ODD = (
    "/ // . .. /. /.. %2e ; ? & = # % %4 %41 %7e %2f %00 %ff + ( ) (S( )) @ : [ ] \\ é 日 ß İ \u200d \ud800 \t \n"
    " ;jsessionid= jsessionid= phpsessid= sid= utm_source= gclid aspsessionid CFID= &&  index.html default.asp home.htm"
    " 0123456789abcdef0 (S(abc123)) (4hqa0555fwsecu455xqckv45) xn--a xn-- www a.test"
)
PIECES = st.sampled_from(ODD.split(" "))
TAILS = st.lists(st.one_of(PIECES, st.text(string.printable, max_size=6), st.text(max_size=3)), max_size=12).map(
    "".join
)
HOSTS = st.sampled_from(
    [
        "a.test",
        "A.Test.",
        "user:secret@a.test",
        "a.test:80",
        "bücher.test",
        "0x7f.1",
        "[::1]:8080",
        "xn--a.test",
        "%61.test",
    ]
)
TEXTS = st.builds("{}://{}/{}".format, st.sampled_from(["http", "HTTPS"]), HOSTS, TAILS)


@many
@given(TEXTS)
def test_F_U2_canonical_forms_are_idempotent_and_agree_with_the_standard(text: str) -> None:
    """`Url` is WHATWG's form without user, password, fragment and final dot; normalizing it again changes nothing."""
    url = url_of(text)
    if url is None:
        return
    assert url.text.isascii() and len(url.text) <= LONGEST_URL
    assert url_of(url.text) == url and ada_url.normalize_url(url.text) == url.text
    whole = ada_url.URL(text)
    assert url.target in (whole.pathname + whole.search, whole.pathname + "?") and url.scheme + ":" == whole.protocol
    plain = stripped(url)
    assert stripped(plain) == plain and url_of(plain.text) == plain and plain.host == url.host
    key = identity_of(url.text)
    assert identity_of(key) == key == identity_of(plain.text)
    assert url_of(key) == Url(key)


@many
@given(TEXTS)
def test_F_U2_stripping_only_removes_characters(text: str) -> None:
    """The characters of a stripped URL were all in the URL, in that order."""
    url = url_of(text)
    if url is None or "/." in url.text:
        return
    rest = iter(url.text)
    assert all(character in rest for character in stripped(url).text)


_TRACKED = (
    "gclid dclid gbraid wbraid gclsrc gad_source gad_campaignid srsltid _ga _gl fbclid fb_action_ids "
    "fb_action_types fb_source fb_ref igshid igsh msclkid yclid ymclid ysclid _openstat twclid ref_src ttclid "
    "li_fat_id rdt_cid epik sccid mc_cid mc_eid mkt_tok _hsenc _hsmi __hssc __hstc __hsfp hsctatracking "
    "vero_id vero_conv oly_anon_id oly_enc_id _kx s_kwcid ml_subscriber ml_subscriber_hash ck_subscriber_id "
    "dicbo tblci irclickid rb_clickid wickedid guccounter guce_referrer guce_referrer_sig pk_campaign pk_kwd "
    "pk_keyword pk_source pk_medium pk_content pk_cid utm_x mtm_x matomo_x piwik_x hsa_x itm_x jsessionid "
    "phpsessid cftoken oscsid zenid bv_sessionid bv_engineid aspsessionidabc"
)
TRACKED = _TRACKED.split()


SESSIONS = "sid _sid session sessionid session_id _sessionid sessid sess_id phpsid"


@pytest.mark.parametrize("name", TRACKED)
def test_F_U5_each_parameter_of_advertisers_and_frameworks_is_removed_in_any_case(name: str) -> None:
    for spelling in (name, name.upper()):
        for query, plain in (
            (f"{spelling}=1", ""), (f"a=1&{spelling}=1", "?a=1"), (f"{spelling}&b=2", "?b=2"),
            (f"a=1&{spelling}=x&b=2", "?a=1&b=2"),
        ):  # fmt: skip
            assert stripped(Url(f"http://a.test/x?{query}")).text == f"http://a.test/x{plain}", query
    if not name.startswith(("utm_", "mtm_", "matomo_", "piwik_", "hsa_", "itm_", "aspsessionid")):
        longer = f"http://a.test/?x{name}=1&{name}x=1"
        assert stripped(Url(longer)).text == longer, "a longer name is another parameter"


@pytest.mark.parametrize("name", SESSIONS.split())
@pytest.mark.parametrize(
    ("value", "is_random"),
    [
        ("0123456789abcdef" * 2, True), ("A" * 32, True), ("0123456789abcdef" * 2 + "0", True), ("a" * 16, False),
        ("0123456789abcde" + "f", True), ("0123456789abcde", False), ("1234567890123456", False),
        ("abcdefghijklmnopq123", True), ("abcdefghijklmnopq12", False), ("abcdefghijklmnopqr12", False),
        ("abc$efghijklmnopq123", True), ("123e4567-e89b-12d3-a456-426614174000", True),
        ("123e4567-e89b-12d3-a456-42661417400", False), ("keynote", False), ("", False), ("0123456789abcdef.", False),
    ],
)  # fmt: skip
def test_a_parameter_that_may_be_a_session_id_is_removed_if_its_value_looks_random(
    name: str, value: str, is_random: bool
) -> None:
    text = f"http://a.test/?a=1&{name}={value}"
    assert (stripped(Url(text)).text == "http://a.test/?a=1") is is_random


@pytest.mark.parametrize(("value", "is_session"), [("12345", True), ("1234", False), ("12345x", False)])
def test_a_number_of_five_digits_is_a_session_id_for_coldfusion_only(value: str, is_session: bool) -> None:
    assert (stripped(Url(f"http://a.test/?CFID={value}")).text == "http://a.test/") is is_session
    assert stripped(Url(f"http://a.test/?sid={value}")).text == f"http://a.test/?sid={value}"


KINDS = "html htm xhtml shtml php php3 php4 php5 phtml asp aspx jsp jspx jspa jsf cfm cgi"
DEFAULT_KINDS = "html htm asp aspx php php3"
DOCUMENTS = [
    *(f"index.{kind}" for kind in KINDS.split()), *(f"default.{kind}" for kind in DEFAULT_KINDS.split()),
    "home.html", "home.htm",
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_default_document_has_the_key_of_its_folder_unless_it_has_a_query(name: str) -> None:
    for spelling in (name, name.upper(), name.title()):
        assert identity_of(f"http://a.test/x/{spelling}") == "http://a.test/x/"
        assert identity_of(f"http://a.test/x/{spelling}?") == "http://a.test/x/"
        assert identity_of(f"http://a.test/x/{spelling}?a=1") == f"http://a.test/x/{spelling}?a=1"
    for other in (f"x{name}", f"{name}y", name.replace(".", "")):
        assert identity_of(f"http://a.test/{other}") == f"http://a.test/{other}"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("http://a.test/x;jsessionid=1?b", "http://a.test/x?b"),
        ("http://a.test/x;phpsessid=1/y;PHPSESSID=2", "http://a.test/x/y"),
        ("http://a.test/x;aspsessionidXYZ=1", "http://a.test/x"),
        ("http://a.test/x;sid=1", "http://a.test/x;sid=1"),
        ("http://a.test/x;jsessionid", "http://a.test/x;jsessionid"),
        ("http://a.test/(A(abc)S(def)F(ghi)X(-_))/y", "http://a.test/y"),
        ("http://a.test/(S(abc))", "http://a.test/(S(abc))"),
        ("http://a.test/x?y=/(S(abc))/z", "http://a.test/x?y=/(S(abc))/z"),
        ("http://a.test/(S(abc))/x?y=/(S(abc))/z", "http://a.test/x?y=/(S(abc))/z"),
        ("http://a.test/(B(abc))/y", "http://a.test/(B(abc))/y"),
        ("http://a.test/(abcdefghijklmnopqrstuvwx)/y", "http://a.test/(abcdefghijklmnopqrstuvwx)/y"),
        ("http://a.test/(abcdefghijklmnopqrstuvw0)/y", "http://a.test/y"),
        ("http://a.test/(abcdefghijklmnopqrstuv0)/y", "http://a.test/(abcdefghijklmnopqrstuv0)/y"),
        ("http://a.test/(abcdefghijklmnopqrstuvw9)/y", "http://a.test/(abcdefghijklmnopqrstuvw9)/y"),
        ("http://a.test/a/b/..;jsessionid=1/c", "http://a.test/a/c"),
        ("http://a.test/?jsessionid=1&", "http://a.test/"),
        ("http://a.test/??jsessionid=1", "http://a.test/??jsessionid=1"),
    ],
)
def test_session_ids_in_paths_are_removed_and_lookalikes_are_kept(text: str, plain: str) -> None:
    assert stripped(Url(text)).text == plain
    assert stripped(Url(plain)).text == plain


@pytest.mark.parametrize("code", range(0x80))
def test_keys_decode_escapes_of_unreserved_characters_and_write_others_in_capitals(code: int) -> None:
    character = chr(code)
    is_plain = character.isalnum() or character in "-._~"
    key = f"http://a.test/x{character if is_plain else f'%{code:02X}'}y"
    assert identity_of(f"http://a.test/x%{code:02X}y") == identity_of(f"http://a.test/x%{code:02x}y") == key
