"""What can go wrong on our side. The web's faults are values (`values.outcome`), never exceptions."""


class GossamerError(Exception):
    """Something on this machine is not as it must be. The message says what, and what to do next."""


class ConfigError(GossamerError):
    """A setting is unknown, or its value cannot be."""


class DirectoryBusy(GossamerError):
    """Another process is writing to this data directory."""


class DirectoryUnusable(GossamerError):
    """The data directory is missing, is not ours, or was made by a newer program."""


class DiskFull(GossamerError):
    """There is no room to keep what was fetched. The crawl pauses; nothing acknowledged is lost."""


class ArchiveDamaged(GossamerError):
    """A volume holds bytes that are no WARC record."""


class QueryRefused(GossamerError):
    """A search or SPARQL query that we will not, or cannot, answer. The message is fit for the person who asked."""


class QueryTooLong(QueryRefused):
    """The query was stopped at its time, memory or size limit."""


class WorkerLost(GossamerError):
    """A worker process ended, hung or ran over its limits while it held a job; `why` is its reason code."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why = why
