"""The examples of docs/extracting.md work: its Python as a session, its command lines in a shell."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.site import plain_environment

PAGE = Path(__file__).parents[2] / "docs" / "extracting.md"


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "teapot.html").write_text(blocks("html")[0])
    return tmp_path


def test_the_python_of_the_document_gives_the_documented_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    assert len(session.examples) > 8
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    runner.run(session, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_the_command_lines_of_the_document_succeed(folder: Path) -> None:
    program = folder / "bin" / "gossamer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gossamer "$@"\n')
    program.chmod(0o755)
    lines = [line for block in blocks("") for line in block.splitlines() if line.startswith("gossamer ")]
    assert len(lines) >= 8
    environment = plain_environment(PATH=f"{program.parent}:{os.environ['PATH']}")
    for line in lines:
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert done.stdout or "processor" in line
