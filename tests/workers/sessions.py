"""How far a session stands back, where the kernel shares out the CPUs by session."""

import re
from pathlib import Path

BY_SESSION = Path("/proc/self/autogroup").is_file()


def session_of(pid: int | str) -> tuple[str, int]:
    """Which group of processes the kernel counts it to, and how far that stands back. What no session was ever made
    for, a container's first process and those it starts, is in the group of the whole machine, which has no name."""
    told = Path(f"/proc/{pid}/autogroup").read_text()
    found = re.fullmatch(r"(\S+) nice (-?\d+)\n", told)
    assert found or told == ""
    return (found[1], int(found[2])) if found else ("", 0)
