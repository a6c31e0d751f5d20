"""Where the words of a collection are, by its settings.

In the folder `index`, or in an index of an OpenSearch service.

With a service the folder has two small files: `service` names the index, and `service-position` is the writer's last
position, for a start while the service is gone. Without them an index at the service is made again from the archive.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gossamer.base.clock import Clock
from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.base.files import Files
from gossamer.base.tell import Tell, silent
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.store.directory import GENERATION, INDEX, UNFINISHED, Directory
from gossamer.store.documents import IDENTITY, document
from gossamer.store.options import config_of
from gossamer.store.service import Service, ServiceLost
from gossamer.store.state import is_cluster, open_state
from gossamer.views.words.opensearch.index import divided, meta_of, remove
from gossamer.views.words.opensearch.searcher import ServiceSearcher
from gossamer.views.words.opensearch.writer import ServiceWriter, WriterIdentity
from gossamer.views.words.reader import WordsReader
from gossamer.views.words.schema import FORMAT
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

SETTING = "views.words"
MARK, REMEMBERED = "service", "service-position"
OWNER = IDENTITY
"""In the directory of the collection: a random name, by which the index knows whose pages it has."""


@dataclass(frozen=True, slots=True)
class WordsPlace:
    """An index of a service."""

    address: str
    index: str

    def service(self, clock: Clock, tell: Tell) -> Service:
        return Service(SETTING, self.address, clock, tell)


def place_of(directory: Directory) -> WordsPlace | None:
    """None: the words are in the directory."""
    try:
        given = config_of(directory.root).settings.views.words
    except ConfigError:
        if _service_in(directory.index):
            raise
        return None
    if not given:
        return None
    address, prefix = divided(given)
    made = GENERATION.fullmatch(directory.views_folder.name.removesuffix(UNFINISHED))
    is_first = made is None or directory.views_folder == directory.root
    return WordsPlace(address, prefix if is_first else f"{prefix}-{made[1] if made else ''}")


def service_place(directory: Directory) -> WordsPlace:
    """The same for a cluster. Raises ConfigError if its settings name no service."""
    if (place := place_of(directory)) is None:
        raise ConfigError(f"this cluster has no service for its words: set {SETTING}")
    return place


def cluster_owner(directory: Directory) -> str:
    """The name by which the indexes of a cluster know whose pages they have."""
    with closing(open_state(directory)) as state:
        found = document(state, IDENTITY)
    if found is None:
        raise ConfigError("this is no cluster yet: make it with `gossamer cluster init`")
    return found.decode("ascii", "replace")


def words_reader(directory: Directory, clock: Clock, vocabularies: Callable[[], Vocabularies] = bundled) -> WordsReader:
    """Not open yet."""
    place, folder = place_of(directory), directory.index
    if place is None:
        if (name := _service_in(folder)) and not (folder / FORMAT).exists():
            raise ConfigError(
                f"the words of this collection are at {name.removeprefix(f'{SETTING} at ')}: set {SETTING}, or if its "
                f"{directory.config.name} does: gossamer trust --dir {directory.root} --allow"
            )
        return Searcher(folder, vocabularies)
    position = folder / REMEMBERED
    return ServiceSearcher(
        place.service(clock, silent),
        place.index,
        lambda: position.read_bytes() if position.is_file() else b"",
        vocabularies,
    )


def words_writer(
    directory: Directory, files: Files, clock: Clock, tell: Tell, is_stopping: Callable[[], bool] = lambda: False
) -> IndexWriter | ServiceWriter:
    """Not open yet. `is_stopping`: whether a service that is gone should not be waited for any longer."""
    place, folder = place_of(directory), directory.index
    if is_cluster(directory):
        place = service_place(directory)
        identity = WriterIdentity(place.index, cluster_owner(directory))
        return ServiceWriter(place.service(clock, tell), identity, tell, is_stopping=is_stopping)
    if place is None:
        return IndexWriter(folder, files, tell)
    files.make_folder(folder)
    service = place.service(clock, tell)
    mark = f"{service.name}\n{place.index}\n".encode()
    is_known = files.size(folder / MARK) is not None and files.read(folder / MARK) == mark
    remembered = folder / REMEMBERED
    identity = WriterIdentity(
        place.index,
        _owner(directory, files),
        remember=partial(files.write, remembered),
        remembered=files.read(remembered) if is_known and files.size(remembered) is not None else b"",
        is_new=not is_known,
        claim=lambda: files.write(folder / MARK, mark),
    )
    return ServiceWriter(service, identity, tell, is_stopping=is_stopping)


def is_embedded(directory: Directory) -> bool:
    """Whether the words are in files of the directory."""
    return place_of(directory) is None


def remove_words(directory: Directory, folders: Iterable[Path], files: Files, clock: Clock, tell: Tell) -> None:
    """Remove the indexes that these views, which are no longer used, have at the service; one that is gone keeps
    them."""
    place = place_of(directory)
    if place is None:
        return
    service = place.service(clock, tell)
    for path in folders:
        mark = (path if path.name == INDEX else path / INDEX) / MARK
        if not mark.is_file():
            continue
        name, index, *_ = [*files.read(mark).decode("utf-8", "replace").splitlines(), "", ""]
        if name != service.name or not index:
            continue
        try:
            meta = meta_of(service, index)
            if meta is not None and meta.owner == _owner(directory, files):
                remove(service, index)
        except (ServiceLost, GossamerError) as trouble:
            tell("index.not-removed", index=index, because=str(trouble))


def _service_in(folder: Path) -> str:
    """The name of the service that has the words, by the file MARK; empty without one."""
    mark = folder / MARK
    return mark.read_bytes().decode("utf-8", "replace").partition("\n")[0] if mark.is_file() else ""


def _owner(directory: Directory, files: Files) -> str:
    path = directory.root / OWNER
    if files.size(path) is None:
        files.write(path, random_token(12).encode())
    return files.read(path).decode("ascii", "replace")
