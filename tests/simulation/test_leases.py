"""Crawlers that freeze, die and lose messages on a shared frontier: see `leases`. `make simulate-leases` runs many."""

from pathlib import Path

import pytest
from tests.postgres_server import server, why_absent

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

from tests.simulation.leases import Kind, simulate


@pytest.mark.parametrize("seed", range(6))
def test_no_lease_has_two_owners_and_nothing_is_lost(seed: int, tmp_path: Path) -> None:
    ran = simulate(seed, server().conninfo_for(tmp_path, waits_for_disk=False), Kind(pages=8))
    assert ran.requests >= ran.settled > 0
