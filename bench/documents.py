"""CPU time of reading documents, and how many of their owners' strings are found, beside markitdown if installed.

`python -m bench.documents [FOLDER]`: the folder of the public test documents, with its `manifest.json`.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from gossamer.parse.documents.converter import convert, is_document
from gossamer.parse.sniff import media_type_of
from gossamer.values.document import DocumentText

FOLDER = Path(__file__).parents[2] / "shared" / "conformance" / "documents"
REPEATED = 5
"""The quickest of so many counts: other processes only make it slower."""
NO_DOCUMENTS = ("html", "txt", "xml")


@dataclass(slots=True)
class Sums:
    """Of one kind of document and one reader."""

    files: int = 0
    size: int = 0
    cpu_s: float = 0.0
    asked: int = 0
    found: int = 0
    unwanted: int = 0
    slowest: str = ""
    slowest_s: float = 0.0
    failed: list[str] = field(default_factory=list)


def ours(body: bytes, name: str) -> str:
    kind = media_type_of("application/octet-stream", body, name)
    found = convert(body, kind) if is_document(kind) else None
    if not isinstance(found, DocumentText):
        return ""
    said = found.metadata
    values = (said.title, said.subject, said.description, *said.keywords, *said.authors)
    return " ".join([*[block.text for block in found.blocks], *values])


def markitdown() -> Callable[[bytes, str], str] | None:
    try:
        from markitdown import MarkItDown, MarkItDownException, StreamInfo
    except ImportError:
        return None
    peer: Any = MarkItDown()

    def read(body: bytes, name: str) -> str:
        try:
            return str(peer.convert_stream(BytesIO(body), stream_info=StreamInfo(extension=Path(name).suffix)).markdown)
        except (MarkItDownException, ValueError, LookupError, OSError, RuntimeError):
            return ""

    return read


def measured(read: Callable[[bytes, str], str], folder: Path) -> dict[str, Sums]:
    found: dict[str, Sums] = defaultdict(Sums)
    for one in json.loads((folder / "manifest.json").read_text()):
        kind = one["file"].split("/")[0]
        if kind in NO_DOCUMENTS:
            continue
        body, sums = (folder / one["file"]).read_bytes(), found[kind]
        took = []
        for _ in range(REPEATED):
            began = time.process_time()
            text = read(body, one["file"])
            took.append(time.process_time() - began)
        words = " ".join(text.split())
        sums.files += 1
        sums.size += len(body)
        sums.cpu_s += min(took)
        if min(took) > sums.slowest_s:
            sums.slowest, sums.slowest_s = one["file"], min(took)
        asked = [" ".join(text.split()) for text in one.get("contains", ())]
        sums.asked += len(asked)
        sums.found += sum(text in words for text in asked)
        sums.unwanted += sum(" ".join(text.split()) in words for text in one.get("not_contains", ()))
        if not text:
            sums.failed.append(one["file"])
    return found


def report(name: str, found: dict[str, Sums]) -> None:
    print(name)
    print(f"{'kind':8}{'files':>7}{'MB':>7}{'ms a file':>11}{'found':>7}{'asked':>7}{'unwanted':>10}{'no text':>9}")
    for kind, one in sorted(found.items()):
        print(
            f"{kind:8}{one.files:7}{one.size / 1e6:7.2f}{one.cpu_s / one.files * 1e3:11.2f}{one.found:7}{one.asked:7}"
            f"{one.unwanted:10}{len(one.failed):9}"
        )
    every = list(found.values())
    files = sum(one.files for one in every)
    print(
        f"{'all':8}{files:7}{sum(one.size for one in every) / 1e6:7.2f}"
        f"{sum(one.cpu_s for one in every) / files * 1e3:11.2f}{sum(one.found for one in every):7}"
        f"{sum(one.asked for one in every):7}{sum(one.unwanted for one in every):10}"
        f"{sum(len(one.failed) for one in every):9}"
    )
    slowest = max(every, key=lambda one: one.slowest_s)
    print(f"slowest: {slowest.slowest}, {slowest.slowest_s * 1e3:.0f} ms\n")


def main(words: list[str]) -> None:
    folder = Path(words[0]) if words else FOLDER
    report("gossamer", measured(ours, folder))
    if (peer := markitdown()) is not None:
        report("markitdown", measured(peer, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
