"""Python's cycle collector in processes that run for days and make a thousand short-lived objects a page."""

import gc

YOUNG = 20_000


def spare_the_collector() -> None:
    """Call once everything is open: what lives now lives to the end, and need not be looked at again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)
