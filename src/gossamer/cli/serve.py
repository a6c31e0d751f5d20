"""`gossamer serve`: the web pages of a collection, also while it is being crawled."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import uvicorn
import uvloop
from anyio.to_thread import current_default_thread_limiter
from cyclopts import Parameter

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tasks import background
from gossamer.base.tell import Tell, silent
from gossamer.base.tuning import favour_short_requests
from gossamer.cli.flags import Dir
from gossamer.collection.collection import Collection
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.system import beat
from gossamer.config.load import FILE_NAME
from gossamer.config.settings import Settings, WebSettings
from gossamer.plugins.code import FOLDER as CONTEXTS
from gossamer.store.directory import DEFAULT, VOCABULARY, Directory, keep_private, refuse_lost_state
from gossamer.store.options import config_of, withheld_in_words
from gossamer.store.state import is_cluster
from gossamer.views.facts.sparql import QueryLimits
from gossamer.web.access.connections import server_of
from gossamer.web.access.tokens import ADMIN, READER, Access, AccessTokens, is_near, kept_keys, keys_of
from gossamer.web.app import make_app
from gossamer.web.search.processes import Searchers
from gossamer.web.site import WebSite

THREADS = 3
"""Pages rendered at the same time. More threads wait for the interpreter: with eight, a busy server handled half as
many requests."""
QUERIES = 3
"""Concurrent SPARQL queries: two runaway queries leave one process for other users."""
SEARCHERS = 2
PREPARED = {FILE_NAME, "rules.txt", VOCABULARY, CONTEXTS, ADMIN, READER}
"""Files that an owner may put into a directory before it has a collection."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(
    *,
    dir: Dir = DEFAULT,
    host: Annotated[str | None, Parameter(help="The IP address to listen on; this machine only if not given.")] = None,
    port: Annotated[int | None, Parameter(help="The port; 0 for any free one.")] = None,
    new_token: Annotated[bool, Parameter(help="Create new tokens first: the old ones become invalid.")] = False,
) -> int:
    keep_private()
    directory = directory_to_serve(dir, real_outside())
    outside = outside_of(directory)
    config = config_of(dir, flags={"web.host": host, "web.port": port})
    settings = config.settings
    for words in withheld_in_words(config.withheld, dir):
        print(words, file=sys.stderr, flush=True)
    keys_of(directory, outside.files, are_new=new_token)
    uvloop.run(serve_until_stopped(directory, settings, outside))
    return 0


def directory_to_serve(root: Path, outside: Outside) -> Directory:
    """The collection there, or a new one if there are only files of PREPARED. Raises DirectoryUnusable for any other
    folder."""
    directory = Directory(root)
    if is_cluster(directory):
        return existing(root)
    refuse_lost_state(directory)
    if directory.is_begun or (root.exists() and not root.is_dir()):
        return existing(root)
    names = set(outside.files.names(root)) if root.is_dir() else set()
    if directory.control.name not in names:  # not served before
        if names - PREPARED:
            return existing(root)
        print(f"A new collection was created in {root}: add seed URLs on its Crawl page.", file=sys.stderr)
    outside.files.make_folder(root)
    return directory


async def serve_until_stopped(directory: Directory, settings: Settings, outside: Outside) -> None:
    async with web_server(directory, settings, outside, tell=print_error) as server:
        favour_short_requests()
        async with background(server.serve()) as serving:
            url = public_url(settings.web, await server_url(server, serving))
            print(f"search page: {link_of(url, directory, outside)}  (Ctrl-C stops it)", flush=True)
            for line in warnings(settings.web):
                print(line, file=sys.stderr, flush=True)
            await serving


def public_url(web: WebSettings, url: str) -> str:
    """The URL that users open."""
    return f"https://{web.names[0]}/" if web.behind_tls and web.names else url


def link_of(url: str, directory: Directory, outside: Outside) -> str:
    """The link for the collection's owner, with a token that allows reading and changes."""
    return f"{url}?token={keys_of(directory, outside.files).admin}"


