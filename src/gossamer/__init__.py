"""Gossamer: a polite web spider and semantic search engine."""

from importlib import import_module

from gossamer import extract

# `gossamer.extract` is a function, and also the name of a package. The package is imported here first, which costs
# nothing, and its name deleted: imported later, it would replace the function. The function itself is imported on first
# use, since its parsers take a tenth of a second that other processes should not spend. (`__init__.pyi` gives type
# checkers the signature.)
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
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
