"""A fake machine with fixed figures."""

from gossamer.monitor.pulse import NodeSample, ProcessSample, ThisMachine


class FixedMachine(ThisMachine):
    """It has the figures it was given; a test changes the fields."""

    def __init__(self, node: NodeSample) -> None:
        self.now = node
        self.processes: dict[int, ProcessSample] = {}

    def name(self) -> str:
        return self.now.name

    def node(self) -> NodeSample:
        return self.now

    def process(self, pid: int) -> ProcessSample | None:
        return self.processes.get(pid)
