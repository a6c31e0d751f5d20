"""The benchmark web: its averages, its manifest, and nginx serving it."""

import asyncio
import shutil
import ssl
import statistics
from pathlib import Path

import pytest
from bench import nginx, web
from selectolax.lexbor import LexborHTMLParser

from gossamer.extract.page import extract
from gossamer.parse.html.tree import scan_html
from gossamer.values.url import url_of

SIZE = web.Size(hosts=4, pages=60, seed=1)
HAS_NGINX = bool(shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin"))
needs_nginx = pytest.mark.skipif(not HAS_NGINX, reason=nginx.MISSING)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench")
    web.write_web(SIZE, out)
    return out


def test_the_averages_are_those_of_the_published_figures() -> None:
    size = web.Size()
    pages = [web.page(size, host, number) for host in range(0, 120, 9) for number in range(0, 800, 41)]
    trees = [LexborHTMLParser(each.html) for each in pages]
    assert 28_000 < statistics.mean(len(each.html.encode()) for each in pages) < 32_000
    assert 19.5 < statistics.mean(each.facts for each in pages) < 20.5
    assert 38 < statistics.mean(len(tree.css("a[href]")) for tree in trees) < 42
    assert 320 < statistics.mean(len(tree.css("*")) for tree in trees) < 380


def test_the_same_numbers_give_the_same_bytes(written: Path, tmp_path: Path) -> None:
    web.write_web(SIZE, tmp_path)
    files = [path.relative_to(written) for path in written.rglob("*") if path.is_file()]
    assert len(files) == 60 + 4 + 2
    assert all((tmp_path / name).read_bytes() == (written / name).read_bytes() for name in files)


def test_the_manifest_lists_every_page_with_the_facts_that_a_reader_finds(written: Path) -> None:
    made = web.read_manifest(written)
    assert made.pages == len(list(made.urls)) == 60
    assert (written / "urls.txt").read_text().split() == list(made.urls)
    assert made.facts == sum(host.facts for host in made.hosts) == sum(sum(host.facts_per_page) for host in made.hosts)
    for host in made.hosts:
        for path, facts in zip(host.paths, host.facts_per_page, strict=True):
            body = (written / host.name / (path.removeprefix("/") or "index.html")).read_bytes()
            url = url_of(f"http://{host.name}:{web.PORT}{path}")
            assert url is not None
            found = extract(scan_html(LexborHTMLParser(body)).survey(), url, 1, body)
            assert len(found.triples) == facts, url
            assert found.syntaxes == (("rdfa",) if b"vocab=" in body else ("json-ld",))


def test_every_page_is_reached_from_each_start_page_and_some_links_lead_to_other_hosts(written: Path) -> None:
    made = web.read_manifest(written)
    known = set(made.urls)
    for host in made.hosts:
        seen, queue, crossed = {host.start}, [host.start], 0
        while queue:
            url = url_of(queue.pop())
            assert url is not None
            body = (written / url.hostname / (url.path.removeprefix("/") or "index.html")).read_bytes()
            for link in LexborHTMLParser(body).css("a[href]"):
                to = url_of(link.attributes["href"] or "", url)
                assert to is not None and to.text in known
                crossed += to.hostname != host.name
                if to.hostname == host.name and to.text not in seen:
                    seen.add(to.text)
                    queue.append(to.text)
        assert seen == {f"http://{host.name}:{web.PORT}{path}" for path in host.paths}
        assert crossed > 0


def test_the_configuration_binds_loopback_only(tmp_path: Path) -> None:
    text = nginx.configuration(tmp_path, tmp_path, 8080, 2, True, None)
    assert [line.split()[1].partition(":")[0] for line in text.splitlines() if "listen" in line] == ["127.0.0.1"]


def test_a_missing_nginx_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(nginx.NginxMissing, match="apt-get install nginx-light"), nginx.serving(tmp_path, tmp_path):
        pass


async def ask(port: int, host: str, target: str, context: ssl.SSLContext | None = None) -> bytes:
    name = host if context is not None else None
    reader, writer = await asyncio.open_connection(nginx.LOOPBACK, port, ssl=context, server_hostname=name)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


@needs_nginx
def test_nginx_serves_each_host_its_own_pages(written: Path, tmp_path: Path) -> None:
    with nginx.serving(written, tmp_path / "nginx") as server:
        for target, name in (("/", "index.html"), ("/p/3.html", "p/3.html")):
            for host in ("h000.bench.test", "h002.bench.test"):
                head, _, body = asyncio.run(ask(server.port, host, target)).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200") and b"text/html; charset=utf-8" in head
                assert body == (written / host / name).read_bytes()
        assert b" 404 " in asyncio.run(ask(server.port, "h000.bench.test", "/p/999.html")).split(b"\r\n")[0]
        assert b" 404 " in asyncio.run(ask(server.port, "elsewhere.test", "/")).split(b"\r\n")[0]
        port = server.port
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(ask(port, "h000.bench.test", "/"))


@needs_nginx
def test_nginx_serves_tls_for_all_names(written: Path, tmp_path: Path) -> None:
    names = [host.name for host in web.read_manifest(written).hosts]
    with nginx.serving(written, tmp_path / "nginx", tls_names=names) as server:
        assert server.authority is not None
        trusting = ssl.create_default_context(cafile=str(server.authority))
        answer = asyncio.run(ask(server.port, names[3], "/", trusting))
        assert answer.startswith(b"HTTP/1.1 200")
