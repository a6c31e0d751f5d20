"""X2, X8, X9: sites that are large, dear to read, slow, or a copy of somebody else's. They differ by their number."""

import asyncio

from tests.hostile.behaviour import DOMAIN, OK, Act, Asked, Behaviour, Write, add, behaviour, page, whole
from tests.hostile.masses import MASSES
from tests.hostile.pages import M1

from gossamer.demo.pages import DemoRequest
from gossamer.demo.web import DemoWeb

BODY = 16 << 20
COPIES = 6


def sites(name: str, count: int, act: Act) -> None:
    """One behaviour on many hosts: the first links to the others."""
    hosts = tuple(f"n{number}.{name.lower()}-{number}.{DOMAIN}" for number in range(1, count))

    async def site(write: Write, asked: Asked) -> None:
        if asked.host == f"{name.lower()}.{DOMAIN}" and asked.target == "/":
            write.write(page(name, *(f"http://{host}/" for host in hosts), *(f"/{n}" for n in range(COPIES))))
            await write.drain()
        else:
            await act(write, asked)

    site.__doc__ = act.__doc__
    add(Behaviour(name, site, hosts=hosts))


async def large_pages(write: Write, asked: Asked) -> None:
    """Pages of 16 MiB, on 40 hosts at once."""
    write.write(OK + b"Content-Length: %d\r\n\r\n" % BODY)
    for _ in range(BODY >> 16):
        write.write(b"words and " * 6_553 + b"......")
        await write.drain()


async def dear_pages(write: Write, asked: Asked) -> None:
    """Two hosts whose pages cost seconds to read."""
    body = M1["adoption_agency"] if asked.target < "/5" else MASSES["microdata"]["references_that_overlap"]
    ways = b"".join(b"<a href=/%d>x</a>" % n for n in range(20))
    write.write(whole(ways + await asyncio.to_thread(body)))
    await write.drain()


async def trickling_pages(write: Write, asked: Asked) -> None:
    """Twenty hosts that send just enough, for as long as they are heard."""
    write.write(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        write.write(b"x" * 256)
        await write.drain()
        await asyncio.sleep(0.2)


sites("X2-large-pages", 40, large_pages)
sites("X8-dear-pages", 2, dear_pages)
sites("X8-trickling", 20, trickling_pages)


class Copied:
    """Whose pages are copied: those of the first site of this web."""

    web = DemoWeb()


@behaviour("X9-copier")
async def copier(write: Write, asked: Asked) -> None:
    """The first pages of an honest site, at the same paths, and quicker."""
    answer = Copied.web.answer(DemoRequest(Copied.web.sites[0].host, asked.target))
    fields = b"".join(f"{name}: {value}\r\n".encode() for name, value in answer.headers if name == "Content-Type")
    if answer.status == 200:
        write.write(whole(answer.body, fields))
    else:
        write.write(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")
