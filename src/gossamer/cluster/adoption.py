"""How a node continues with the cluster's version of gossamer, when that is not its own.

It installs the wheels of that version into a virtual environment. Each is a folder of its own with `env`, and
`ready.json`, written last: without that it is not used, and removed. If only the wheel of gossamer is stored, the
environment also sees the packages that the present program uses; if dependencies are stored too, it sees nothing else.
"""

import asyncio
import errno
import hashlib
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.environment import Outside, random_token
from gossamer.base.errors import DatabaseLost, GossamerError
from gossamer.base.files import NO_ROOM, Lock, sync_disks
from gossamer.base.tell import Says
from gossamer.cluster.roles import OutputLines
from gossamer.cluster.wheels import (
    PROJECT,
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
from gossamer.values.format import harmless

FOLDER = "versions"
TRY_S = 2.0
NO_WHEELS = (
    "the cluster has gossamer {version}, of which no wheels are stored. Install {version} here; or " + STORE_AGAIN
)
NO_VERSION = (
    "the cluster names {version!r}, which is no version of gossamer: set one with gossamer cluster upgrade ADDRESS"
)
ENV, WHEELS, READY, LOCK = "env", "wheels", "ready.json", "lock"
KEPT = 2
"""Environments: the one in use, and the one before."""
TIMES_WHEELS, SPARE_BYTES = 5, 256 << 20
"""Free space that an environment needs: wheels are stored once more, unpacked and compiled; pip is installed too."""
LOOK_S, PATIENCE_S = 0.1, 900.0
LINES = 400
"""Of the output of a program."""
PIP = ("--isolated", "install", "--no-index", "--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check",
       "--no-input", "--quiet")  # fmt: skip
SHARED_PACKAGES = "present.pth"


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
        """The interpreter to continue with; None: the user stops the node. A service that is away is waited for.

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
            words = f"{self.name} continues with gossamer {version}"
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


# Environments.


class ReadyEnvironment(msgspec.Struct, frozen=True):
    """What `ready.json` says."""

    digest: str
    """Of all that it was made of."""
    packages: tuple[str, ...]
    """Where the program that made it found packages."""
    used_at: Instant


class _Stopped(Exception):
    """The user stops the node."""


@dataclass(slots=True)
class Environments:
    """The folder with all environments of this machine's nodes of a cluster."""

    folder: Path
    outside: Outside
    says: Says

    async def python(
        self, version: str, wheels: Sequence[Wheel], fetch: Callable[[Path], None], stop: asyncio.Event
    ) -> str | None:
        """The interpreter of an environment with this version, made if there is none; None: the user stops the node.

        `fetch` copies the wheels to a folder, and checks them. Raises WheelRefused, saying what to do."""
        present = await asyncio.to_thread(self._present_packages)
        packages = () if len(wheels) > 1 else present
        digest = _digest(version, wheels, packages)
        try:
            await asyncio.to_thread(self.outside.files.make_folder, self.folder)
            lock = await self._alone(stop)
            try:
                place = await asyncio.to_thread(self._found, digest)
                if place is None:
                    self.says(f"making an environment with gossamer {version} in {self.folder}")
                    place = await self._made(version, wheels, packages, fetch, stop)
                await asyncio.to_thread(
                    self._note_use, place, ReadyEnvironment(digest, present, self.outside.clock.now())
                )
            finally:
                lock.release()
        except _Stopped:
            return None
        except OSError as error:
            raise self._no_room(version, wheels, error) from error
        return str(_interpreter(place))

    async def _alone(self, stop: asyncio.Event) -> Lock:
        holder, has_said = f"pid {self.outside.processes.own_pid()}", False
        while not stop.is_set():
            found = await asyncio.to_thread(self.outside.files.lock, self.folder / LOCK, holder)
            if not isinstance(found, str):
                return found
            if not has_said:
                self.says(f"waiting for {found}, which makes an environment")
                has_said = True
            await self.outside.clock.sleep(LOOK_S)
        raise _Stopped

    def _found(self, digest: str) -> Path | None:
        """REQUIRES: the lock. What a crash has left unfinished is removed."""
        found = None
        for name in self.outside.files.names(self.folder):
            place = self.folder / name
            if name == LOCK or (ready := self._ready(place)) is None:
                if name != LOCK:
                    self._remove(place)
            elif ready.digest == digest and _interpreter(place).exists():  # Python itself may have been removed
                found = place
        return found

    async def _made(
        self, version: str, wheels: Sequence[Wheel], packages: Sequence[str], fetch: Callable[[Path], None],
        stop: asyncio.Event,
    ) -> Path:  # fmt: skip
        files = self.outside.files
        if files.room(self.folder) < needed_bytes(wheels):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # A name of its own: a program of an earlier try, whose node was killed, may still write to its folder.
        place = self.folder / f"{version}-{random_token(6)}"
        with ExitStack() as undo:
            undo.callback(self._remove, place)
            files.make_folder(place / WHEELS)
            await asyncio.to_thread(fetch, place / WHEELS)
            await self._run(version, stop, sys.executable, "venv", str(place / ENV))
            if packages:
                (site,) = (place / ENV / "lib").glob("python*/site-packages")
                files.write(site / SHARED_PACKAGES, "".join(f"{one}\n" for one in packages).encode())
            await self._install(version, wheels, place, stop)
            files.remove(place / WHEELS)
            await asyncio.to_thread(sync_disks)
            undo.pop_all()
        return place

    async def _install(self, version: str, wheels: Sequence[Wheel], place: Path, stop: asyncio.Event) -> None:
        """From the checked wheels alone. First gossamer itself, which may be among the present packages too."""
        python, folder = str(_interpreter(place)), place / WHEELS
        own = next(str(folder / one.name) for one in wheels if one.name.startswith(f"{PROJECT}-"))
        await self._run(version, stop, python, "pip", *PIP, "--no-deps", "--ignore-installed", own)
        wanted = f"{PROJECT}[cluster]=={version}"
        await self._run(version, stop, python, "pip", *PIP, "--find-links", str(folder), wanted)
        said = await self._run(version, stop, python, PROJECT, "--version")
        if said[-1:] != [version]:
            raise WheelRefused(
                f"the wheel of gossamer {version} starts {(said or ['nothing'])[-1][:80]} (is PYTHONPATH set?); "
                f"{STORE_AGAIN.format(version=version)}"
            )

    async def _run(self, version: str, stop: asyncio.Event, python: str, module: str, *words: str) -> list[str]:
        """What a program prints. Raises WheelRefused if it fails."""
        lines, clock = deque[str](maxlen=LINES), self.outside.clock
        reading, writing = os.pipe()
        try:
            child = self.outside.processes.start(module, words, None, writing, python)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        loop, output = asyncio.get_running_loop(), os.fdopen(reading, "rb", 0)
        transport, heard = await loop.connect_read_pipe(lambda: OutputLines(lines.append), output)
        until_s = clock.elapsed_s() + PATIENCE_S
        try:
            while (code := child.exit_code()) is None:
                if stop.is_set():
                    raise _Stopped
                if clock.elapsed_s() > until_s:
                    raise WheelRefused(f"`python -m {module}` for gossamer {version} has not ended in {PATIENCE_S:g} s")
                await clock.sleep(LOOK_S)
            await heard.is_over.wait()
        finally:
            await asyncio.to_thread(child.kill)
            transport.close()
        said = [harmless(line) for line in lines]
        if code:
            why = "; ".join([line for line in said if line.startswith(("ERROR:", "Error:"))] or said[-3:])
            if "No space left" in why:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise WheelRefused(
                f"gossamer {version} cannot be installed here (`python -m {module}` ends with {code}: {why[:600]}). "
                f"If packages are missing, {STORE_AGAIN.format(version=version)}, with the wheels of all dependencies "
                "in the folder"
            )
        return said

    def _present_packages(self) -> tuple[str, ...]:
        """Where the installed program finds packages: not in an environment that was made here and may be removed."""
        if Path(sys.prefix).is_relative_to(self.folder) and (ready := self._ready(Path(sys.prefix).parent)) is not None:
            return ready.packages
        return tuple(one for one in sys.path if Path(one).name in ("site-packages", "dist-packages"))

    def _note_use(self, place: Path, ready: ReadyEnvironment) -> None:
        """It is ready, and used now; all but the last few are removed."""
        files = self.outside.files
        files.write(place / READY, msgspec.json.encode(ready))
        others = [self.folder / name for name in files.names(self.folder) if name not in (LOCK, place.name)]
        used = {one: found.used_at for one in others if (found := self._ready(one)) is not None}
        for old in sorted(used, key=lambda one: -used[one])[KEPT - 1 :]:
            files.remove(old / READY)
            self._remove(old)

    def _ready(self, place: Path) -> ReadyEnvironment | None:
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self.outside.files.read(place / READY), type=ReadyEnvironment)
        return None

    def _remove(self, place: Path) -> None:
        with suppress(OSError):  # a program of an earlier try still writes: it is removed the next time
            self.outside.files.remove(place)

    def _no_room(self, version: str, wheels: Sequence[Wheel], error: OSError) -> GossamerError:
        if error.errno not in NO_ROOM:
            return WheelRefused(
                f"{self.folder} cannot be used ({error.strerror or error}): set XDG_CACHE_HOME to a folder that can"
            )
        return WheelRefused(
            f"no room for an environment with gossamer {version} in {self.folder}: about "
            f"{needed_bytes(wheels) >> 20} MiB are needed. Free some, or set XDG_CACHE_HOME to a folder on another disk"
        )


def needed_bytes(wheels: Sequence[Wheel]) -> int:
    return TIMES_WHEELS * sum(one.size for one in wheels) + SPARE_BYTES


def environments_folder(scratch: Path) -> Path:
    """In the scratch folder of an address. A program that runs in an environment uses the folder of that one: the
    address that it was given has a reference in place of a password, which leads to another scratch folder."""
    own = Path(sys.prefix).parent
    return own.parent if own.parent.name == FOLDER and (own / READY).is_file() else scratch / FOLDER


def _interpreter(place: Path) -> Path:
    return place / ENV / "bin" / "python"


def _digest(version: str, wheels: Sequence[Wheel], packages: Sequence[str]) -> str:
    parts = [version, [[one.name, one.sha256] for one in wheels], packages, sys.version, sys.base_prefix]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
