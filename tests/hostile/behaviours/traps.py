"""U1 to U9: endless sites, and URLs made to multiply."""

import random

from tests.hostile.behaviour import Request, Write, behaviour, makes, page, sends, whole

STOCK = ["the", "a", "of", "with", "and", "for", "small", "large", "made", "by", "hand", "in", "wood", "glass", "old"]


def prose(*names: object, words: int = 60) -> str:
    """A text like real prose, always the same for the same names: half of its words are common ones."""
    chance = random.Random(repr(names))
    own = ("".join(chance.choices("aeioulmnrstkp", k=6)) for _ in range(words))
    return " ".join(word if chance.random() < 0.5 else chance.choice(STOCK) for word in own)


def _number(target: str) -> int:
    return int("0" + "".join(filter(str.isdecimal, target))[-9:])


makes(
    "U1-long-addresses",
    lambda: b"".join(b'<a href="/%s">x</a>' % (bytes([97 + n]) * 100_000) for n in range(20)),
    "URLs of 100 kB",
)
makes("U1-million-links", lambda: b"".join(b"<a href=/%d>x" % n for n in range(1_000_000)), "a million links on a page")
sends(
    "U2-odd-characters",
    page(
        "Odd",
        *"/\x01\x02 /%zz /%c0%af..%c0%af /%ff%fe /\ud83d%20 /a\tb /%00 /? /?? /;;; /%2525252525 /a|b^c`d{e}".encode(
            "utf-8", "replace"
        )
        .decode()
        .split(" "),
        "/a b c",
        "/" + "%25" * 2_000,
    ),
    says="controls, bad escapes and overlong UTF-8 in links",
)
sends(
    "U3-spellings",
    page(
        "One page",
        "/a",
        "/A/../a",
        "/./a",
        "/%61",
        "/a#x",
        "/b/%2e%2e/a",
        "//U3-Spellings.TEST:80/a",
        "http://u3-spellings.test./a",
        "/a?",
        "HTTP://u3-spellings.test/a",
    ),
    says="one page under ten spellings",
)
sends(
    "U4-odd-names",
    page(
        "Names", "http://xn--0.test/", "http://раураl.test/", f"http://{'ü' * 3000}.test/", "http://xn--" + "a" * 5000
    ),
    says="bad punycode, homographs and endless labels",
)


@behaviour("U5-sessions")
async def sessions(write: Write, request: Request) -> None:
    """Every link carries a new session id."""
    chance = random.Random(request.target + str(request.times))
    path = request.target.partition(";")[0].partition("?")[0]
    links = [f"/p{n};jsessionid={chance.getrandbits(80):x}" for n in range(5)]
    links += [f"/p{n}?zq={chance.getrandbits(80):x}&PHPSESSID={chance.getrandbits(64):x}" for n in range(5)]
    write.write(page(f"Page {path}", *links, body=prose(path)))


@behaviour("U6-calendar")
async def calendar(write: Write, request: Request) -> None:
    """A day for every number, and a link to the next."""
    at = _number(request.target)
    write.write(page(f"Day {at}", f"/day/{at + 1}", f"/day/{max(0, at - 1)}", f"/day/{at + 30}", body="no events"))


@behaviour("U6-facets")
async def facets(write: Write, request: Request) -> None:
    """Every combination of twenty filters."""
    chosen = set(request.target.partition("?")[2].split("&")) - {""}
    links = ["/?" + "&".join(sorted(chosen ^ {f"f{n}=1"})) for n in range(20)]
    write.write(page("Shop", *links, body=prose("shop")))


@behaviour("U6-random-pages")
async def random_pages(write: Write, request: Request) -> None:
    """Each page links to ten new ones, with different words."""
    chance = random.Random(request.target)
    write.write(
        page(f"On {request.target}", *(f"/{chance.getrandbits(50):x}" for _ in range(10)), body=prose(request.target))
    )


@behaviour("U6-subdomains", hosts=("*.u6-subdomains.test",))
async def subdomains(write: Write, request: Request) -> None:
    """Each page links to ten new hosts."""
    chance = random.Random(request.host)
    links = [f"http://x{chance.getrandbits(40):x}.u6-subdomains.test/" for _ in range(10)]
    write.write(page("Welcome", *links, body="Welcome to the best place of all for everything you may want to find"))


@behaviour("U7-growing")
async def growing(write: Write, request: Request) -> None:
    """Relative links that make the path longer each time."""
    write.write(page("Deeper", "a/b/", "c/", f"{request.target}?from={request.target}", body=prose(request.target)))


@behaviour("U7-repeating")
async def repeating(write: Write, request: Request) -> None:
    """The URL is a parameter of the URL that it links to."""
    quoted = request.target.replace("%", "%25").replace("/", "%2F").replace("?", "%3F")
    write.write(page("Log in", f"/login?back={quoted}", body=prose(request.target)))


@behaviour("U7-canonical-loop")
async def canonical_loop(write: Write, request: Request) -> None:
    """Two pages that each name the other as canonical."""
    other = "/b" if request.target == "/a" else "/a"
    write.write(page("Twin", other, head=f'<link rel=canonical href="{other}">', body=prose(request.target)))


@behaviour("U8-soft-404")
async def soft_404(write: Write, request: Request) -> None:
    """Missing pages are answered with 200."""
    if request.target == "/":
        write.write(page("Start", *(f"/lost/{n}" for n in range(40))))
    else:
        write.write(page("Page not found", body="Sorry, the page that you are looking for does not exist."))


sends(
    "U9-passwords",
    page("Log in", "http://user:secret@u9-passwords.test/x", "//user:secret@u9-passwords.test/y"),
    says="links with passwords",
)


@behaviour("H17-virtual-hosts", hosts=tuple(f"v{n}.h17-virtual-hosts.test" for n in range(50)))
async def virtual_hosts(write: Write, request: Request) -> None:
    """Fifty hosts at one IP address."""
    links = (
        [f"http://v{n}.h17-virtual-hosts.test/" for n in range(50)] if request.host.startswith("h17") else ["/1", "/2"]
    )
    write.write(page(request.host, *links, body=prose(request.host, request.target)))


@behaviour("U6-meta-refresh")
async def meta_refresh(write: Write, request: Request) -> None:
    """Each page refreshes to a new one."""
    at = _number(request.target)
    write.write(page(f"Wait {at}", head=f'<meta http-equiv=refresh content="0; url=/{at + 1}">', body=prose("wait")))


@behaviour("U6-refresh-field")
async def refresh_field(write: Write, request: Request) -> None:
    """Each response has a Refresh field with a new URL."""
    write.write(whole(prose("wait").encode(), b"Refresh: 0; url=/%d\r\n" % (_number(request.target) + 1)))


@behaviour("U6-pagination")
async def pagination(write: Write, request: Request) -> None:
    """Endless rel=next, in the markup and in Link fields."""
    at = _number(request.target)
    body = b"<title>%d</title><link rel=next href=/p/%d><p>%s" % (at, at + 1, prose("list", at).encode())
    write.write(whole(body, b'Link: </p/%d>; rel="next"\r\n' % (at + 1)))
