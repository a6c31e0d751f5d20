"""`gossamer`: the command line. Commands are imported when they are called, so that `--help` is quick."""

import sys

from cyclopts import App

from gossamer import __version__
from gossamer.errors import ConfigError, DirectoryBusy, DirectoryUnusable, GossamerError, QueryRefused

EXIT_CODES = {
    0: "all went well",
    1: "something failed; the message says what",
    2: "the command line or a setting is wrong",
    3: "the data directory is missing or in use by another process",
    4: "a check found a miss (demo --exit)",
    130: "stopped with Ctrl-C before the end",
}

app = App(
    name="gossamer",
    version=__version__,
    help="Gossamer crawls the web politely, keeps what it saw, reads the structured data in every page, and lets you "
    "search words and facts together while the crawl runs.",
    help_epilogue="Begin with `gossamer demo`: a small web that ships with the program, crawled offline. "
    "Then `gossamer crawl https://your.site/ --dir my-site`, and `gossamer serve --dir my-site`.\n\n"
    "Exit codes: " + "; ".join(f"{code} {means}" for code, means in EXIT_CODES.items()) + ".",
)

for name, path in {
    "demo": "gossamer.app.demo:demo",
    "crawl": "gossamer.app.crawl:crawl",
    "serve": "gossamer.app.serve:serve",
    "search": "gossamer.app.ask:search",
    "sparql": "gossamer.app.ask:sparql",
    "status": "gossamer.app.status:status",
    "export": "gossamer.app.export:export",
    "import": "gossamer.app.taking_in:import_archives",
    "rebuild": "gossamer.app.rebuild:rebuild",
    "backup": "gossamer.app.backup:backup",
}.items():
    app.command(path, name=name)

config_app = App(name="config", help="See the settings in force and where each comes from.")
config_app.command("gossamer.app.showing:show", name="show")
app.command(config_app)


def main() -> None:
    """Our own faults become one line and an exit code; a traceback would be a bug."""
    try:
        app()
    except (DirectoryBusy, DirectoryUnusable) as trouble:
        _leave(trouble, 3)
    except (ConfigError, QueryRefused) as trouble:
        _leave(trouble, 2)
    except GossamerError as trouble:
        _leave(trouble, 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _leave(trouble: GossamerError, code: int) -> None:
    print(f"gossamer: {trouble}", file=sys.stderr)
    sys.exit(code)
