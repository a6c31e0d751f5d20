from gossamer.api import open as open
from gossamer.collection.collection import Collection as Collection
from gossamer.fetch.protocols import Answer as Answer
from gossamer.reader.extraction import PROCESSOR_GRAPH as PROCESSOR_GRAPH
from gossamer.reader.extraction import Extracted as Extracted
from gossamer.reader.extraction import Remark as Remark
from gossamer.reader.extraction import extract as extract
from gossamer.values.page import Quad as Quad
from gossamer.values.page import Text as Text

__version__: str
