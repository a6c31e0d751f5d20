"""All commands, in the order of the list.

Their help is in `help.md`; their code is imported when they are called.
"""

from importlib.resources import files as packaged
from typing import NamedTuple


class CliCommand(NamedTuple):
    path: str
    """Module and function."""
    help: str
    """The first line is shown in the list of commands."""
    examples: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(":")[2].removesuffix("_")

    @property
    def epilogue(self) -> str:
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


def _read() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Help and examples by command."""
    found = {}
    for section in (packaged("gossamer.cli") / "help.md").read_text("utf-8").split("\n## ")[1:]:
        name, *paragraphs, examples = section.strip().split("\n\n")
        help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        found[name] = help, tuple(line.strip() for line in examples.splitlines())
    return found


_HELP = _read()
COMMANDS = tuple(
    CliCommand(path, *_HELP[path.rpartition(":")[2].removesuffix("_")])
    for path in (
        "gossamer.cli.crawl.demo:demo",
        "gossamer.cli.crawl.crawl:crawl",
        "gossamer.cli.serve:serve",
        "gossamer.cli.cluster.node:node",
        "gossamer.cli.crawl.trust:trust",
        "gossamer.cli.ask.search:search",
        "gossamer.cli.ask.sparql:sparql",
        "gossamer.cli.tools.extract:extract",
        "gossamer.cli.tools.inspect:inspect",
        "gossamer.cli.tools.links:links",
        "gossamer.cli.tools.robots:robots",
        "gossamer.cli.crawl.rules:rules",
        "gossamer.cli.ask.status:status",
        "gossamer.cli.ask.top:top",
        "gossamer.cli.ask.why:why",
        "gossamer.cli.crawl.retry:retry",
        "gossamer.cli.crawl.hosts:hosts",
        "gossamer.cli.ask.politeness:politeness",
        "gossamer.cli.tools.plan:plan",
        "gossamer.cli.tools.simulate:simulate",
        "gossamer.cli.ask.freshness:freshness",
        "gossamer.cli.ask.revisits:revisits",
        "gossamer.cli.ask.history:history",
        "gossamer.cli.ask.export:export",
        "gossamer.cli.upkeep.import_:import_",
        "gossamer.cli.upkeep.rebuild:rebuild",
        "gossamer.cli.tools.sitemap:sitemap",
        "gossamer.cli.upkeep.compact:compact",
        "gossamer.cli.upkeep.forget:forget",
        "gossamer.cli.upkeep.verify:verify",
        "gossamer.cli.upkeep.backup:backup",
    )
)
CLUSTER = tuple(
    CliCommand(path, *_HELP[f"cluster {path.rpartition(':')[2].removesuffix('_')}"])
    for path in (
        "gossamer.cli.cluster.init:init",
        "gossamer.cli.cluster.settings:settings",
        "gossamer.cli.cluster.status:status",
        "gossamer.cli.cluster.status:nodes",
        "gossamer.cli.cluster.members:drain",
        "gossamer.cli.cluster.members:remove",
        "gossamer.cli.cluster.members:upgrade",
        "gossamer.cli.cluster.log:log",
        "gossamer.cli.cluster.files:files",
        "gossamer.cli.cluster.import_:import_",
        "gossamer.cli.cluster.export:export",
    )
)
"""`gossamer cluster ...`, in the order of its list."""
SHOW = CliCommand("gossamer.cli.crawl.config:show", *_HELP["config show"])
UNSET = CliCommand("gossamer.cli.crawl.config:unset", *_HELP["config unset"])
