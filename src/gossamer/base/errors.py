"""Errors on our side. Errors on the web are values (`values.outcome`), never exceptions."""

from pathlib import Path
from types import TracebackType


class GossamerError(Exception):
    """Something is wrong on this machine. The message says what, and what to do next."""


class ConfigError(GossamerError):
    """A setting is unknown or has an invalid value."""


class DirectoryBusy(GossamerError):
    """Another process is writing to this data directory."""


class DirectoryUnusable(GossamerError):
    """The data directory is missing, not ours, or written by a newer version."""


class ViewDamaged(DirectoryUnusable):
    """A view on disk cannot be read. It can be rebuilt from the archive."""

    def __init__(self, path: Path, why: object) -> None:
        root = path.parent.parent if path.parent.name.startswith("views-") else path.parent
        words = " ".join(str(why).split())[:300] or type(why).__name__
        super().__init__(f"{path} is damaged ({words}). `gossamer rebuild --dir {root}` rebuilds it from the archive")
        self.path, self.why = path, words


class StateDamaged(DirectoryUnusable):
    """`state.db` cannot be read."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{path} is damaged ({why}). `gossamer rebuild --state --dir {path.parent}` rebuilds it from the "
            "archive, and keeps the damaged file"
        )


class damage_named:
    """A context manager that turns a native library's errors (`kinds`) and panics at `path` into ViewDamaged."""

    def __init__(self, path: Path, *kinds: type[Exception]) -> None:
        self._path, self._kinds = path, kinds

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or isinstance(trouble, GossamerError):
            return
        is_panic = kind.__name__ == "PanicException"  # a panic in Rust; not a subclass of Exception
        if is_panic or issubclass(kind, self._kinds):
            raise ViewDamaged(self._path, trouble) from trouble


class DatabaseLost(DirectoryUnusable):
    """The database cannot be reached. Nothing acknowledged is lost; the crawl may be started again."""


class DatabaseEmpty(DirectoryUnusable):
    """The database has no tables of a crawl."""


class DiskFull(GossamerError):
    """No disk space left for what was fetched. The crawl pauses; nothing acknowledged is lost."""


class ArchiveDamaged(GossamerError):
    """A volume contains bytes that are not a WARC record."""


class QueryRefused(GossamerError):
    """A search or SPARQL query that is not answered. The message is written for the person who sent it."""


class QueryTooLong(QueryRefused):
    """The query reached its time, memory or size limit."""


class WorkerLost(GossamerError):
    """A worker process ended, hung or exceeded its limits during a job; `why` is the reason code.

    `cpu_s` is the CPU time spent on the job; `used_up` means that it reached its CPU limit, so a retry would too.
    """

    def __init__(self, why: str, detail: str = "", cpu_s: float = 0.0, used_up: bool = False) -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why, self.cpu_s, self.used_up = why, cpu_s, used_up
