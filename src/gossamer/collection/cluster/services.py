"""Whether the services of a cluster do what it needs, each tried with a real write and read."""

import asyncio
import re
from collections.abc import Callable
from contextlib import closing

import msgspec

from gossamer.archive.segments.check import check_storage
from gossamer.base.clock import Clock
from gossamer.base.environment import random_token
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.config.settings import Settings
from gossamer.store.service import Service, ServiceLost, ServiceRefused
from gossamer.views.facts.server.endpoint import SparqlServer
from gossamer.views.facts.server.fitness import refuse_unfit
from gossamer.views.words.opensearch.index import divided, meta_of
from gossamer.views.words.place import SETTING as WORDS

LEAST_OPENSEARCH = (2, 0)
JSON = {"Content-Type": "application/json"}
_DOCUMENT = {"says": "written when a cluster is made, and removed at once"}


class _Version(msgspec.Struct, frozen=True):
    number: str = ""
    distribution: str = ""


class _About(msgspec.Struct, frozen=True):
    version: _Version = _Version()


class ServiceChecked(msgspec.Struct, frozen=True):
    setting: str
    says: str
    """What was tried."""


async def checked_services(settings: Settings, owner: str, clock: Clock) -> list[ServiceChecked]:
    """The three services besides the database. Raises ConfigError for the first that is unfit, or does not answer.

    `owner`: the id of the cluster, for the index that it already has."""
    views = settings.views
    storage = "archive.storage" if settings.archive.storage else "archive.directories"
    tried: list[tuple[str, Callable[[], str]]] = [
        (storage, lambda: check_storage(settings, clock)),
        (WORDS, lambda: check_words(views.words, owner, clock)),
        ("views.facts", lambda: check_facts(views.facts, views.facts_update, clock)),
    ]
    return [ServiceChecked(name, await asyncio.to_thread(check)) for name, check in tried]


def check_words(address: str, owner: str, clock: Clock) -> str:
    """Reachable, of a version that is known to work, and it lets us make an index, write, read and remove."""
    place, prefix = divided(address)
    with closing(Service(WORDS, place, clock, silent)) as service:
        try:
            about = msgspec.json.decode(service.ask("GET", "/").body, type=_About).version
            if about.distribution != "opensearch" or numbers_of(about.number) < LEAST_OPENSEARCH:
                raise ConfigError(
                    f"{service.name} is {about.distribution or 'another program'} {about.number}; words need "
                    f"OpenSearch {LEAST_OPENSEARCH[0]} or newer"
                )
            meta = meta_of(service, prefix)
            if meta is not None and meta.owner != owner:
                raise ConfigError(f"{service.name}: the index {prefix} belongs to another collection; name another one")
            index = f"{prefix}-check-{random_token(9).lower().replace('_', '.')}"
            _try_index(service, index)
        except ServiceLost as lost:
            raise ConfigError(f"{lost}: start it, or correct its address") from lost
        except ServiceRefused as refused:
            raise ConfigError(str(refused)) from refused
        except msgspec.MsgspecError as trouble:
            raise ConfigError(f"{service.name} is no OpenSearch: {trouble}") from trouble
        return f"{service.name}: OpenSearch {about.number}; made an index, wrote and read a document, removed it"


def _try_index(service: Service, index: str) -> None:
    service.ask("PUT", f"/{index}", b"{}", headers=JSON)
    try:
        service.ask("PUT", f"/{index}/_doc/1?refresh=true", msgspec.json.encode(_DOCUMENT), headers=JSON)
        service.ask("GET", f"/{index}/_doc/1")
    finally:
        service.ask("DELETE", f"/{index}")


def numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def check_facts(query: str, update: str, clock: Clock) -> str:
    """See `views/facts/server/fitness.py`."""
    with closing(SparqlServer(query, update, clock, silent)) as server:
        try:
            refuse_unfit(server, random_token(16))
        except ServiceLost as lost:
            raise ConfigError(f"{lost}: start it, or correct its address") from lost
        return f"{server.name}: wrote, replaced, read and removed the facts of a page; a failed update changed nothing"
