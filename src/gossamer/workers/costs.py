"""What pages are likely to cost a reader, from their size and the host's earlier pages. No IO."""

from collections import OrderedDict

from gossamer.workers.lines import Line

PROVEN_S = 0.05
"""CPU seconds; an ordinary page takes two to twenty milliseconds."""
HEAVY_S = 0.25
SMALL_BYTES = 64 << 10
HEAVY_BYTES = 1 << 20
FADES = 0.25
"""How much of the distance to a cheaper page the expectation moves. A dear one counts in full at once, so that a host
cannot earn the quick line with every other page: after one of 5 s it takes 17 cheap ones."""
_MOST_HOSTS = 1 << 15


class Costs:
    """Remembers what to expect of a host; bounded, the longest unseen is forgotten first."""

    def __init__(self) -> None:
        self._expected_s: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, cpu_s: float) -> None:
        """A page of this host was read, or could not be, and took so long."""
        before_s = self._expected_s.pop(host, cpu_s)
        self._expected_s[host] = max(cpu_s, before_s + FADES * (cpu_s - before_s))
        if len(self._expected_s) > _MOST_HOSTS:
            self._expected_s.popitem(last=False)

    def line(self, host: str, size: int, is_page: bool = True) -> Line:
        """Where a body of `size` bytes from there waits. What is no page to be read is as cheap as it is small."""
        expected_s = self._expected_s.get(host) if is_page else 0.0
        if is_page and (size > HEAVY_BYTES or (expected_s is not None and expected_s >= HEAVY_S)):
            return Line.HEAVY
        if size > SMALL_BYTES and (expected_s is None or not is_page):
            return Line.LARGE
        return Line.PROVEN if expected_s is not None and expected_s < PROVEN_S else Line.SMALL
