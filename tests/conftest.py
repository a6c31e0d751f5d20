"""For every test: programs they start can be told to stop, also where the suite itself runs in the background."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would theirs
