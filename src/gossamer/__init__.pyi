from gossamer.extracting import PROCESSOR_GRAPH as PROCESSOR_GRAPH
from gossamer.extracting import Extracted as Extracted
from gossamer.extracting import Quad as Quad
from gossamer.extracting import Remark as Remark
from gossamer.extracting import extract as extract

__version__: str
__all__ = ["PROCESSOR_GRAPH", "Extracted", "Quad", "Remark", "__version__", "extract"]
