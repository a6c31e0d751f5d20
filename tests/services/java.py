"""Servers in Java for tests: their jars, downloaded once by Maven into `.services/`, and processes that end with us."""

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
JARS = Path(os.environ.get("GOSSAMER_SERVICES", ROOT / ".services"))
DOWNLOAD_S = 600
PR_SET_PDEATHSIG = 1
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>gossamer</groupId><artifactId>services</artifactId><version>1</version>
<dependencies><dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>
</dependencies></project>"""


def why_absent() -> str | None:
    missing = [name for name in ("java", "mvn") if shutil.which(name) is None]
    return f"{' and '.join(missing)} missing (Debian: apt-get install default-jre-headless maven)" if missing else None


def jars(artifact: str) -> Path:
    """The folder with the jars of "group:name:version" and of everything it needs. REQUIRES: `why_absent()` is None."""
    group, name, version = artifact.split(":")
    folder = JARS / f"{name}-{version}"
    JARS.mkdir(parents=True, exist_ok=True)
    with (JARS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes want it at once
        if not (folder / "done").is_file():
            making = JARS / f"{name}-{version}.new"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            (making / "pom.xml").write_text(POM.format(group, name, version))
            command = ["mvn", "-q", "-B", "-f", "pom.xml", "dependency:copy-dependencies", "-DoutputDirectory=."]
            done = subprocess.run(command, cwd=making, capture_output=True, text=True, timeout=DOWNLOAD_S)
            if done.returncode:
                raise RuntimeError(f"Maven could not download {artifact}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            (making / "done").touch()
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
    return folder


def started(command: Sequence[str], folder: Path, answers: Callable[[], bool]) -> "subprocess.Popen[bytes]":
    """Start a server in this folder, which also takes its log, and wait until it answers. It ends with us."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=ends_with_parent
        )
    for _ in range(1800):
        if process.poll() is None and answers():
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"the server did not start:\n{(folder / 'log').read_text()[-4000:]}")


def ends_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
