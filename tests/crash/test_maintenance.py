"""Kills inside the maintenance commands, one for each; `make crash KILLS=200` has more."""

from pathlib import Path

import pytest
from tests.crash import maintenance


@pytest.mark.slow
@pytest.mark.timeout(1100)
def test_F_P1_a_kill_inside_a_maintenance_command_loses_nothing(tmp_path: Path) -> None:
    report = maintenance.run(len(maintenance.TASKS), tmp_path, seed=14)
    assert report.errors == []
    assert set(report.kills) == {task.name for task in maintenance.TASKS}
