"""`gossamer`: the command line. Commands are imported when they are called, so that `--help` is fast."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError
from rich.text import Text

from gossamer import __version__
from gossamer.base.errors import ConfigError, DirectoryBusy, DirectoryUnusable, GossamerError, QueryRefused
from gossamer.cli.commands import CLUSTER, COMMANDS, SHOW, UNSET, CliCommand
from gossamer.values.format import error_in_words

EXIT_CODES = {
    0: "success",
    1: "failure, or nothing found, errors in a page, a disallowed URL",
    2: "the command line or a setting is wrong, or inspect could not read a page",
    3: "the collection, or a part of it, is missing, damaged, in use or unreachable",
    4: "a check failed, stored data is damaged, or import set records aside",
    130: "stopped with Ctrl-C",
    141: "the output was closed by its reader",
}


def wrong_usage(error: CycloptsError) -> Text:
    """A wrong command line, in the form of every other error."""
    words: object = error
    if isinstance(error, UnusedCliTokensError):
        words = f"not expected: {' '.join(error.unused_tokens or ())}; put text with spaces in quotes."
    return Text(f"gossamer: {words}\n`{' '.join(('gossamer', *(error.command_chain or ())))} --help` shows the usage.")


app = App(
    name="gossamer",
    error_formatter=wrong_usage,
    version=__version__,
    help_format="plaintext",
    help="Gossamer crawls the web politely, stores pages, extracts their structured data, and lets you "
    "search words and facts together while the crawl runs.",
    help_epilogue="Start with `gossamer demo`: a small bundled web, crawled offline.\n"
    "Then your own site:\n"
    "  gossamer crawl https://example.org/ --dir example --contact you@example.org\n"
    "  gossamer search tropical fish --dir example\n"
    "  gossamer serve --dir example\n\n"
    "Exit codes:\n" + "\n".join(f"  {code:3}  {means}" for code, means in EXIT_CODES.items()),
    default_parameter=Parameter(negative=(), show_default=lambda value: None if value in (False, (), "") else value),
)
config_app = App(
    name="config",
    help="Show the settings and where each comes from; unset options.",
    help_epilogue="",
    sort_key=len(COMMANDS),
)
cluster_app = App(
    name="cluster",
    help="Make a cluster of many machines; its settings and files.",
    help_epilogue="",
    sort_key=len(COMMANDS) + 1,
)


cluster_app = App(
    name="cluster",
    help="Make a cluster of many machines; its settings and files.",
    help_epilogue="",
    sort_key=len(COMMANDS) + 1,
)


def _register(commands: Sequence[CliCommand], app: App) -> None:
    for number, one in enumerate(commands):
        app.command(one.path, name=one.name, help=one.help, help_epilogue=one.epilogue, sort_key=number)


_register(COMMANDS, app)
_register((SHOW, UNSET), config_app)
app.command(config_app)
_register(CLUSTER, cluster_app)
app.command(cluster_app)


def main() -> None:
    """Errors become one line and an exit code; a traceback is a bug."""
    try:
        code = app(sys.argv[1:], result_action="return_value")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except (GossamerError, OSError, BaseExceptionGroup) as trouble:
        _exit(first_of_ours(trouble))
    else:
        sys.exit(code if isinstance(code, int) else 0)


def first_of_ours(trouble: BaseException) -> BaseException:
    """The first error for the user among those a task group raised together; a bug is raised as it is."""
    if isinstance(trouble, BaseExceptionGroup):
        found = trouble.subgroup((GossamerError, OSError, KeyboardInterrupt))
        if found is None:
            raise trouble
        return first_of_ours(found.exceptions[0])
    return trouble


def _exit(trouble: BaseException) -> None:
    match trouble:
        case BrokenPipeError():  # `| head` has read enough: nothing more can be written there
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
