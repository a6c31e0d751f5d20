"""D1 to D12: names, links and redirects that lead to forbidden IP addresses."""

from tests.hostile.behaviour import Behaviour, Request, Write, add, behaviour, moved, page, sending, sends, whole
from tests.hostile.names import NXDOMAIN, SERVFAIL, Reply
from tests.hostile.special import ADDRESSES, CODES, LOOPBACKS, NAMES, NO_ADDRESSES, written

METADATA = "http://169.254.169.254/latest/meta-data/"
PUBLIC = "20.200.0.1"
"""An IP address of the plan at which the hostile server answers, for names with several."""


def resolves(name: str, *replies: Reply, says: str) -> None:
    """A behaviour of the name server; the host itself is ordinary."""
    add(Behaviour(name, sending([page("Public after all")], says), replies=replies))


# D1: name servers

resolves("D1-absent", Reply(code=NXDOMAIN), says="a name that does not exist")
resolves("D1-servfail", Reply(code=SERVFAIL), says="a name whose server fails")
resolves("D1-silence", Reply(is_silent=True), says="a name server that does not answer")
resolves("D1-garbage", Reply(is_garbage=True), says="a name server that answers with garbage")
resolves("D1-empty", Reply(), says="a name without IP addresses")
resolves("D1-twenty-aliases", Reply((PUBLIC,), aliases=20), says="twenty aliases before the IP address")
resolves("D1-alias-loop", Reply(aliases=5, is_loop=True), says="a loop of aliases")
resolves(
    "D1-thousand-addresses",
    Reply(tuple(f"20.200.{n >> 8}.{n & 255}" for n in range(1000))),
    says="a thousand IP addresses, most of which do not answer",
)

# D2, D4, D5: names that resolve to forbidden IP addresses

for _label, _address in {
    "loopback": "127.0.0.1",
    "private": "10.0.0.1",
    "metadata": "169.254.169.254",
    "carrier": "100.100.100.200",
    "this-network": "0.0.0.0",
    "broadcast": "255.255.255.255",
    "v6-loopback": "::1",
    "v6-metadata": "fd00:ec2::254",
    "v6-mapped": "::ffff:127.0.0.1",
    "v6-nat64": "64:ff9b::7f00:1",
    "v6-6to4": "2002:7f00:1::",
}.items():
    resolves(f"D2-name-{_label}", Reply((_address,)), says=f"a name that resolves to {_address}")
resolves("D4-public-and-private", Reply((PUBLIC, "10.0.0.1")), says="a public IP address and a private one")
resolves("D4-public-and-v6-private", Reply((PUBLIC, "fd00::1")), says="a public IP address and a private IPv6 one")
resolves(
    "D5-rebinding",
    Reply((PUBLIC,), ttl_s=0),
    Reply(("127.0.0.1",), ttl_s=0),
    says="public when it is checked, private when it is connected to",
)
resolves(
    "D5-rebinding-back",
    *(Reply((PUBLIC if turn % 2 == 0 else "10.0.0.1",), ttl_s=0) for turn in range(50)),
    says="public and private, alternating",
)
sends("D2-links", page("Inside", *map(written, ADDRESSES)), says="links to every special IP address")
sends("D3-spellings", page("Spelled", *LOOPBACKS, *NAMES), says="links to every spelling of this machine")

# D6: redirects, refreshes and other references to them

for _code in CODES:
    sends(f"D6-redirect-{_code}", moved(METADATA, _code), says=f"{_code} to a metadata service")


@behaviour("D6-tenth-hop")
async def tenth_hop(write: Write, request: Request) -> None:
    """A redirect to a private IP address at the ninth hop."""
    at = int(request.target.strip("/") or 0)
    write.write(moved(f"/{at + 1}" if at < 8 else "http://192.168.0.1/"))


sends("D6-refresh-header", whole(b"<p>wait", b"Refresh: 0; url=" + METADATA.encode() + b"\r\n"), says="a Refresh field")
sends(
    "D6-meta-refresh",
    page("Wait", head=f'<meta http-equiv=refresh content="0; url={METADATA}">'),
    says="meta refresh to a metadata service",
)
sends(
    "D6-canonical",
    page("Same", head=f'<link rel=canonical href="{METADATA}">'),
    says="a canonical URL at a private IP address",
)
sends(
    "D6-link-fields",
    whole(b"<p>linked", b"".join(b'Link: <%s>; rel="next"\r\n' % written(one).encode() for one in ADDRESSES[:40])),
    says="Link fields to special IP addresses",
)
sends(
    "D6-content-location",
    whole(b"<a href=relative>x</a>", b"Content-Location: http://127.0.0.1/\r\n"),
    says="a Content-Location at a private IP address",
)
for _other in ("file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_x", "data:,x"):
    sends(f"D7-redirect-{_other.partition(':')[0]}", moved(_other), says=f"a redirect to {_other}")
sends("D7-links", page("Schemes", *NO_ADDRESSES), says="links to other schemes")
sends(
    "D8-confusing",
    page(
        "Who is it?",
        "http://d8-confusing.test@127.0.0.1/",
        "http://127.0.0.1#@d8-confusing.test/",
        "http:\\\\127.0.0.1\\x",
        "http://127.0.0.1\t/",
        "http://d8-confusing.test\\@127.0.0.1/",
        "//127.0.0.1/",
        "http:127.0.0.1",
        "http://[::1]/",
        "http://[::ffff:7f00:1]:80/",
    ),
    says="URLs that two parsers read differently",
)
for _port in (22, 25, 6379, 11211):
    sends(f"D9-port-{_port}", moved(f"http://h7-two-layers.test:{_port}/"), says=f"a redirect to port {_port}")
sends(
    "D9-links",
    page("Ports", *(f"http://h7-two-layers.test:{port}/" for port in (0, 21, 23, 53, 110, 5432, 27017))),
    says="links to ports of other services",
)
sends(
    "D10-everything",
    page(
        "Fetch me",
        head="".join(
            f'<link rel="{rel}" href="{METADATA}{rel}">'
            for rel in [
                "icon",
                "stylesheet",
                "preload",
                "prefetch",
                "preconnect",
                "dns-prefetch",
                "manifest",
                "alternate",
                "search",
                "next",
            ]
        )
        + f'<script src="{METADATA}"></script><script type=application/ld+json>{{"@context":"{METADATA}"}}</script>'
        + f'<img src="{METADATA}"><iframe src="{METADATA}"></iframe><object data="{METADATA}"></object>',
    ),
    says="every element that makes a browser fetch something",
)
sends(
    "D12-many-hosts",
    page("Elsewhere", *(f"http://d12-{number}.nowhere.test/" for number in range(400))),
    says="links to 400 hosts that do not exist",
)
sends(
    "D12-names-at-limits",
    page(
        "Long names",
        "http://" + "a" * 63 + ".test/",
        "http://" + "a" * 64 + ".test/",
        "http://" + "a." * 126 + "test/",
        "http://" + "a." * 200 + "test/",
        "http://xn--zzzzzz.test/",
        "http://_x_.test/",
        "http://-.test/",
        "http://a..b.test/",
        "http://*.test/",
    ),
    says="host names at the limits and beyond",
)
