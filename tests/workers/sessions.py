"""How far a session stands back, where the kernel shares out the CPUs by session."""

import re
from pathlib import Path

BY_SESSION = Path("/proc/self/autogroup").is_file()


def session_of(pid: int | str) -> tuple[str, int]:
    """Which group of processes the kernel counts it to, and how far that stands back."""
    found = re.fullmatch(r"(\S+) nice (-?\d+)\n", Path(f"/proc/{pid}/autogroup").read_text())
    assert found
    return found[1], int(found[2])
