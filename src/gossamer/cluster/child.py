"""The process of a role. It stops cleanly when its node dies.

`python -m gossamer.cluster.child PARENT MODULE ARGUMENTS`
"""

import os
import runpy
import signal
import sys

from gossamer.workers.child import die_with_parent


def main() -> None:
    parent, module, *arguments = sys.argv[1:]
    die_with_parent(signal.SIGTERM)
    if os.getppid() != int(parent):  # the node has died before we could notice
        sys.exit("the node has ended")
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
