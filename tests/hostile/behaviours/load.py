"""X2, X8, X9: sites that are large, expensive to parse, slow, or a copy of another site; each on many hosts."""

import asyncio

from tests.hostile.behaviour import DOMAIN, OK, Act, Behaviour, Request, Write, add, behaviour, page, whole
from tests.hostile.masses import MASSES
from tests.hostile.pages import M1

from gossamer.demo.pages import DemoRequest
from gossamer.demo.web import DemoWeb

BODY = 16 << 20
COPIES = 6


def sites(name: str, count: int, act: Act) -> None:
    """One behaviour on many hosts: the first links to the others."""
    hosts = tuple(f"n{number}.{name.lower()}-{number}.{DOMAIN}" for number in range(1, count))

    async def site(write: Write, request: Request) -> None:
        if request.host == f"{name.lower()}.{DOMAIN}" and request.target == "/":
            write.write(page(name, *(f"http://{host}/" for host in hosts), *(f"/{n}" for n in range(COPIES))))
            await write.drain()
        else:
            await act(write, request)

    site.__doc__ = act.__doc__
    add(Behaviour(name, site, hosts=hosts))


async def large_pages(write: Write, request: Request) -> None:
    """Pages of 16 MiB, on 40 hosts at once."""
    write.write(OK + b"Content-Length: %d\r\n\r\n" % BODY)
    for _ in range(BODY >> 16):
        write.write(b"words and " * 6_553 + b"......")
        await write.drain()


async def expensive_pages(write: Write, request: Request) -> None:
    """Two hosts whose pages take seconds to parse."""
    body = M1["adoption_agency"] if request.target < "/5" else MASSES["microdata"]["references_that_overlap"]
    links = b"".join(b"<a href=/%d>x</a>" % n for n in range(20))
    write.write(whole(links + await asyncio.to_thread(body)))
    await write.drain()


async def trickling_pages(write: Write, request: Request) -> None:
    """Twenty hosts that send just fast enough, for as long as the connection lasts."""
    write.write(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        write.write(b"x" * 256)
        await write.drain()
        await asyncio.sleep(0.2)


sites("X2-large-pages", 40, large_pages)
sites("X8-expensive-pages", 2, expensive_pages)
sites("X8-trickling", 20, trickling_pages)


class Copied:
    """The web whose first site is copied."""

    web = DemoWeb()


@behaviour("X9-copier")
async def copier(write: Write, request: Request) -> None:
    """The first pages of an honest site, at the same paths, and faster."""
    answer = Copied.web.answer(DemoRequest(Copied.web.sites[0].host, request.target))
    fields = b"".join(f"{name}: {value}\r\n".encode() for name, value in answer.headers if name == "Content-Type")
    if answer.status == 200:
        write.write(whole(answer.body, fields))
    else:
        write.write(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")
