"""The memory of a real crawler process while many hosts send their largest bodies at once."""

import asyncio
from pathlib import Path

from bench.memory import MemoryRun, measured

MIB = 1 << 20


def test_F_X2_many_large_pages_at_once_stay_within_the_budget(tmp_path: Path) -> None:
    """48 MiB of pages under a budget of 32; an earlier version held three copies of all of them."""
    run = MemoryRun(24, 2 * MIB, is_sitemap=False, memory_mib=32)
    baseline = asyncio.run(measured(MemoryRun(1, 1024, False, 32), tmp_path / "small"))[1]
    status, peak, _, whole = asyncio.run(measured(run, tmp_path / "large"))
    assert whole == 24 and status["outcomes"] == {"fetched": 24}
    print(f"peak {peak / MIB:.0f} MiB, with one small page {baseline / MIB:.0f} MiB")
    assert peak - baseline < 32 * MIB
