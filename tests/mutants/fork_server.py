"""A process with pytest and the libraries loaded, which forks once for each run of tests.

Reads a line of JSON for each run (`arguments` of pytest, `output`: the file for what it prints), and writes two: the
child's `pid`, then its exit `code`. Neither the package nor its tests are loaded here, because they change between
runs; nor is any library that starts a thread when it is loaded.
"""

import contextlib
import importlib
import json
import os
import sys

LIBRARIES = (
    "pytest",
    "_pytest.assertion.rewrite",
    "hypothesis.strategies",
    "hypothesis.internal.conjecture.engine",
    "pytest_timeout",
    "anyio",
    "ada_url",
    "aiodns",
    "cryptography.x509",
    "cyclopts",
    "fasttext",
    "httptools",
    "httpx",
    "jinja2",
    "lxml.etree",
    "lxml.html",
    "msgspec",
    "psutil",
    "publicsuffixlist",
    "pyoxigraph",
    "rensa",
    "rich.console",
    "selectolax.lexbor",
    "tantivy",
    "trustme",
    "uvicorn",
    "uvloop",
    "warcio",
    "xxhash",
)


def main() -> None:
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        run = json.loads(line)
        pid = os.fork()
        if pid == 0:
            sys.exit(_tested(run["arguments"], run["output"]))
        print(json.dumps({"pid": pid}), flush=True)
        print(json.dumps({"code": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}), flush=True)


def _tested(arguments: list[str], output: str) -> int:
    import pytest

    os.setsid()
    for number, path in ((0, os.devnull), (1, output), (2, output)):
        file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    return int(pytest.main(arguments))


if __name__ == "__main__":
    main()
