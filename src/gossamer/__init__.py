"""Gossamer: a polite web spider and semantic search engine."""

from importlib import import_module

from gossamer import extract

# `gossamer.extract` is the function for programs, and a room has that name too. The room is loaded here first, which
# costs nothing, and its name let go of: had it been loaded later, the import system would have put it in the function's
# place. The function itself is found when it is first asked for, since the parsers behind it take a tenth of a second
# that a process without need of them should not pay. (The room made callable would hide the signature from a type
# checker; `__init__.pyi` tells it.)
del extract

__version__ = "0.1.0"
_WHERE = {
    "Answer": "gossamer.fetch.protocols",
    "PROCESSOR_GRAPH": "gossamer.reader.extraction",
    "Extracted": "gossamer.reader.extraction",
    "Quad": "gossamer.values.page",
    "Remark": "gossamer.reader.extraction",
    "Text": "gossamer.values.page",
    "extract": "gossamer.reader.extraction",
    "Collection": "gossamer.collection.collection",
    "open": "gossamer.api",
}
__all__ = [
    "PROCESSOR_GRAPH",
    "Answer",
    "Collection",
    "Extracted",
    "Quad",
    "Remark",
    "Text",
    "__version__",
    "extract",
    "open",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
