"""`gossamer node` in tests: the same command, with a crawler for which the demonstration web is on loopback.

`python -m tests.cluster.node WEB_FILE ADDRESS [flags of gossamer node]`
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from gossamer.cli.cluster import node
from gossamer.cli.main import main
from gossamer.cluster.roles import CRAWL, RoleProgram, programs_of


def with_own_crawler(roles: Iterable[str], root: Path, agent: str, port: int | None) -> dict[str, RoleProgram]:
    found = programs_of(roles, root, agent, port)
    if CRAWL in found:
        found[CRAWL] = RoleProgram("tests.cluster.crawler", (WEB_FILE, str(root)))
    return found


if __name__ == "__main__":
    WEB_FILE = sys.argv[1]
    node.programs_of = with_own_crawler
    sys.argv = ["gossamer", "node", *sys.argv[2:]]
    main()
