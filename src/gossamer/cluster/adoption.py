"""How a node goes on with the cluster's version of gossamer, when that is not its own."""

import asyncio
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gossamer.base.environment import Outside
from gossamer.base.errors import DatabaseLost, GossamerError
from gossamer.base.tell import Says
from gossamer.cluster.environments import Environments
from gossamer.cluster.wheels import (
    STORE_AGAIN,
    VERSION,
    Wheel,
    WheelRefused,
    fetch_wheels,
    stored_wheels,
    wheel_storage,
)
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry, put_event
from gossamer.store.directory import Directory
from gossamer.store.service import ServiceLost

FOLDER = "versions"
TRY_S = 2.0
NO_WHEELS = (
    "the cluster has gossamer {version}, of which no wheels are stored. Install {version} here; or " + STORE_AGAIN
)
NO_VERSION = (
    "the cluster names {version!r}, which is no version of gossamer: set one with gossamer cluster upgrade ADDRESS"
)


@dataclass(slots=True)
class Adoption:
    """Of the cluster's version by one node."""

    name: str
    directory: Directory
    """The scratch folder of the node."""
    folder: Path
    """For environments."""
    outside: Outside
    says: Says
    _said: str = field(default="", init=False)

    async def python(self, stop: asyncio.Event) -> str | None:
        """The interpreter to go on with; None: the user stops the node. A service that is away is waited for.

        Raises WheelRefused, saying what to do; that is in the log of the cluster, too."""
        with closing(line_of(self.directory, self.outside.clock)) as line:
            registry = NodeRegistry(line, self.outside.clock)
            while not stop.is_set():
                try:
                    return await self._tried(registry, stop)
                except (DatabaseLost, ServiceLost) as lost:
                    self._say_once(f"suspended: {lost}; trying again, without end")
                    with suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), TRY_S)
                except WheelRefused as refused:
                    await asyncio.to_thread(self._note, registry, "node.not-adopted", str(refused))
                    raise
        return None

    async def _tried(self, registry: NodeRegistry, stop: asyncio.Event) -> str | None:
        version = await asyncio.to_thread(registry.version)
        if not VERSION.fullmatch(version):
            raise WheelRefused(NO_VERSION.format(version=version[:80]))
        wheels = await asyncio.to_thread(stored_wheels, registry, version)
        if not wheels:
            raise WheelRefused(NO_WHEELS.format(version=version))
        environments = Environments(self.folder, self.outside, self.says)
        python = await environments.python(version, wheels, partial(self._fetch, registry, version, wheels), stop)
        if python is not None:
            words = f"{self.name} goes on with gossamer {version}"
            await asyncio.to_thread(self._note, registry, "node.adopted", words)
            self.says(words)
        return python

    def _fetch(self, registry: NodeRegistry, version: str, wheels: Sequence[Wheel], folder: Path) -> None:
        storage = wheel_storage(registry, self.directory, self.outside)
        fetch_wheels(storage, version, wheels, folder, self.outside.files)

    def _note(self, registry: NodeRegistry, kind: str, says: str) -> None:
        with suppress(GossamerError):
            registry.line.run(lambda connection: put_event(connection, self.name, kind, says))

    def _say_once(self, words: str) -> None:
        if words != self._said:
            self.says(words)
        self._said = words
