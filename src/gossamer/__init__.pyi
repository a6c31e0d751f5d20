from gossamer.extracting import PROCESSOR_GRAPH as PROCESSOR_GRAPH
from gossamer.extracting import Extracted as Extracted
from gossamer.extracting import Quad as Quad
from gossamer.extracting import Remark as Remark
from gossamer.extracting import extract as extract
from gossamer.opening import Collection as Collection
from gossamer.opening import open as open

__version__: str
__all__ = [
    "PROCESSOR_GRAPH",
    "Collection",
    "Extracted",
    "Quad",
    "Remark",
    "__version__",
    "extract",
    "open",
]
