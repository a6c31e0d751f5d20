"""R1 to R12: responses other than a robots.txt, and rules that are slow to evaluate."""

import asyncio
import gzip

from tests.hostile.behaviour import Request, Write, behaviour, makes, moved, page, reset_connection, sends, whole

TEXT = b"Content-Type: text/plain\r\n"
RULES = b"User-agent: *\nDisallow: /secret\n"


def _status(code: int, fields: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d Odd\r\n%sContent-Length: 0\r\n\r\n" % (code, fields)


for _code in (401, 403, 404, 410):
    sends(f"R1-status-{_code}", _status(_code), says=f"robots.txt: {_code}", on_robots=True)
sends("R2-429", _status(429, b"Retry-After: 2\r\n"), says="robots.txt: 429 with Retry-After", on_robots=True)
sends("R2-429-forever", _status(429, b"Retry-After: 1000000000000\r\n"), says="429 for 30,000 years", on_robots=True)
for _code in (500, 502, 503, 504):
    sends(f"R3-status-{_code}", _status(_code), says=f"robots.txt: {_code}", on_robots=True)


@behaviour("R4-silence", on_robots=True)
async def robots_silence(write: Write, request: Request) -> None:
    """robots.txt is never answered."""
    await asyncio.sleep(3600)


@behaviour("R4-trickle", on_robots=True)
async def robots_trickle(write: Write, request: Request) -> None:
    """robots.txt at one byte a second."""
    write.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n")
    while True:
        write.write(b"#")
        await write.drain()
        await asyncio.sleep(1)


@behaviour("R4-reset", on_robots=True)
async def robots_reset(write: Write, request: Request) -> None:
    """The connection is reset when robots.txt is requested."""
    reset_connection(write)


sends(
    "R4-cut-body",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9999\r\n\r\n" + RULES,
    says="robots.txt cut off in the middle",
    on_robots=True,
)
makes(
    "R5-ten-megabytes",
    lambda: RULES + b"Disallow: /secret/%d\n" % 7 * 500_000,
    "a robots.txt of ten megabytes",
    TEXT,
    on_robots=True,
)
makes("R5-one-line", lambda: RULES + b"Disallow: /" + b"x" * 1_000_000, "a line of a megabyte", TEXT, on_robots=True)


@behaviour("R5-endless", on_robots=True)
async def robots_endless(write: Write, request: Request) -> None:
    """An endless robots.txt."""
    write.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + RULES)
    while True:
        write.write(b"Disallow: /x\n" * 5_000)
        await write.drain()


makes(
    "R5-bomb",
    lambda: gzip.compress(RULES + b"Disallow: /secret\n" * 4_000_000),
    "a robots.txt of 72 MB in 100 kB of gzip",
    TEXT + b"Content-Encoding: gzip\r\n",
    on_robots=True,
)
sends("R6-bom", whole(b"\xef\xbb\xbf" + RULES, TEXT), says="a byte order mark before the rules", on_robots=True)
sends("R6-utf16", whole(RULES.decode().encode("utf-16"), TEXT), says="rules in UTF-16", on_robots=True)
sends("R6-carriage-returns", whole(RULES.replace(b"\n", b"\r"), TEXT), says="lines that end in CR", on_robots=True)
sends("R6-nuls", whole(RULES + b"\0" * 1000 + RULES, TEXT), says="NULs among the rules", on_robots=True)
sends("R6-html", page("Welcome", "/secret/2"), says="a page instead of robots.txt", on_robots=True)
sends("R7-loop", moved("/robots.txt"), says="robots.txt redirects to itself", on_robots=True)
sends("R7-private", moved("http://10.0.0.1/robots.txt"), says="robots.txt redirects to 10.0.0.1", on_robots=True)
sends(
    "R7-metadata",
    moved("http://169.254.169.254/latest/meta-data/"),
    says="robots.txt redirects to a metadata service",
    on_robots=True,
)
sends("R7-file", moved("file:///etc/passwd"), says="robots.txt redirects to file:", on_robots=True)
sends("R7-elsewhere", moved("http://r6-bom.test/robots.txt"), says="robots.txt is on another host", on_robots=True)
makes(
    "R8-wildcards",
    lambda: b"User-agent: *\n" + b"".join(b"Disallow: /%s%d$\n" % (b"*a" * 30, n) for n in range(5_000)),
    "thousands of rules of thirty wildcards",
    TEXT,
    on_robots=True,
)
makes(
    "R8-twenty-thousand-rules",
    lambda: b"User-agent: *\n" + b"".join(b"Allow: /a%d\n" % n for n in range(20_000)) + b"Disallow: /secret\n",
    "20,000 rules",
    TEXT,
    on_robots=True,
)
makes(
    "R8-agents",
    lambda: b"".join(b"User-agent: %d\n" % n for n in range(30_000)) + RULES,
    "30,000 agents in one group",
    TEXT,
    on_robots=True,
)


@behaviour("R10-changing", on_robots=True)
async def robots_changing(write: Write, request: Request) -> None:
    """Different rules each time."""
    write.write(whole(RULES if request.times % 2 else b"User-agent: *\nAllow: /\n", TEXT))


for _delay in (b"0.001", b"-1", b"1e9", b"NaN"):
    sends(
        f"R11-delay-{_delay.decode().replace('.', '-').replace('--', '-minus-')}",
        whole(RULES + b"Crawl-delay: %s\n" % _delay, TEXT),
        says=f"Crawl-delay: {_delay.decode()}",
        on_robots=True,
    )
sends(
    "R12-noindex",
    whole(
        b"<title>x</title><a href=/never>x</a>",
        b"X-Robots-Tag: noindex, nofollow\r\nX-Robots-Tag: " + b"a: " * 500 + b"\r\n",
    ),
    says="X-Robots-Tag: noindex, nofollow, and one with 500 agents",
)
sends(
    "R12-meta",
    page("Not for you", "/never", head='<meta name=robots content="' + "noindex,nofollow," * 2_000 + '">'),
    says="meta robots with thousands of directives",
)
