"""Which URLs are one: parameters stripped from every link, and the key under which a URL is known.

A `Url` is already in WHATWG form. Two further steps (described in docs/formats.md):

- `stripped` removes what never selects content: session ids and tracking parameters. It is applied to every link
  before it is offered, so they are never fetched.
- `identity_of` folds spellings that servers treat alike. It is only a key: the URL is fetched as it was written.

Both are idempotent, and cost next to nothing for plain URLs.
"""

import re

from gossamer.values.url import Url, url_of

# Parameters that advertisers, mailers and social networks add to links. Only names that never select content anywhere:
# `ref`, `source`, `cid`, `campaign` and `si` do so somewhere, and are left alone.
_TRACKING = (
    "gclid dclid gbraid wbraid gclsrc gad_source gad_campaignid srsltid _ga _gl "  # Google
    "fbclid fb_action_ids fb_action_types fb_source fb_ref igshid igsh "  # Meta
    "msclkid yclid ymclid ysclid _openstat "  # Microsoft, Yandex
    "twclid ref_src ttclid li_fat_id rdt_cid epik sccid "  # Twitter, TikTok, LinkedIn, Reddit, Pinterest, Snapchat
    "mc_cid mc_eid mkt_tok _hsenc _hsmi __hssc __hstc __hsfp hsctatracking "  # Mailchimp, Marketo, HubSpot
    "vero_id vero_conv oly_anon_id oly_enc_id _kx s_kwcid ml_subscriber ml_subscriber_hash ck_subscriber_id "
    "dicbo tblci irclickid rb_clickid wickedid guccounter guce_referrer guce_referrer_sig "
    "pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid"  # Piwik
)
TRACKING = frozenset(_TRACKING.split())
TRACKING_STARTS = ("utm_", "mtm_", "matomo_", "piwik_", "hsa_", "itm_")

# Session ids. The first set are names given by frameworks; the others are words that may also select content (the
# sessions of a conference), and count only if their value looks random.
_SESSION = "jsessionid phpsessid cftoken oscsid zenid bv_sessionid bv_engineid"
SESSION = frozenset(_SESSION.split())
SESSION_START = "aspsessionid"
_MAYBE_SESSION = "sid _sid session sessionid session_id _sessionid sessid sess_id phpsid cfid"
MAYBE_SESSION = frozenset(_MAYBE_SESSION.split())
_NAMES = TRACKING | SESSION | MAYBE_SESSION
_STARTS = re.compile(f"(?:^|&)(?:{'|'.join(TRACKING_STARTS)})")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RANDOM = re.compile(
    r"(?:[0-9a-f]{32}"  # what most frameworks generate
    rf"|(?=\d*[a-z])(?:(?=[a-z]*\d)[0-9a-f]{{16,}}|(?=(?:[a-z$]*\d){{3}})[0-9a-z$]{{20,}}|{_UUID}))\Z",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{5,}\Z")

_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|aspsessionid[a-z]*)=[^/?&;]*", re.IGNORECASE)
# ASP.NET without cookies: one segment that holds the ticket, (S(...)), (A(...)S(...)F(...)), or plain (24 characters).
_TICKET = re.compile(r"/\((?:(?:[AFSX]\([0-9a-z_-]+\))+|(?=[a-z]*\d)[a-z0-5]{24})\)(?=/)", re.IGNORECASE)

_ESCAPE = re.compile(r"%(?:([0-9A-Fa-f]{2})|)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = {f"{ord(c):02X}": c for c in _UNRESERVED}

_INDEX_KINDS = "html htm xhtml shtml php php3 php4 php5 phtml asp aspx jsp jspx jspa jsf cfm cgi"
_DEFAULT_KINDS = "html htm asp aspx php php3"
DEFAULT_DOCUMENTS = frozenset(
    [f"index.{kind}" for kind in _INDEX_KINDS.split()]
    + [f"default.{kind}" for kind in _DEFAULT_KINDS.split()]
    + ["home.html", "home.htm"]
)
"""What servers send for a folder. Compared without regard to case."""
_INITIALS = "iIdDhH"


def may_be_marked(text: str) -> bool:
    """Whether there may be anything to strip; also for several URLs at once, separated by spaces."""
    return "?" in text or ";" in text or "/(" in text


def stripped(url: Url) -> Url:
    """The URL without session ids and tracking parameters; the rest and its order are unchanged."""
    text = url.text
    if not may_be_marked(text):
        return url
    plain = _without_marks(text)
    return url if plain is text else Url(plain)


def identity_of(text: str) -> str:
    """The key of a URL. Two URLs with the same key are one page. REQUIRES: the text of a `Url`.

    Beyond `stripped`: escapes of unreserved characters undone and others in upper case (RFC 3986, 6.2.2), empty
    parameters and an empty query dropped, and a default document folded into its folder when there is no query.
    """
    if "%" in text:
        text = _ESCAPE.sub(_escaped, text)
    if "?" in text or ";" in text or "/(" in text:  # `may_be_marked`, inlined: this runs for every link
        text = _without_marks(text)
        path, _, query = text.partition("?")
        if query and (query[0] == "&" or query[-1] == "&" or "&&" in query):
            query = "&".join([pair for pair in query.split("&") if pair])
            text = f"{path}?{query}"
        if query:
            return text
        text = path
    cut = text.rfind("/") + 1
    if text[cut:][:1] not in _INITIALS or text[cut:].lower() not in DEFAULT_DOCUMENTS:
        return text
    return text[:cut]


def _without_marks(text: str) -> str:
    """Returns the same object if there are none."""
    before = text
    if ";" in text and _IN_PATH.search(text):
        text = _IN_PATH.sub("", text)
    if "/(" in text:
        path, mark, query = text.partition("?")
        if _TICKET.search(path):
            text = _TICKET.sub("", path) + mark + query
    if text is not before and ("/." in text or "/%2" in text):  # a dot segment is no longer hidden by a session id
        text = _again(text)
    path, mark, query = text.partition("?")
    if not query:
        return path if mark and text is not before else text
    if _is_clean(query.lower()):
        return text
    kept = "&".join([pair for pair in query.split("&") if not _is_mark(pair)])
    return f"{path}?{kept}" if kept else path


def _is_clean(query: str) -> bool:
    """Whether no parameter can be a session id or tracking: a quick check that nearly every query passes."""
    if not _NAMES.isdisjoint([pair.partition("=")[0] for pair in query.split("&")]):
        return False
    return SESSION_START not in query and ("_" not in query or _STARTS.search(query) is None)


def _again(text: str) -> str:
    url = url_of(text)
    return text if url is None else url.text


def _is_mark(pair: str) -> bool:
    name, _, value = pair.partition("=")
    name = name.lower()
    if name in TRACKING or name in SESSION or name.startswith(TRACKING_STARTS):
        return True
    if name in MAYBE_SESSION:
        return _RANDOM.match(value) is not None or (name == "cfid" and _NUMBER.match(value) is not None)
    return name.startswith(SESSION_START)


def _escaped(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return "%25"  # a percent sign that is not an escape
    digits = digits.upper()
    return _PLAIN.get(digits) or "%" + digits
