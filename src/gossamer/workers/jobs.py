"""The jobs that worker processes run, by name: who asks a worker need not load what its job stands on."""

import msgspec

from gossamer.values.messages import NOTHING, Plugged

READ = "gossamer.reader.reading:job"
"""One `ReadJob` in (`parts_of`), one `ReadDone` out, as msgpack."""
VERSIONS = "gossamer.reader.versions:job"
COPY = "gossamer.reader.copy:job"
SEARCH = "gossamer.web.search.job:search_in"
_WITH_PLUGINS = {READ: "gossamer.reader.plugged:reader", VERSIONS: "gossamer.reader.versions:with_own"}


def job_for(plugged: Plugged, job: str = READ) -> str:
    """What a worker is to run for a collection with these plug-ins."""
    return job if plugged == NOTHING else f"{_WITH_PLUGINS[job]} {msgspec.json.encode(plugged).decode()}"
