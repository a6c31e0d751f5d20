"""Child processes: which ones a signal reaches."""

import os

import pytest

from gossamer.base.processes import SystemProcesses

LONG_S = 120.0


def test_the_group_id_of_a_reaped_process_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    child = SystemProcesses().start("keyword", [])
    assert child.wait(LONG_S) == 0, "reaped: another process may get its id"
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    child.kill()
    child.ask_to_stop()
    assert sent == [] and child.exit_code() == 0
