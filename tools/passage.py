"""Lists the modules that run a function: for one page through a whole crawl, and for `gossamer why URL`.

`python tools/passage.py` (`make passage`) makes a collection of one page from loopback, crawls one page more, crawls
again with nothing allowed to be fetched, and explains the page. In every process a `sitecustomize` module installs a
profile function, which notes each function of the package that is called; what runs while a module is imported does not
count. The page's modules are those with a function that ran in the second crawl and not in the third: what any crawl
does without a page is left out, and so is the making of a new collection.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
FOLDER_VARIABLE = "PASSAGE_FOLDER"
HOOK = f"""
import os, sys, threading
SRC = {str(SRC / "gossamer") + "/"!r}
OUT = os.open(os.path.join(os.environ[{FOLDER_VARIABLE!r}], str(os.getpid())), os.O_WRONLY | os.O_CREAT)
known = set()  # a reader cannot open a file later, and may be killed at any time

def is_importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False

def called(frame, event, argument):
    code = frame.f_code
    if event != "call" or code in known or not code.co_filename.startswith(SRC):
        return
    if not code.co_flags & 1 or is_importing(frame):  # 1: CO_OPTIMIZED, a function and not a class or a module
        return
    known.add(code)
    os.write(OUT, f"{{code.co_filename[len(SRC):]}} {{code.co_qualname}}\\n".encode())

threading.setprofile(called)
sys.setprofile(called)
"""
PAGE = b"""<!DOCTYPE html><html lang="en"><head><title>A teapot</title>
<meta name="description" content="Where the teapot stands"></head>
<body vocab="http://schema.org/" typeof="Product"><h1 property="name">A blue teapot</h1>
<p property="description">It holds a litre of tea, and stands in the kitchen of a lighthouse.</p>
<p>See <a href="/%d">more</a>, or <a href="http://elsewhere.test/">somewhere else</a>.</p></body></html>"""


class EndlessSite(BaseHTTPRequestHandler):
    """Each page links to the next; robots.txt is missing, which allows everything."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        number = self.path[1:] or "0"
        status, body = (200, PAGE % (int(number) + 1)) if number.isdecimal() else (404, b"")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def functions_run(words: Iterable[object], scratch: Path, name: str) -> set[str]:
    """ "module function" of each function run, in all processes of one command."""
    hook, found = scratch / "hook", scratch / name
    hook.mkdir(exist_ok=True)
    found.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK)
    environment = os.environ | {"PYTHONPATH": f"{hook}{os.pathsep}{SRC}", FOLDER_VARIABLE: str(found)}
    command = [sys.executable, "-c", "import sys; from gossamer.cli.main import main; main()", *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return {line for path in found.iterdir() for line in path.read_text().splitlines()}


def modules_of(functions: Iterable[str]) -> list[str]:
    return sorted({function.partition(" ")[0] for function in functions})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", action="store_true", help="list the functions too")
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), EndlessSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        crawl = ("crawl", "--dir", scratch / "collection", "--allow-address=127.0.0.0/8", "--delay=0", "--max-pages")
        functions_run((*crawl, 1, url), scratch, "first-page")
        one = functions_run((*crawl, 2), scratch, "one-page")
        none = functions_run((*crawl, 2), scratch, "no-page")
        why = functions_run(("why", url, "--dir", scratch / "collection"), scratch, "why")
    print(f"{len(modules_of(one)):4}  modules run in a crawl of one page, {len(modules_of(none))} in one of none")
    for name, found in (("one page passes", one - none), ("gossamer why URL runs", why)):
        rooms = Counter(module.partition("/")[0] for module in modules_of(found))
        print(f"\n{name} {len(modules_of(found))} modules ({', '.join(f'{room} {n}' for room, n in rooms.items())}):")
        for module in modules_of(found):
            functions = sorted(line.partition(" ")[2] for line in found if line.startswith(f"{module} "))
            print(f"  {module}" + (f": {', '.join(functions)}" if given.functions else ""))


if __name__ == "__main__":
    main()
