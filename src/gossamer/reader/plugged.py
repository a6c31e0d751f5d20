"""In a reader process: the job, with what the user has plugged in. See `plugins`."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.extract.jsonld.contexts import hold
from gossamer.plugins.code import loaded
from gossamer.plugins.contexts import contexts_in
from gossamer.plugins.record import DECODER, READERS
from gossamer.reader.reading import job
from gossamer.values.page import OwnReader, Text
from gossamer.values.url import admit


def reader(argument: str) -> Callable[[bytes], bytes]:
    """Foreign code is run here for the first time, before the walls close and the limits hold."""
    plugged = DECODER.decode(argument)
    for scheme, port in plugged.schemes:
        admit(scheme, port)
    if plugged.contexts:
        hold(contexts_in(Path(plugged.contexts)))
    own = {media_type: safe(loaded("reader", READERS, name, Path())) for media_type, name in plugged.readers}
    return lambda payload: job(payload, own)


def safe(read: Callable[..., object]) -> OwnReader:
    """Its faults cost the page its words, and nothing else."""

    def asked(body: bytes, url: str, media_type: str) -> Text | None:
        try:
            said = read(body, url, media_type)
            return None if said is None else msgspec.convert(said, Text, from_attributes=True)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - somebody else's code: it may raise anything
            return None

    return asked
