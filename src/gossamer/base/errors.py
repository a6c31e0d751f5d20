"""What can go wrong on our side. The web's faults are values (`values.outcome`), never exceptions."""

from pathlib import Path
from types import TracebackType


class GossamerError(Exception):
    """Something on this machine is not as it must be. The message says what, and what to do next."""


class ConfigError(GossamerError):
    """A setting is unknown, or its value cannot be."""


class DirectoryBusy(GossamerError):
    """Another process is writing to this data directory."""


class DirectoryUnusable(GossamerError):
    """The data directory is missing, is not ours, or was made by a newer program."""


class ViewDamaged(DirectoryUnusable):
    """A view on disk cannot be read. It is made from the archive, so it can be made again."""

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
    """What a native library raises (`kinds`), or panics with, while it reads the view at `path`, as ViewDamaged."""

    def __init__(self, path: Path, *kinds: type[Exception]) -> None:
        self._path, self._kinds = path, kinds

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or isinstance(trouble, GossamerError):
            return
        is_panic = kind.__name__ == "PanicException"  # how Rust's panics come out; no Exception
        if is_panic or issubclass(kind, self._kinds):
            raise ViewDamaged(self._path, trouble) from trouble


class DiskFull(GossamerError):
    """There is no room to keep what was fetched. The crawl pauses; nothing acknowledged is lost."""


class ArchiveDamaged(GossamerError):
    """A volume holds bytes that are no WARC record."""


class QueryRefused(GossamerError):
    """A search or SPARQL query that we will not, or cannot, answer. The message is fit for the person who asked."""


class QueryTooLong(QueryRefused):
    """The query was stopped at its time, memory or size limit."""


class WorkerLost(GossamerError):
    """A worker process ended, hung or ran over its limits while it held a job; `why` is its reason code.

    `cpu_s` is what the job cost before it was given up; `used_up` says that it ended at its limit of CPU time, so that
    a second attempt would end there too.
    """

    def __init__(self, why: str, detail: str = "", cpu_s: float = 0.0, used_up: bool = False) -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why, self.cpu_s, self.used_up = why, cpu_s, used_up
