from gossamer.api import Collection as Collection
from gossamer.api import open as open
from gossamer.reader.extraction import PROCESSOR_GRAPH as PROCESSOR_GRAPH
from gossamer.reader.extraction import Extracted as Extracted
from gossamer.reader.extraction import Quad as Quad
from gossamer.reader.extraction import Remark as Remark
from gossamer.reader.extraction import extract as extract

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
