"""Hours of revisits on a virtual clock: memory, tasks and open files do not grow. `make soak` is the long run."""

import tempfile
from pathlib import Path

import pytest
from tests.simulation.soak import Reading, Soak, Soaked
from tests.simulation.test_simulation import memory


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_F_P13_hours_of_revisits_do_not_increase_memory_tasks_and_open_files() -> None:
    soak = Soak(hours=5.0, every_hours=0.5, hosts=4, pages=16, visits_a_day=360.0, turn_hours=2.0)
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        found = soak.run_virtual(Path(folder))
    assert found.growing() == [] and found.readings[-1].visits > 80
    assert found.slope(lambda one: one.objects) < 500, "per hour"


def test_growth_is_detected() -> None:
    def reading(hour: int) -> Reading:
        return Reading(hour, hour * (3 << 20), 0, 0, 5 + hour, 10 + hour, 7)

    messages = Soaked(tuple([reading(hour) for hour in range(20)])).growing()
    assert [one.split()[0] for one in messages] == ["memory", "18", "13", "nothing"]
