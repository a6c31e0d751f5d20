"""The niceness of a session, where the kernel divides CPU time by session."""

import re
from pathlib import Path

BY_SESSION = Path("/proc/self/autogroup").is_file()


def session_of(pid: int | str) -> tuple[str, int]:
    """The autogroup of a process, and its niceness. A process that was never in a session of its own, such as the first
    process of a container and its children, is in the group of the whole machine, which has no name."""
    line = Path(f"/proc/{pid}/autogroup").read_text()
    found = re.fullmatch(r"(\S+) nice (-?\d+)\n", line)
    assert found or line == ""
    return (found[1], int(found[2])) if found else ("", 0)
