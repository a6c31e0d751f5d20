"""What processes ask of Python, libc and the kernel for speed's sake, each figure with its measured effect."""

import contextlib
import ctypes
import gc
import os
import resource
import sys
from pathlib import Path

from gossamer.base.clock import SystemClock

# Python's cycle collector, in processes that run for days and make a thousand short-lived objects a page.
YOUNG = 20_000
"""New objects after which crawler, indexer and facts keeper collect. Not measured by itself."""
YOUNG_WHERE_ANSWERED = 50_000
"""The same of the web process, whose answers die by count. Not measured by itself."""
COLLECT_EVERY = 100
"""Jobs of a worker: the answer is out by then, so nobody waits but the next. Not measured by itself."""
SWITCH_S = 0.0005
"""For which a thread of the web process keeps the interpreter: at 5 ms waiting was most of a search under load."""

# Memory and files.
KEPT_FREED = 64 << 20
"""Bytes: freed pieces up to this size are kept. To give a page's tree back each time was a tenth of a reader's time."""
KEPT_BY_CRAWLER = 1 << 20
"""The same of the crawler, through which bodies of 16 MiB pass: larger ones leave no holes (`make bench-memory`)."""
MOST_OPEN_FILES = 65_536
"""Of the crawler: each visit under way is a socket, and up to four times `crawl.at_once` are open."""

# Who stands back behind whom, as of nice(2). With sessions (decision 19): at 170 searches a second beside a crawl the
# server's p99 was 72 ms, and 220 ms without.
INDEXER_NICENESS = 3
"""Who searches goes first; but the readers stand back further still, so that pages are not read sooner than found."""
READER_NICENESS = 5
"""A crawl can wait, and who searches meanwhile should not. More would let a page of a second run out of its time."""
QUERY_NICENESS = 10
"""Behind the searches: beside a query without end their p99 was 27 to 33 ms, and 32 to 74 when this did not count."""
INDEX_MERGES = ("merge_thread",)
"""Threads of the index that merge what was written before: a commit does not wait for them, and they should not take
from it what it needs."""
INDEX_MERGES_NICENESS = 8
"""At 100,000 pages words were 3.2 s behind at worst, and 5.0 s without."""
GRAPH_MERGES = ("rocksdb:low",)
"""Threads of the store that merge what was written before: they begin anew with every second commit."""
GRAPH_MERGES_NICENESS = 10
"""Such a merge waits for spare time, and then takes all there is in one go: 0.14 ms of CPU a page instead of 0.63."""
MOST_TOLD = 20
"""Times that the kernel is told how far to stand back, where many processes begin at once."""

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # malloc.h


def relax_garbage_collection(young: int = YOUNG, oldest: int = 20) -> None:
    """Call once everything is open: what lives now lives to the end, and need not be looked at again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(young, 20, oldest)


def collect_between_jobs() -> None:
    """Of a worker: no collection by itself, only by `collect_after`. Most garbage dies by count."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect_after(done: int) -> None:
    """After so many jobs. What has outlived one collection is looked at with every tenth only, and all there is with
    every hundredth: a process that remembers much would stand still for it."""
    if done % COLLECT_EVERY == 0:
        gc.collect(generation_of(done // COLLECT_EVERY))


def generation_of(turn: int) -> int:
    """The oldest generation that the collector looks at in its nth turn."""
    return 2 if turn % 100 == 0 else 1 if turn % 10 == 0 else 0


def favour_short_requests() -> None:
    """For a process that answers many small questions from a few threads."""
    relax_garbage_collection(YOUNG_WHERE_ANSWERED, oldest=50)
    sys.setswitchinterval(SWITCH_S)


def keep_freed_memory(most: int = KEPT_FREED) -> None:
    """Tell glibc not to hand memory back to the kernel after every page: it is wanted again for the next one.

    Pieces larger than `most` bytes are handed back at once, and leave no holes: less of it is for a process through
    which large bodies pass. Elsewhere than on glibc this does nothing.
    """
    _mallopt((M_MMAP_THRESHOLD, most), (M_TRIM_THRESHOLD, 2 * most), (M_TOP_PAD, 16 << 20))


def keep_one_arena() -> None:
    """For a process whose address space is limited: each further arena of glibc would reserve 64 MiB of it."""
    _mallopt((M_ARENA_MAX, 1))


def _mallopt(*options: tuple[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in options:
            mallopt(option, value)


def allow_open_files(most: int = MOST_OPEN_FILES) -> int:
    """Raise the soft limit on open files as far as this process may, `most` being enough; what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return most if soft == resource.RLIM_INFINITY else soft


def lower_priority(niceness: int) -> None:
    """This process, what it starts from now on included, stands back behind whoever answers people. By `nice` alone it
    would get less of the CPU, but still take it from somebody else in mid-answer each time it has slept; as a batch job
    (sched(7)) it waits for its turn then."""
    os.nice(niceness)
    with contextlib.suppress(AttributeError, OSError):  # Linux only
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    lower_session_priority()


def lower_session_priority() -> None:
    """Where Linux shares out the CPUs by session (autogroup, sched(7)), as most distributions have it, a niceness
    counts only among the processes of one session, and each process started here has its own: then the whole session
    stands back, as far as this process does."""
    if os.getsid(0) != os.getpid():  # somebody else's: his shell would be slowed too
        return
    for _ in range(MOST_TOLD):
        try:
            Path("/proc/self/autogroup").write_text(str(max(0, os.nice(0))))
        except BlockingIOError:  # the kernel hears one such word in a tenth of a second
            SystemClock().pause(0.11)
        except OSError:  # nothing is shared out by session here
            return
        else:
            return
