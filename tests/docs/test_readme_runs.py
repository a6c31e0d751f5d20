"""The commands of the README, unchanged and in order, except that the site is on this machine."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.site import PATIENCE_S, Site, harbour, page, person, plain_environment

from gossamer.store.directory import Directory

README = Path(__file__).parents[2] / "README.md"
SERVERS = ("gossamer demo", "gossamer serve")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    return [text for kind, text in fenced if kind == language]


def lines() -> list[str]:
    """Without those of a cluster, which needs four services: tests/cluster runs these commands."""
    every = [line for block in blocks("") for line in block.splitlines() if line.startswith("gossamer ")]
    return [line for line in every if "postgresql://" not in line]


def shell(line: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ["bash", "-c", f"exec {line}"],
        cwd=folder,
        env=plain_environment(PATH=f"{folder / 'bin'}:{os.environ['PATH']}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_commands_of_the_readme_work(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "gossamer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gossamer "$@"\n')
    program.chmod(0o755)
    pages = harbour() | {"/people/0": page("Keeper 0", "Ada lives close by.", facts=person("Ada"))}
    with Site(pages).serving() as site:
        for line in lines():
            options = " --allow-address 127.0.0.1 --delay 0.02" if "--contact" in line else ""
            local = line.replace("https://example.org/", f"{site.root}{options}")
            if "import other" in line:
                assert_succeeds("gossamer export warc --dir example --out other.warc.gz", tmp_path)
            if line.startswith(SERVERS):
                assert_serves(f"{local.partition('#')[0]} --port 0", tmp_path)
            else:
                assert_succeeds(local, tmp_path)
    assert (tmp_path / "facts.nq").read_text().count("\n") >= 12
    assert Directory(tmp_path / "copy").index.is_dir()
    for program_text in blocks("python"):
        script = program_text.replace("tropical fish", "close")
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0 and "/people/0" in done.stdout, done.stderr


def assert_succeeds(line: str, folder: Path) -> None:
    done = shell(line, folder)
    output, _ = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 0, f"{line}\n{output}"


def assert_serves(line: str, folder: Path) -> None:
    """It prints a URL that answers, and Ctrl-C ends it."""
    running = shell(line, folder)
    assert running.stdout is not None
    with running.stdout:
        url = re.search(r"http://\S+", running.stdout.readline())
        assert url is not None, line
        with urllib.request.urlopen(url[0], timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        running.send_signal(signal.SIGINT)
        running.stdout.read()
        assert running.wait(PATIENCE_S) in (0, 130), line
