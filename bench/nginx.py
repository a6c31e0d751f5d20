"""nginx for the benchmark web: on loopback only, with one folder per host, stopped by its process id.

    python bench/nginx.py --root DIR --port 8080

serves until interrupted. Needs nginx in the PATH.
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import trustme

from gossamer.base.clock import SystemClock

LOOPBACK = "127.0.0.1"
START_WITHIN_S = 10.0
STOP_WITHIN_S = 5.0
MISSING = "nginx is not installed, and the benchmark web needs it: apt-get install nginx-light"

CONFIGURATION = """\
{user}daemon off;
worker_processes {workers};
worker_rlimit_nofile 16384;
pid {work}/nginx.pid;
error_log {work}/error.log warn;
events {{ worker_connections 4096; multi_accept on; }}
http {{
    types {{ text/html html; text/plain txt; image/svg+xml svg; }}
    default_type text/html;
    charset utf-8;
    server_tokens off;
    access_log {log};
    log_not_found off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 120s;
    keepalive_requests 1000000;
    open_file_cache max=4000 inactive=60s;
    open_file_cache_valid 60s;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    server_names_hash_bucket_size 128;
    map $host $folder {{
        default none;
        "~^(?<known>[a-z0-9-]+\\.bench\\.test)$" $known;
    }}
    server {{
        listen {address}:{port}{ssl} default_server backlog=4096;
{tls}        root {root}/$folder;
        location / {{ try_files $uri $uri/index.html =404; }}
    }}
}}
"""
TLS = """\
        ssl_certificate {work}/server.pem;
        ssl_certificate_key {work}/server.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache shared:bench:16m;
"""


class NginxMissing(Exception):
    """There is no nginx on this machine."""


class Serving(NamedTuple):
    port: int
    pid: int
    authority: Path | None
    """With TLS, the certificate of the authority that signed those of the hosts."""


def free_port() -> int:
    """A port that no process is listening on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def configuration(root: Path, work: Path, port: int, workers: int, has_tls: bool, log: Path | None) -> str:
    tls, ssl = (TLS.format(work=work), " ssl") if has_tls else ("", "")
    # Workers of an nginx started by root would switch to a user who may not be able to read the pages.
    user = "user root;\n" if os.geteuid() == 0 else ""
    logged = str(log) if log is not None else "off"
    return CONFIGURATION.format(
        user=user, workers=workers, work=work, log=logged, address=LOOPBACK, port=port, ssl=ssl, tls=tls, root=root
    )


def write_certificates(work: Path, names: Sequence[str]) -> Path:
    """One certificate for all the names; returns that of the authority."""
    authority = trustme.CA()
    issued = authority.issue_cert(*names)
    (work / "server.pem").write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    (work / "server.key").write_bytes(issued.private_key_pem.bytes())
    (work / "server.key").chmod(0o600)
    authority.cert_pem.write_to_path(str(work / "authority.pem"))
    return work / "authority.pem"


@contextlib.contextmanager
def serving(
    root: Path,
    work: Path,
    port: int | None = None,
    workers: int = 1,
    tls_names: Sequence[str] = (),
    log: Path | None = None,
) -> Iterator[Serving]:
    """Serve `root`/<host>/, with nginx's own files in `work`; with TLS if names are given."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise NginxMissing(MISSING)
    work.mkdir(parents=True, exist_ok=True)
    number = port or free_port()
    authority = write_certificates(work, tls_names) if tls_names else None
    conf = work / "nginx.conf"
    conf.write_text(configuration(root.resolve(), work.resolve(), number, workers, bool(tls_names), log))
    command = [program, "-e", str(work.resolve() / "error.log"), "-c", str(conf.resolve()), "-p", str(work.resolve())]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        _wait_until_open(server, number, work)
        yield Serving(number, server.pid, authority)
    finally:
        _stop(server)


def _wait_until_open(server: subprocess.Popen[bytes], port: int, work: Path) -> None:
    clock = SystemClock()
    until_s = clock.elapsed_s() + START_WITHIN_S
    while clock.elapsed_s() < until_s and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return
        clock.pause(0.02)
    log = work / "error.log"
    raise RuntimeError(f"nginx did not start: {log.read_text() if log.exists() else 'it left no log'}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a benchmark web until interrupted.")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder for nginx's own files; default: DIR/.nginx")
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    try:
        with serving(given.root, given.work or given.root / ".nginx", given.port, given.workers) as server:
            print(f"serving on {LOOPBACK}:{server.port}, process {server.pid}", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    SystemClock().pause(3600)
    except NginxMissing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
