"""Nodes that continue with the cluster's version: real wheels, real environments, a real database and storage."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.cluster.grounds import Grounds, grounds, until
from tests.cluster.wheelhouse import wheel_of
from tests.services import s3

import gossamer
from gossamer.base.errors import ConfigError
from gossamer.cluster.adoption import READY, Environments, ReadyEnvironment, needed_bytes
from gossamer.cluster.wheels import (
    Wheel,
    WheelRefused,
    fetch_wheels,
    store_wheels,
    stored_wheels,
    wheel_storage,
    wheels_in,
)
from gossamer.monitor.choice import line_of
from gossamer.monitor.nodes import NodeRegistry
from gossamer.testing import FaultyFiles

__all__ = ["grounds"]
OWN, NEXT, LATER = gossamer.__version__, "99.1", "99.2"
PASSWORD = "hunter2x7"
LONG_S = 300.0


@dataclass
class CommandNode:
    """`gossamer node`, as a user starts it."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def said(self) -> str:
        return self.log.read_text()

    def ended(self) -> int:
        return self.process.wait(LONG_S)


@dataclass
class VersionedCluster:
    """A cluster and its nodes."""

    grounds: Grounds
    archive: Path
    """Where the objects of its storage are files."""

    @property
    def variables(self) -> dict[str, str]:
        return os.environ | {"XDG_CACHE_HOME": str(self.grounds.folder / "cache")}

    def environments(self) -> list[Path]:
        return list(self.grounds.folder.glob("cache/gossamer/clusters/*/versions/*/env/bin/python"))

    def leftovers(self) -> list[Path]:
        found = self.grounds.folder.glob("cache/gossamer/clusters/*/versions/*")
        return [path for path in found if path.name != "lock" and not (path / READY).exists()]

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "gossamer", *words]
        return subprocess.run(command, env=self.variables, capture_output=True, text=True, timeout=LONG_S, check=False)

    def store(self, wheel: Path, version: str) -> list[Wheel]:
        """As `gossamer cluster upgrade ADDRESS --wheels FOLDER` of that version does, and nodes must have it."""
        found = self.grounds
        with closing(line_of(found.directory, found.outside.clock)) as line:
            registry = NodeRegistry(line, found.outside.clock)
            wheels = store_wheels(registry, found.directory, wheel.parent, version, found.outside)
            registry.upgrade(version)
        return wheels

    def objects(self) -> list[Path]:
        return sorted(self.archive.glob("versions/*/*"))

    @contextmanager
    def node(self, name: str, *flags: str, login: str = "") -> Iterator[CommandNode]:
        folder = self.grounds.folder / name
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "gossamer", "node", f"{self.grounds.conninfo}{login}", "--roles", "crawl"]
        command += ["--name", name, "--dir", str(folder / "scratch"), "--label", "eu", *flags]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, env=self.variables, stdout=log, stderr=log, start_new_session=True)
        running = CommandNode(process, folder / "log")
        try:
            yield running
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(LONG_S)

    def version_of(self, name: str) -> str:
        found = self.grounds.node(name)
        return found.version if found is not None and found.life == "fresh" else ""


async def long_until(condition: object, node: CommandNode) -> None:
    async with asyncio.timeout(LONG_S):
        while not await asyncio.to_thread(condition):  # type: ignore[arg-type]
            assert node.process.poll() is None, node.said()
            await asyncio.sleep(0.1)


def on_disks(grounds: Grounds) -> VersionedCluster:
    archive = grounds.folder / "archive"
    archive.mkdir()
    directories = json.dumps([str(archive)])
    grounds.run(f"INSERT INTO options (name, value, given_at) VALUES ('archive.directories', '{directories}', 1)")
    grounds.run("INSERT INTO options (name, value, given_at) VALUES ('archive.copies', '1', 1)")
    return VersionedCluster(grounds, archive)


def in_cloud(grounds: Grounds) -> VersionedCluster:
    server = s3.server()
    address = json.dumps(server.address_for(grounds.folder))
    grounds.run(f"INSERT INTO options (name, value, given_at) VALUES ('archive.storage', '{address}', 1)")
    return VersionedCluster(grounds, server.objects / s3.prefix_for(grounds.folder))


FORMS: dict[str, Callable[[Grounds], VersionedCluster]] = {"disks": on_disks, "cloud": in_cloud}


