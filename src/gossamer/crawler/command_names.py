"""What the running crawl does when another terminal asks it to retire a host, take it up again, or end a quarantine."""

from collections.abc import Sequence
from typing import Protocol

from gossamer.monitor.control import Command

RETIRE = "retire"
REINSTATE = "reinstate"
RELEASE = "release"
SEED = "seed"
REQUEUE = "requeue"


class HostCommands(Protocol):
    """The part of a frontier that is asked; both real ones have it."""

    async def retire(self, host: str, why: str) -> bool: ...

    async def reinstate(self, host: str) -> bool: ...

    async def release(self, host: str, template: str) -> int: ...


async def obey(commands: Sequence[Command], frontier: HostCommands) -> list[int]:
    """Carry out what concerns hosts among the pending commands; says which are done and can be crossed out."""
    done = []
    for command in commands:
        host = str(command.args.get("host", ""))
        if command.verb == RETIRE:
            await frontier.retire(host, str(command.args.get("why", "")))
        elif command.verb == REINSTATE:
            await frontier.reinstate(host)
        elif command.verb == RELEASE:
            await frontier.release(host, str(command.args.get("pattern", "")))
        else:
            continue
        done.append(command.id)
    return done
