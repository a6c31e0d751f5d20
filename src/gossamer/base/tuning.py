"""Process tuning: garbage collection, memory, open files and priorities.

Each figure has its measured effect.
"""

import contextlib
import ctypes
import gc
import os
import resource
import sys
import threading
from pathlib import Path

from gossamer.base.clock import SystemClock

# Python's cycle collector, in processes that run for days and create a thousand short-lived objects a page.
YOUNG = 20_000
"""New objects after which crawler, indexer and graph process collect. Not measured by itself."""
YOUNG_WHERE_ANSWERED = 50_000
"""The same for the web process, where most objects die by reference count. Not measured by itself."""
COLLECT_EVERY = 100
"""Jobs of a worker between collections, which run after the answer is sent. Not measured by itself."""
SWITCH_S = 0.0005
"""The web process's thread switch interval: at Python's 5 ms, waiting was most of a search's time under load."""

# Memory and files.
KEPT_FREED = 64 << 20
"""Bytes: freed blocks up to this size are kept. Returning each page's tree took a tenth of a reader's time."""
KEPT_BY_CRAWLER = 1 << 20
"""The same for the crawler, which handles bodies of 16 MiB: larger blocks leave no holes (`make bench-memory`)."""
MOST_OPEN_FILES = 65_536
"""For the crawler: each fetch in progress is a socket, and up to four times `crawl.at_once` are open."""

# Niceness, as of nice(2). With sessions (decision 19), the server's p99 at 170 searches per second during a crawl
# was 72 ms, and 220 ms without.
INDEXER_NICENESS = 3
"""Searches go first; readers run at lower priority still, so that pages are not read faster than they are indexed."""
READER_NICENESS = 5
"""Searches go before the crawl. With more, a page that takes a second to read would run out of time."""
QUERY_NICENESS = 10
"""Below searches: during an endless query their p99 was 27 to 33 ms, and 32 to 74 ms when this had no effect."""
INDEX_MERGES = ("merge_thread",)
"""Threads of the index that merge segments: commits do not wait for them, and they should not slow commits down."""
INDEX_MERGES_NICENESS = 8
"""At 100,000 pages the index delay was at most 3.2 s, and 5.0 s without."""
GRAPH_MERGES = ("rocksdb:low",)
"""Threads of the graph store that compact its files: every second commit starts them again."""
GRAPH_MERGES_NICENESS = 10
"""At low priority they compact rarely and all at once: 0.14 ms of CPU per page instead of 0.63."""
MOST_ATTEMPTS = 20
"""Attempts to set the session's priority, which the kernel limits when many processes start at once."""

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # malloc.h


def relax_garbage_collection(young: int = YOUNG, oldest: int = 20) -> None:
    """Call once everything is open: objects that live now live to the end and need not be scanned again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(young, 20, oldest)


def collect_between_jobs() -> None:
    """For workers: no automatic collection, only `collect_after`. Most garbage dies by reference count."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect_after(done: int) -> None:
    """Collect after so many jobs: the second generation every tenth time, everything every hundredth time only, because
    that stops a process with many objects for long."""
    if done % COLLECT_EVERY == 0:
        gc.collect(generation_of(done // COLLECT_EVERY))


def generation_of(turn: int) -> int:
    """The oldest generation to collect on the nth turn."""
    return 2 if turn % 100 == 0 else 1 if turn % 10 == 0 else 0


def favour_short_requests() -> None:
    """For a process that answers many short requests from a few threads."""
    relax_garbage_collection(YOUNG_WHERE_ANSWERED, oldest=50)
    sys.setswitchinterval(SWITCH_S)


def keep_freed_memory(most: int = KEPT_FREED) -> None:
    """Tell glibc not to return memory to the kernel after every page: the next one needs it again.

    Blocks larger than `most` bytes are returned at once and leave no holes. Does nothing without glibc.
    """
    _mallopt((M_MMAP_THRESHOLD, most), (M_TRIM_THRESHOLD, 2 * most), (M_TOP_PAD, 16 << 20))


def keep_one_arena() -> None:
    """For a process with limited address space: each further arena of glibc would reserve 64 MiB of it."""
    _mallopt((M_ARENA_MAX, 1))


def _mallopt(*options: tuple[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in options:
            mallopt(option, value)


def allow_open_files(most: int = MOST_OPEN_FILES) -> int:
    """Raise the soft limit on open files as far as allowed, up to `most`; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return most if soft == resource.RLIM_INFINITY else soft


def lower_priority(niceness: int) -> None:
    """Run this process and its future children at low priority. `nice` alone reduces its share of the CPU, but it would
    still interrupt others each time it wakes up; as a batch job (sched(7)) it waits for its turn."""
    os.nice(niceness)
    with contextlib.suppress(AttributeError, OSError):  # Linux only
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    lower_session_priority()


def lower_own_thread_priority(niceness: int) -> None:
    """Run the calling thread at low priority, for as long as it lives."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def lower_session_priority() -> None:
    """Where Linux shares the CPUs by session (autogroup, sched(7)), as on most distributions, niceness counts only
    within a session, and each process started here has its own: so lower the whole session."""
    if os.getsid(0) != os.getpid():  # another process's session: the user's shell would be slowed down too
        return
    for _ in range(MOST_ATTEMPTS):
        try:
            Path("/proc/self/autogroup").write_text(str(max(0, os.nice(0))))
        except BlockingIOError:  # the kernel accepts one change in a tenth of a second
            SystemClock().pause(0.11)
        except OSError:  # no autogroups here
            return
        else:
            return