@pytest.fixture
def cluster(grounds: Grounds) -> VersionedCluster:
    return on_disks(grounds)


@pytest.fixture(params=FORMS)
def any_cluster(request: pytest.FixtureRequest, grounds: Grounds) -> VersionedCluster:
    return FORMS[request.param](grounds)


def test_nodes_continue_with_the_version_of_the_cluster_and_its_tables(cluster: VersionedCluster) -> None:
    wheel = wheel_of(NEXT, has_migration=True)

    async def scenario() -> None:
        with cluster.node("a", "--adopt-version", login=f" password={PASSWORD}") as running:
            await long_until(lambda: cluster.version_of("a") == OWN, running)
            before = running.process.pid
            await asyncio.to_thread(cluster.store, wheel, NEXT)
            await long_until(lambda: cluster.version_of("a") == NEXT, running)
            found = cluster.grounds.node("a")
            assert found is not None and (found.roles, found.labels) == (("crawl",), ("eu",))
            (python,) = cluster.environments()
            assert running.process.pid == before and PASSWORD not in " ".join(psutil.Process(before).cmdline())

            def is_crawled_by_it() -> bool:
                children = psutil.Process(before).children(recursive=True)
                return any(str(python) in one.cmdline() and "crawl" in one.cmdline() for one in children)

            await long_until(is_crawled_by_it, running)
            cluster.grounds.run("SELECT number FROM of_the_next_version")
            with cluster.node(
                "b", "--adopt-version", login=f" password={PASSWORD}"
            ) as second:  # whose tables are newer than it knows
                await long_until(lambda: cluster.version_of("b") == NEXT, second)
                assert "making an environment" not in second.said() and cluster.environments() == [python]
            with cluster.node("c") as third:
                assert third.ended() == 3
                assert f"agreed on gossamer {NEXT}, and this is {OWN}" in third.said()
                assert "--adopt-version" in third.said() and cluster.version_of("c") == ""
            await asyncio.to_thread(cluster.store, wheel_of(LATER, has_migration=True), LATER)
            await long_until(lambda: cluster.version_of("a") == LATER, running)
            places = {python.parents[2] for python in cluster.environments()}
            assert len(places) == 2 and len({place.parent for place in places}) == 1
            for place in places:  # neither uses the other, which will be removed
                (packages,) = place.glob("env/lib/*/site-packages/present.pth")
                assert "/versions/" not in packages.read_text()
            running.process.send_signal(signal.SIGTERM)
            assert running.ended() == 130
        assert {"node.adopted", "cluster.upgraded"} <= set(cluster.grounds.events())

    asyncio.run(scenario())


def test_a_wheel_of_which_a_byte_was_flipped_is_refused_and_stored_again(any_cluster: VersionedCluster) -> None:
    cluster = any_cluster
    cluster.store(wheel_of(NEXT), NEXT)
    (stored,) = cluster.objects()
    whole = stored.read_bytes()
    stored.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3
        assert "is not what was stored (its SHA-256 differs)" in running.said()
        assert "gossamer cluster upgrade ADDRESS --wheels FOLDER" in running.said()
    assert cluster.environments() == [] and cluster.leftovers() == []
    assert "node.not-adopted" in cluster.grounds.events() and "node.joined" not in cluster.grounds.events()
    stored.unlink()
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3 and "no longer has gossamer-99.1" in running.said()
    stored.write_bytes(b"another")
    cluster.store(wheel_of(NEXT), NEXT)
    assert stored.read_bytes() == whole
    target = cluster.grounds.folder / "fetched"
    target.mkdir()

    def fetch(registry: NodeRegistry) -> None:
        found, outside = cluster.grounds, cluster.grounds.outside
        storage = wheel_storage(registry, found.directory, outside)
        fetch_wheels(storage, NEXT, stored_wheels(registry, NEXT), target, outside.files)

    cluster.grounds.asked(fetch)
    assert [path.read_bytes() for path in target.iterdir()] == [whole]


def test_an_environment_that_a_killed_node_has_begun_is_not_used(cluster: VersionedCluster) -> None:
    cluster.store(wheel_of(NEXT), NEXT)

    async def scenario() -> None:
        with cluster.node("a", "--adopt-version") as running:
            await long_until(cluster.environments, running)
            running.process.kill()
            assert running.ended() == -signal.SIGKILL
        (half,) = cluster.leftovers()
        with cluster.node("a", "--adopt-version") as running:
            await long_until(lambda: cluster.version_of("a") == NEXT, running)
            (python,) = cluster.environments()
            assert half not in python.parents and not half.exists() and cluster.leftovers() == []

    asyncio.run(scenario())


