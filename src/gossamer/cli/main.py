"""`gossamer`: the command line. Commands are imported when they are called, so that `--help` is quick."""

import os
import sys

from cyclopts import App, Parameter

from gossamer import __version__
from gossamer.base.errors import ConfigError, DirectoryBusy, DirectoryUnusable, GossamerError, QueryRefused
from gossamer.cli.commands import DOORS, SHOW, UNSET, CliCommand
from gossamer.values.format import error_in_words

EXIT_CODES = {
    0: "success",
    1: "it failed, nothing was found, inspect found errors, robots.txt disallows, or a plan does not fit",
    2: "the command line or a setting is wrong, or inspect could not read a page",
    3: "the data directory, or a file in it, is missing, damaged or in use",
    4: "a check failed (demo --exit, politeness), import set records aside, or something is damaged "
    "(verify, backup, compact, crawl, export, forget, import, rebuild)",
    130: "stopped with Ctrl-C before the end",
    141: "the reader of the output closed it",
}


def _worth_showing(default: object) -> object:
    return None if default in (False, ()) else default


app = App(
    name="gossamer",
    version=__version__,
    help_format="plaintext",
    help="Gossamer crawls the web politely, stores pages, extracts their structured data, and lets you "
    "search words and facts together while the crawl runs.",
    help_epilogue="Start with `gossamer demo`: a small web included with the program, crawled offline.\n"
    "Then your own site:\n"
    "  gossamer crawl https://example.org/ --dir example --contact you@example.org\n"
    "  gossamer search tropical fish --dir example\n"
    "  gossamer serve --dir example\n\n"
    "Exit codes:\n" + "\n".join(f"  {code:3}  {means}" for code, means in EXIT_CODES.items()),
    default_parameter=Parameter(negative=(), show_default=_worth_showing),
)
config_app = App(
    name="config",
    help="Show the current settings and where each comes from; unset options of a collection.",
    help_epilogue="",
    sort_key=len(DOORS),
)


def _hang(door: CliCommand, into: App, place: int = 0) -> None:
    into.command(door.path, name=door.name, help=door.help, help_epilogue=door.epilogue, sort_key=place)


for _place, _door in enumerate(DOORS):
    _hang(_door, app, _place)
_hang(SHOW, config_app)
_hang(UNSET, config_app, 1)
app.command(config_app)


def main() -> None:
    """Our own faults become one line and an exit code; a traceback would be a bug."""
    try:
        code = app(sys.argv[1:], result_action="return_value")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except (GossamerError, OSError, BaseExceptionGroup) as trouble:
        _leave(first_of_ours(trouble))
    else:
        sys.exit(code if isinstance(code, int) else 0)


def first_of_ours(trouble: BaseException) -> BaseException:
    """What a crew of tasks raised together, down to the first that has words for a person; a bug passes as it is."""
    if isinstance(trouble, BaseExceptionGroup):
        found = trouble.subgroup((GossamerError, OSError, KeyboardInterrupt))
        if found is None:
            raise trouble
        return first_of_ours(found.exceptions[0])
    return trouble


def _leave(trouble: BaseException) -> None:
    match trouble:
        case BrokenPipeError():  # `| head` has seen enough: nothing can be said there any more
            os._exit(141)
        case KeyboardInterrupt():
            sys.exit(130)
        case DirectoryBusy() | DirectoryUnusable():
            code = 3
        case ConfigError() | QueryRefused():
            code = 2
        case _:
            code = 1
    print(f"gossamer: {error_in_words(trouble)}", file=sys.stderr)
    sys.exit(code)
