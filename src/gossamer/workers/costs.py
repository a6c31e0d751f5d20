"""Which hosts' pages cost readers much CPU time, from their latest pages. No IO."""

from collections import OrderedDict

HEAVY_S = 0.25
"""CPU seconds; an ordinary page takes two to twenty milliseconds."""
HEAVY_BYTES = 1 << 20
_MOST_HOSTS = 10_000


class Costs:
    """Remembers the hosts whose latest page was heavy; bounded, the longest unseen is forgotten first."""

    def __init__(self) -> None:
        self._heavy: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, cpu_s: float) -> None:
        if cpu_s >= HEAVY_S:
            self._heavy[host] = cpu_s
            self._heavy.move_to_end(host)
            if len(self._heavy) > _MOST_HOSTS:
                self._heavy.popitem(last=False)
        else:
            self._heavy.pop(host, None)

    def is_heavy(self, host: str, size: int) -> bool:
        """Whether a page of `size` bytes from there is likely to take a reader long."""
        return size > HEAVY_BYTES or host in self._heavy
