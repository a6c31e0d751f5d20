"""A collection received from another person (FAULTS X13): none of the code that its files name is run."""

import contextlib
import json
import os
import py_compile
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.cli.answers import Web, article
from tests.cli.site import PATIENCE_S, plain_environment

from gossamer.base.errors import ConfigError
from gossamer.plugins.code import loaded
from gossamer.plugins.filters import filters_to_ask
from gossamer.store.trust import Code, allowed_file, is_allowed
from gossamer.values.url import admit

PROGRAM = [sys.executable, "-P", "-m", "gossamer"]


def gossamer(*words: object, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run in a process of its own, in the given working directory."""
    options = {"capture_output": True, "text": True, "timeout": PATIENCE_S, "env": plain_environment(), "cwd": cwd}
    return subprocess.run([*PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, **options)  # type: ignore[call-overload, no-any-return]


QUICK = ("--allow-address", "127.0.0.0/8", "--delay", "0.02")
SHADOWED = ("msgspec", "csv", "sitecustomize", "usercustomize", "gossamer", "tests")
COMMANDS = (
    ("crawl", "--json"),
    ("status",),
    ("search", "page"),
    ("sparql", "ASK {}"),
    ("why", "http://127.0.0.1/"),
    ("why", "--host", "127.0.0.1"),
    ("rules",),
    ("rebuild",),
    ("export", "jsonl"),
    ("history",),
    ("hosts",),
    ("politeness",),
    ("compact",),
    ("trust",),
    ("config", "show"),
)


@pytest.fixture
def received(tmp_path: Path) -> tuple[Path, Path]:
    """The collection, and the file that its code writes if it is run."""
    root, marker = tmp_path / "c", tmp_path / "marker"
    web = Web({"/": article("page", "/other"), "/other": article("other")})
    with web.serving():
        assert gossamer("crawl", web.root, "--dir", root, *QUICK).returncode == 0
    evil = f"open({str(marker)!r}, 'a').write('ran')\n"
    (root / "evil.py").write_text(
        evil + "port, with_tls, has_robots = 1, False, False\nfetch = lambda *_: None\n"
        "def judge(*_): return True\ndef read(*_): return None\nclass P:\n"
        "    port, with_tls, has_robots = 1, False, False\n    async def fetch(self, *_): ...\n"
    )
    for name in SHADOWED:
        (root / f"{name}.py").write_text(evil)
    (root / "gossamer.toml").write_text(
        'contact = "a@example.org"\n[crawl]\nfilters = ["evil.py:judge"]\nreaders = ["text/html=evil.py:read"]\n'
        'protocols = ["evil=evil.py:P"]\n'
    )
    names = [["text/html", f"{root}/evil.py:read"], ["text/csv", "evil.py:read"], ["text/plain", "an-entry-point"]]
    (root / "plugged.json").write_text(json.dumps({"readers": names, "schemes": [["evil", 1]]}))
    return root, marker


def test_F_X13_no_command_runs_code_that_a_received_collection_names(received: tuple[Path, Path]) -> None:
    root, marker = received
    for command in COMMANDS:
        done = gossamer(*command, "--dir", root, cwd=root)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert not marker.exists(), command
    refused = gossamer("crawl", "--dir", root, *QUICK)
    assert refused.returncode == 2 and "has not been allowed to run" in refused.stderr and "trust" in refused.stderr
    rebuilt = gossamer("rebuild", "--dir", root)
    assert rebuilt.returncode == 0 and "text/html is read without its plug-in" in rebuilt.stderr
    listed = gossamer("trust", "--dir", root)
    assert listed.returncode == 1 and str(root / "evil.py") in listed.stdout and "not allowed" in listed.stdout
    (blocked,) = filters_to_ask(["evil.py:judge"], root)
    assert "not been allowed" in str(blocked("http://127.0.0.1/", 0)) and not marker.exists()


def test_F_X13_serving_it_runs_no_code(received: tuple[Path, Path]) -> None:
    root, marker = received
    command = [*PROGRAM, "serve", "--dir", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            site = process.stdout.readline().split()[2].partition("?")[0]
            for target in ("", "search.json?q=page", "page?url=http://127.0.0.1/", "sparql?query=ASK+%7B%7D", "crawl"):
                with contextlib.suppress(HTTPError):
                    urlopen(site + target, timeout=PATIENCE_S).close()
            time.sleep(0.2)
        finally:
            process.terminate()
    assert not marker.exists()


def test_allowed_code_runs_until_it_changes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def judge(url, depth): return True\n")
    code = Code("gossamer.filters", "mine.py:judge", tmp_path)
    with pytest.raises(ConfigError, match="gossamer trust"):
        loaded("filter", code.group, code.name, tmp_path)
    (tmp_path / "gossamer.toml").write_text('[crawl]\nfilters = ["mine.py:judge"]\n')
    assert gossamer("trust", "--dir", tmp_path, "--allow").returncode == 0
    assert loaded("filter", code.group, code.name, tmp_path)("x", 0) is True
    assert allowed_file().stat().st_mode & 0o077 == 0 and not allowed_file().is_relative_to(tmp_path)
    (tmp_path / "mine.py").write_text("def judge(url, depth): return False\n")
    assert not is_allowed(code)
    with pytest.raises(ConfigError, match="gossamer trust"):
        loaded("filter", code.group, code.name, tmp_path)


def test_a_compiled_file_next_to_an_allowed_one_is_not_run(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def judge(url, depth): return 2222\n")
    compiled = py_compile.compile(str(source), doraise=True)
    was = source.stat()
    source.write_text("def judge(url, depth): return 1111\n")
    os.utime(source, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert compiled is not None and Path(compiled).exists()
    (tmp_path / "gossamer.toml").write_text('[crawl]\nfilters = ["mine.py:judge"]\n')
    assert gossamer("trust", "--dir", tmp_path, "--allow").returncode == 0
    assert loaded("filter", "gossamer.filters", "mine.py:judge", tmp_path)("x", 0) == 1111


@pytest.mark.parametrize("scheme", ["javascript", "data", "file", "vbscript"])
def test_a_received_collection_cannot_admit_a_scheme_that_a_browser_runs(scheme: str) -> None:
    with pytest.raises(ValueError, match="scheme"):
        admit(scheme, 80)