def test_a_stop_while_the_environment_is_made_ends_the_node_and_leaves_nothing(cluster: VersionedCluster) -> None:
    cluster.store(wheel_of(NEXT), NEXT)

    async def scenario() -> None:
        with cluster.node("a", "--adopt-version") as running:
            await long_until(cluster.environments, running)
            running.process.send_signal(signal.SIGTERM)
            assert running.ended() == 130
            assert cluster.leftovers() == [] and cluster.environments() == []

    asyncio.run(scenario())


def test_a_version_without_wheels_is_named_and_so_is_what_to_do(cluster: VersionedCluster) -> None:
    cluster.grounds.asked(lambda registry: registry.upgrade(NEXT))
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3
        assert f"has gossamer {NEXT}, of which no wheels are stored. Install {NEXT} here; or" in running.said()
    cluster.grounds.asked(lambda registry: registry.upgrade("../../bin"))
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3 and "which is no version of gossamer" in running.said()


def test_a_wheel_that_cannot_be_installed_leaves_nothing(cluster: VersionedCluster, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / f"gossamer-{NEXT}-py3-none-any.whl").write_bytes(b"no archive")
    cluster.store(folder / "any", NEXT)
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3
        assert f"gossamer {NEXT} cannot be installed here (`python -m pip` ends with" in running.said()
    assert cluster.environments() == [] and cluster.leftovers() == []


def test_with_wheels_of_dependencies_no_other_packages_are_used(cluster: VersionedCluster, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    shutil.copy(wheel_of(NEXT), folder)
    shutil.copy(wheel_of("98.0"), folder / "other-1.0-py3-none-any.whl")
    cluster.store(folder / "any", NEXT)
    with cluster.node("a", "--adopt-version") as running:
        assert running.ended() == 3
        assert "No matching distribution found for" in running.said()
        assert "with the wheels of all dependencies in the folder" in running.said()
    assert cluster.environments() == [] and cluster.leftovers() == []


def test_the_command_stores_the_wheels_of_its_own_version(cluster: VersionedCluster, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = cluster.command("cluster", "upgrade", cluster.grounds.conninfo, "--wheels", str(empty))
    assert result.returncode == 2 and f"no wheel of gossamer; it must have that of {OWN}" in result.stderr
    assert cluster.grounds.asked(lambda registry: registry.version()) == ""
    wheels = wheel_of(OWN).parent
    result = cluster.command("cluster", "upgrade", cluster.grounds.conninfo, "--wheels", str(wheels))
    assert result.returncode == 0, result.stderr
    assert "stored 1 wheel" in result.stdout
    (kept,) = cluster.grounds.asked(lambda registry: stored_wheels(registry, OWN))
    (stored,) = cluster.objects()
    assert stored.read_bytes() == wheel_of(OWN).read_bytes() and stored.name == f"{kept.sha256}-{kept.name}"
    cluster.grounds.run("UPDATE meta SET number = number + 1 WHERE name = 'version'")
    result = cluster.command("cluster", "upgrade", cluster.grounds.conninfo)
    assert result.returncode == 3 and "upgrade gossamer" in result.stderr


def test_only_the_wheels_of_the_last_versions_are_kept(cluster: VersionedCluster, tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"gossamer-{number}-py3-none-any.whl").write_bytes(b"%d" % number)
        cluster.store(folder / "any", str(number))
    assert [path.parent.name for path in cluster.objects()] == ["2", "3", "4"]
    (tmp_path / "4" / "gossamer-4-py3-none-any.whl").write_bytes(b"built again")
    cluster.store(tmp_path / "4" / "any", "4")
    assert [path.read_bytes() for path in cluster.objects()] == [b"2", b"3", b"built again"]


def test_a_name_in_the_database_cannot_leave_its_folder(cluster: VersionedCluster) -> None:
    cluster.grounds.run(f"INSERT INTO wheels VALUES ('{NEXT}', '../../x-1-py3-none-any.whl', 9, 'aa', 1)")
    with pytest.raises(WheelRefused, match="the table wheels has no wheel"):
        cluster.grounds.asked(lambda registry: stored_wheels(registry, NEXT))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["gossamer-1-py3-none-any.whl", "a b.whl"], "is not named like a wheel"),
        (["gossamer-2-py3-none-any.whl"], "has those of 2; it must have that of 1"),
        (["gossamer-1-py3-none-any.whl", "gossamer-2-py3-none-any.whl"], "has those of 1, 2"),
        (["other-1-py3-none-any.whl"], "has no wheel of gossamer"),
    ],
)
def test_a_folder_must_have_the_wheel_of_this_version(
    grounds: Grounds, tmp_path: Path, names: list[str], says: str
) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ConfigError, match=says):
        wheels_in(tmp_path, "1", grounds.outside.files)


