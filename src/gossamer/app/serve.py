"""`gossamer serve`: the search page of a collection, also while it is being crawled."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Annotated

import uvicorn
from cyclopts import Parameter

from gossamer.app.asking import queries
from gossamer.app.config import FILE_NAME, load
from gossamer.app.directory import DEFAULT, Directory, existing
from gossamer.app.outside import Outside, real_outside
from gossamer.app.settings import Settings
from gossamer.errors import ConfigError
from gossamer.index.searcher import Searcher
from gossamer.links.reader import LinksReader
from gossamer.monitor.control import Beat, Control
from gossamer.search.find import Search
from gossamer.store import captures, tallies
from gossamer.store.database import read_only
from gossamer.values.capture import Kept
from gossamer.values.tell import Tell, silent
from gossamer.values.url import Url
from gossamer.values.visit import Counts
from gossamer.web.app import make_app
from gossamer.web.rooms import WebRooms

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
LONGEST_HEAD = 1 << 20
"""Of a request. Addresses too long for us are far shorter than this, and get a page that says so."""


def serve(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    port: Annotated[int | None, Parameter(help="The port; 0 for any free one.")] = None,
) -> int:
    """Serve the search page, the page view and the SPARQL endpoint of a collection on this machine.

    It reads only, and may run beside a crawl of the same directory.
    """
    directory, outside = existing(dir), real_outside()
    settings = load(dir / FILE_NAME, os.environ, {"web.port": port}).settings
    asyncio.run(serve_until_stopped(directory, settings, outside))
    return 0


async def serve_until_stopped(directory: Directory, settings: Settings, outside: Outside) -> None:
    async with web_server(directory, settings, outside, tell=complain) as server:
        serving = asyncio.ensure_future(server.serve())
        print(f"search page: {await address_of(server, serving)}  (Ctrl-C stops it)", flush=True)
        await serving


def complain(event: str, /, **facts: object) -> None:
    """What went wrong on our side belongs on the terminal, never on a page."""
    print(event, *(f"{name}={value!r}" for name, value in facts.items()), file=sys.stderr, flush=True)


@asynccontextmanager
async def web_server(
    directory: Directory, settings: Settings, outside: Outside, suggestions: tuple[str, ...] = (), tell: Tell = silent
) -> AsyncIterator[uvicorn.Server]:
    """A server that is ready to be run, with every room it reads from."""
    if settings.web.host not in LOOPBACK:
        raise ConfigError(
            f"web.host is {settings.web.host}: this version serves this machine only (127.0.0.1); "
            "put a server with access control in front of it to open it further"
        )
    if not is_free(settings.web.host, settings.web.port):
        raise ConfigError(f"port {settings.web.port} is in use by another program; name another one with --port, or 0")
    async with AsyncExitStack() as opened:
        rooms = await web_rooms(opened, directory, settings, outside, suggestions, tell)
        yield uvicorn.Server(
            uvicorn.Config(
                make_app(rooms),
                host=settings.web.host,
                port=settings.web.port,
                http="h11",  # stricter than the others, and it tells an absolute-form target from a path
                h11_max_incomplete_event_size=LONGEST_HEAD,
                ws="none",
                lifespan="off",
                log_level="error",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
        )


def is_free(host: str, port: int) -> bool:
    """Whether one could listen there now."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        return False
    return True


async def address_of(server: uvicorn.Server, serving: "asyncio.Future[None]") -> str:
    while not server.started:
        if serving.done():
            raise ConfigError("the search page could not be served; is the port in use? Try --port 0")
        await asyncio.sleep(0.02)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    return f"http://{host}:{port}/"


async def web_rooms(
    opened: AsyncExitStack,
    directory: Directory,
    settings: Settings,
    outside: Outside,
    suggestions: tuple[str, ...],
    tell: Tell,
) -> WebRooms:
    for folder in directory.folders():  # the demo serves before its crawl has made anything
        outside.files.make_folder(folder)
    handles = ReadHandles(directory, outside)
    opened.callback(handles.close)
    ask = await opened.enter_async_context(queries(directory, outside, silent, 2, settings.web.sparql_s))
    return WebRooms(
        find=handles.search.find,
        stored=handles.search.stored,
        versions=handles.versions,
        pages_among=handles.pages_among,
        about=handles.search.about,
        outgoing=handles.search.outgoing,
        ask=ask,
        counts=handles.counts,
        beats=handles.beats,
        clock=outside.clock,
        sparql_s=settings.web.sparql_s,
        suggestions=suggestions,
        tell=tell,
    )


class ReadHandles:
    """The read handles of the web process. Each call opens and closes what it reads from the state: pages are shown
    by several threads, and a handle belongs to one."""

    def __init__(self, directory: Directory, outside: Outside) -> None:
        self._directory, self._outside = directory, outside
        self.search = Search(Searcher(directory.index), LinksReader(directory.links), outside.clock)

    def close(self) -> None:
        self.search.close()

    def versions(self, url: Url) -> list[Kept]:
        if not self._directory.state.is_file():
            return []
        with closing(read_only(self._directory.state)) as state:
            return captures.versions(state, url)

    def pages_among(self, urls: Iterable[Url]) -> set[Url]:
        if not self._directory.state.is_file():
            return set()
        with closing(read_only(self._directory.state)) as state:
            return {url for url in urls if captures.versions(state, url)}

    def counts(self) -> Counts:
        if not self._directory.state.is_file():
            return Counts()
        with closing(read_only(self._directory.state)) as state:
            return tallies.counts(state)

    def beats(self) -> list[Beat]:
        with Control(self._directory.control, self._outside.clock) as control:
            return control.beats()