def warnings(web: WebSettings) -> list[str]:
    """What the owner should know before others get access."""
    if web.behind_tls and not web.names:
        return ["web.behind_tls is set: set web.names to the host name of the server in front of it."]
    if web.behind_tls or is_local(web.host):
        return []
    return [
        f"This is plain HTTP on {web.host}: anyone on the network path can read tokens and responses. "
        "Put a TLS reverse proxy in front of it on any network you do not trust.",
        "Anyone who reaches it can read; changes need the token."
        if web.public
        else "Readers need the token in the file reader-token of the data directory.",
    ]


def print_error(event: str, /, **facts: object) -> None:
    """Errors of the server are printed on its terminal, never on a page."""
    print(event, *(f"{name}={value!r}" for name, value in facts.items()), file=sys.stderr, flush=True)


@asynccontextmanager
async def web_server(
    directory: Directory, settings: Settings, outside: Outside, suggestions: tuple[str, ...] = (), tell: Tell = silent
) -> AsyncIterator[uvicorn.Server]:
    """A server, ready to run, with its collection open."""
    if is_any_address(settings.web.host) and not settings.web.names:
        raise ConfigError(
            f"web.host is {settings.web.host}: set web.names to the host names or IP addresses that people use; "
            "the server does not respond to others"
        )
    if not is_free(settings.web.host, settings.web.port):
        raise ConfigError(f"port {settings.web.port} is in use by another program: choose another with --port")
    async with AsyncExitStack() as opened:
        servers = list[uvicorn.Server]()
        site = await open_site(opened, directory, settings, outside, suggestions, tell)
        site = replace(site, is_ending=lambda: servers[0].should_exit)
        current_default_thread_limiter().total_tokens = THREADS
        server = server_of(make_app(site), settings.web.host, settings.web.port)
        servers.append(server)
        yield server


def is_local(host: str) -> bool:
    return host == "localhost" or is_near(host)


def is_any_address(host: str) -> bool:
    """Whether the server listens on every address of this machine."""
    return host in ("", "0.0.0.0", "::")


def accepted_hosts(web: WebSettings) -> tuple[str, ...]:
    """The Host headers that the server accepts, in lower case; IPv6 addresses are in brackets."""
    given = () if is_any_address(web.host) else (web.host,)
    bracketed = [f"[{name}]" if ":" in name and not name.startswith("[") else name for name in (*given, *web.names)]
    return (*LOOPBACK, *(name.lower() for name in bracketed))


def access_of(web: WebSettings, keys: Callable[[], AccessTokens]) -> Access:
    """Behind a proxy all requests seem to come from this machine, so reading needs a token too."""
    is_open = web.public or (is_local(web.host) and not web.behind_tls)
    return Access(keys, is_open, web.public, web.behind_tls)


def is_free(host: str, port: int) -> bool:
    """Whether the port can be listened on now."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        return False
    return True


async def server_url(server: uvicorn.Server, serving: "asyncio.Future[None]") -> str:
    while not server.started:
        if serving.done():
            raise ConfigError("the server did not start: is the port in use? Try --port 0")
        await asyncio.sleep(0.02)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


async def open_site(
    opened: AsyncExitStack,
    directory: Directory,
    settings: Settings,
    outside: Outside,
    suggestions: tuple[str, ...],
    tell: Tell,
) -> WebSite:
    """The web site of a collection; while it is open, the web process and its query workers send heartbeats."""
    if not directory.is_begun:  # the demo is served before its crawl starts
        for folder in directory.folders():
            outside.files.make_folder(folder)
    keys_of(directory, outside.files)
    limits = QueryLimits(QUERIES, settings.web.sparql_s)
    collection = await opened.enter_async_context(Collection(directory, outside, settings, limits))
    size = min(SEARCHERS, len(os.sched_getaffinity(0))) if settings.web.searchers is None else settings.web.searchers
    searchers = await opened.enter_async_context(Searchers(directory, size, outside.processes, outside.clock, tell))
    await opened.enter_async_context(background(beat(collection.watch, await collection.start_workers())))
    return WebSite(
        collection,
        access_of(settings.web, partial(kept_keys, directory, outside.files)),
        accepted_hosts(settings.web),
        suggestions,
        searchers.answer,
        tell,
    )
