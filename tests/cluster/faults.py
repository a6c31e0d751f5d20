"""What may happen to a cluster while it crawls. Each fault is a function of the cluster, called once in the middle."""

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from tests.cluster.harness import TestCluster
from tests.cluster.services import FACTS, STORAGE, WORDS

KINDS = ("gossamer.workers.child", "gossamer.indexer.process", "tests.cluster.crawler", "tests.cluster.node")
"""The kinds of processes of a node, by a word of their command lines."""
AWAY_S = 60.0
FROZEN_S = 120.0


def one_of(cluster: TestCluster, word: str, draw: random.Random) -> psutil.Process | None:
    found = [one for node in cluster.nodes for one in node.of(word)]
    return draw.choice(found) if found else None


def kills(cluster: TestCluster, draw: random.Random, times: int = 100, pause_s: float = 1.0) -> int:
    """kill -9 of processes of every kind in turn; a node that is gone is started again. Returns how many."""
    done = 0
    for number in range(times):
        time.sleep(draw.uniform(0.2, 2 * pause_s))
        for node in cluster.nodes:
            if node.process is not None and node.process.poll() is not None:
                node.kill()
                node.start()
        victim = one_of(cluster, KINDS[number % len(KINDS)], draw)
        if victim is not None:
            with suppress(psutil.NoSuchProcess):
                victim.kill()
                done += 1
        if number % 20 == 19 and cluster.is_over():
            break
    for node in cluster.nodes:
        if node.process is not None and node.process.poll() is not None:
            node.kill()
            node.start()
    return done


def frozen(cluster: TestCluster, draw: random.Random) -> None:
    """A whole node stands still for two minutes, and wakes."""
    node = draw.choice(cluster.nodes)
    node.freeze()
    time.sleep(FROZEN_S)
    node.freeze(False)


def lost(cluster: TestCluster, draw: random.Random) -> None:
    """A node loses power and does not come back."""
    node = draw.choice(cluster.nodes[1:])
    node.kill()


def failover(cluster: TestCluster, _: random.Random) -> None:
    """The primary database is killed, and a standby promoted. REQUIRES: standbys."""
    cluster.services.database.fail_over()


def away(name: str) -> Callable[[TestCluster, random.Random], None]:
    """A service is killed, and started again a minute later."""

    def fault(cluster: TestCluster, _: random.Random) -> None:
        server = getattr(cluster.services, name)
        server.kill() if hasattr(server, "kill") else server.stop()
        time.sleep(AWAY_S)
        server.start()

    return fault


def database_away(cluster: TestCluster, _: random.Random) -> None:
    cluster.services.database.primary.kill()
    time.sleep(AWAY_S)
    cluster.services.database.primary.start()


def cut_off(cluster: TestCluster, _: random.Random) -> None:
    """The network between the last node and the database drops everything for two minutes. REQUIRES: that node has a
    way of its own to the database."""
    assert cluster.last_way is not None
    cluster.last_way.hang()
    time.sleep(FROZEN_S)
    cluster.last_way.mend()


def full_disk(cluster: TestCluster, _: random.Random) -> None:
    """The disk of the first node's scratch folder is full for a minute. REQUIRES: it is a small file system."""
    ballast = cluster.nodes[0].folder / "scratch" / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(b"\0" * (1 << 20))
            file.flush()
    time.sleep(AWAY_S)
    ballast.unlink()


FAULTS: dict[str, Callable[[TestCluster, random.Random], object]] = {
    "kills": kills,
    "frozen": frozen,
    "lost": lost,
    "failover": failover,
    "database": database_away,
    "storage": away(STORAGE),
    "words": away(WORDS),
    "facts": away(FACTS),
    "cut-off": cut_off,
    "full-disk": full_disk,
    "clocks": lambda _cluster, _draw: None,  # the clock of one node is an hour ahead from the start
}


def small_disk(folder: Path, mib: int = 64) -> bool:
    """Mount one there; False where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(command, check=False).returncode == 0


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=False)
