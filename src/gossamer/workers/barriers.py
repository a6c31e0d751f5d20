"""Which barriers hold around a worker process, as it found when it put them up."""

import msgspec

MEANINGS = {
    "network": "no network namespace of its own",
    "seccomp": "no seccomp filter",
    "no_new_privileges": "setuid programs could raise its rights",
    "memory": "memory is not limited",
    "cpu": "CPU time is not limited",
    "files": "open files and file size are not limited",
    "audit": "Python code may write and connect",
}
"""By name of the barrier: what its absence means. The order gives each its bit in `missing_bits`."""


class Barriers(msgspec.Struct, frozen=True):
    network: bool = False
    """A network namespace without any interface."""
    seccomp: bool = False
    """A filter that refuses sockets, programs and processes."""
    no_new_privileges: bool = False
    memory: bool = False
    cpu: bool = False
    files: bool = False
    audit: bool = False
    """Python's own hook: stops an honest library, not machine code."""

    @property
    def is_network_closed(self) -> bool:
        """Either of the two keeps a process from dialling."""
        return self.network or self.seccomp

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(name for name in MEANINGS if not getattr(self, name))

    @property
    def missing_bits(self) -> int:
        """As one number, which is how it travels in a heartbeat."""
        return sum(1 << place for place, name in enumerate(MEANINGS) if not getattr(self, name))


def from_bits(missing: int) -> Barriers:
    return Barriers(**{name: not missing >> place & 1 for place, name in enumerate(MEANINGS)})


def weakest(every: list[Barriers]) -> Barriers:
    """What holds around all of them. REQUIRES: at least one."""
    return Barriers(**{name: all(getattr(one, name) for one in every) for name in MEANINGS})


def in_words(held: Barriers) -> str:
    """One line for a person."""
    parts = [
        "network closed" if held.is_network_closed else "network OPEN",
        "memory and CPU limited" if held.memory and held.cpu else "memory or CPU NOT limited",
        "seccomp on" if held.seccomp else "seccomp OFF",
    ]
    if rest := [name for name in held.missing if name not in ("memory", "cpu", "seccomp")]:
        parts.append("missing: " + ", ".join(f"{name.replace('_', ' ')} ({MEANINGS[name]})" for name in rest))
    return ", ".join(parts)


def echo(payload: bytes) -> bytes:
    """A job for a worker that is started only to see which barriers it can put up."""
    return payload