def test_what_a_crash_left_is_removed_and_the_last_two_environments_are_kept(grounds: Grounds) -> None:
    made, folder = list[str](), grounds.folder / "versions"
    (folder / "1-half" / "env" / "bin").mkdir(parents=True)
    (folder / "1-half" / "env" / "bin" / "python").touch()

    class Made(Environments):
        """It does not run pip, which other tests do."""

        async def _run(self, version: str, stop: object, python: str, module: str, *words: str) -> list[str]:
            if module == "venv":
                made.append(version)
                for name in ("bin", "lib/python3.11/site-packages"):
                    (Path(words[-1]) / name).mkdir(parents=True)
                (Path(words[-1]) / "bin" / "python").touch()
            return [version]

    async def scenario() -> None:
        environments, stop = Made(folder, grounds.outside, lambda _: None), asyncio.Event()

        async def python(version: str) -> str:
            wheels = [Wheel(f"gossamer-{version}-py3-none-any.whl", 1, "aa")]
            found = await environments.python(version, wheels, lambda _: None, stop)
            assert found is not None
            return found

        first = await python("1")
        assert not (folder / "1-half").exists() and await python("1") == first and made == ["1"]
        await python("2")
        assert await python("1") == first, "used again: the other one is older"
        await python("3")
        assert Path(first).exists() and made == ["1", "2", "3"]
        assert sorted(path.name[0] for path in folder.iterdir() if path.name != "lock") == ["1", "3"]
        (Path(first).parents[2] / READY).unlink()
        assert await python("1") != first and not Path(first).exists() and made[-1] == "1"

    asyncio.run(scenario())


def test_an_adopted_version_finds_the_packages_of_the_installation(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = grounds.folder / "versions"
    place, packages = folder / "98-x", ("/installed/site-packages",)
    (place / "env").mkdir(parents=True)
    (place / READY).write_bytes(msgspec.json.encode(ReadyEnvironment("aa", packages, 1)))
    environments = Environments(folder, grounds.outside, lambda _: None)
    monkeypatch.setattr(sys, "path", ["/code", *packages])
    assert environments._present_packages() == packages
    monkeypatch.setattr(sys, "path", [str(place / "env" / "lib" / "site-packages")])
    monkeypatch.setattr(sys, "prefix", str(place / "env"))
    assert environments._present_packages() == packages


def test_a_full_disk_is_one_message(grounds: Grounds) -> None:
    wheels = [Wheel("gossamer-1-py3-none-any.whl", 1 << 20, "aa")]
    folder = grounds.folder / "versions"
    files = FaultyFiles(grounds.outside.files, room_bytes=needed_bytes(wheels) - 1)
    outside = replace(grounds.outside, files=files)

    async def scenario() -> None:
        environments = Environments(folder, outside, lambda _: None)
        with pytest.raises(WheelRefused, match=r"no room for an environment with gossamer 1 in .*MiB are needed"):
            await environments.python("1", wheels, lambda _: None, asyncio.Event())

    asyncio.run(scenario())
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_the_second_node_on_a_machine_waits_for_the_environment_of_the_first(grounds: Grounds) -> None:
    folder, said = grounds.folder / "versions", list[str]()
    folder.mkdir()
    lock = grounds.outside.files.lock(folder / "lock", "pid 1")
    assert not isinstance(lock, str)

    async def scenario() -> None:
        stop = asyncio.Event()
        environments = Environments(folder, grounds.outside, said.append)
        waiting = asyncio.create_task(environments.python("1", [], lambda _: None, stop))
        await until(lambda: said == ["waiting for pid 1, which makes an environment"])
        stop.set()
        assert await waiting is None

    asyncio.run(scenario())
    lock.release()
