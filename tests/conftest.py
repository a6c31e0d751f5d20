"""For every test: programs they start can be told to stop, also where the suite itself runs in the background; and no
property fails for the time it took, on a machine that has other work."""

import signal

import hypothesis

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would theirs
hypothesis.settings.register_profile("without a clock", deadline=None)
hypothesis.settings.load_profile("without a clock")
