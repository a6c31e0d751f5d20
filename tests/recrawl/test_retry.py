"""When to try again after a failure."""

import pytest

from gossamer.base.clock import SECOND
from gossamer.recrawl.retry import TRANSIENT, Retry, next_due
from gossamer.values.outcome import Reason

NOW = 1_700_000_000 * SECOND


@pytest.mark.parametrize("reason", sorted(TRANSIENT))
def test_a_failure_that_may_pass_is_tried_again(reason: Reason) -> None:
    assert next_due(0, reason, NOW, 0.0, Retry()) == NOW + 30 * SECOND


@pytest.mark.parametrize("reason", sorted(set(Reason) - TRANSIENT))
def test_any_other_failure_is_final(reason: Reason) -> None:
    assert next_due(0, reason, NOW, 0.0, Retry()) is None


def test_the_wait_doubles_and_is_capped() -> None:
    settings = Retry(base_s=30.0, cap_s=100.0, tries=10)
    waits = [(next_due(failures, Reason.DNS, NOW, 0.0, settings) or 0) - NOW for failures in range(4)]
    assert waits == [30 * SECOND, 60 * SECOND, 100 * SECOND, 100 * SECOND]


def test_the_wait_is_jittered_by_up_to_half() -> None:
    assert next_due(0, Reason.DNS, NOW, 0.5, Retry()) == NOW + round(37.5 * SECOND)


def test_the_first_try_is_counted() -> None:
    assert next_due(1, Reason.TIMEOUT, NOW, 0.0, Retry(tries=3)) is not None
    assert next_due(2, Reason.TIMEOUT, NOW, 0.0, Retry(tries=3)) is None
    assert next_due(0, Reason.TIMEOUT, NOW, 0.0, Retry(tries=1)) is None


def test_F_H3_a_cut_body_is_tried_once_more() -> None:
    assert next_due(0, Reason.DISCONNECTED, NOW, 0.0, Retry(tries=9)) is not None
    assert next_due(1, Reason.DISCONNECTED, NOW, 0.0, Retry(tries=9)) is None


@pytest.mark.parametrize("values", [{"base_s": 0.0}, {"base_s": 10.0, "cap_s": 5.0}, {"tries": 0}])
def test_impossible_settings_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Retry(**values)  # type: ignore[arg-type]
