"""Children: whom a signal reaches."""

import os

import pytest

from gossamer.base.processes import SystemProcesses

LONG_S = 120.0


def test_a_process_that_was_reaped_leaves_a_group_id_that_is_signalled_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    child = SystemProcesses().start("keyword", [])
    assert child.wait(LONG_S) == 0, "reaped: its id may be a stranger's from now on"
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    child.kill()
    child.ask_to_stop()
    assert sent == [] and child.exit_code() == 0
