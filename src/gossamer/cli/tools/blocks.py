"""The content of a page for its author: its blocks, and the document slope curve."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from gossamer.cli.output import plain
from gossamer.parse.blocks.choice import CONTENT
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.content import Blocks, PageBlock, blocks_of, may_have_nosnippet, readable_markup
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.slope import TokenSpan, classic_block, slope_curve, spans_of, tags_and_words, windowed_blocks
from gossamer.parse.sniff import HTML, essence
from gossamer.values.format import counted

MOST_BLOCKS = 12
MOST_LEFT_OUT = 4
_FIRST_WORDS = 72
_HEIGHT = 14
_MARGIN = 9
MOST_POINTS = 1_000
"""Of the curve, in JSON."""
_MOST_PLACED = 5_000


class PageContent(NamedTuple):
    blocks: Blocks
    markup: str
    """The body, serialized without what is not read."""


def page_content(body: bytes, media_type: str) -> PageContent | None:
    """None if it is not HTML."""
    if essence(media_type) not in HTML:
        return None
    markup = as_utf8(body, charset_of(media_type, body).encoding)
    blocks = blocks_of(scan_html(parse_html(markup).tree), may_have_nosnippet(markup))
    return PageContent(blocks, readable_markup(scan_html(parse_html(markup).tree)))


def words_in(text: str) -> int:
    return len(text.split())


def _first_words(text: str) -> str:
    short = text if len(text) <= _FIRST_WORDS else text[:_FIRST_WORDS].rpartition(" ")[0] + " ..."
    return plain(short)


def content_json(found: Blocks) -> dict[str, object]:
    content = sum(words_in(block.text) for block in found.blocks if block.importance >= CONTENT)
    every = sum(words_in(block.text) for block in found.blocks) + words_in(found.rest)
    return {
        "words": content,
        "words_of_page": every,
        "left_out": round(1 - content / every, 3) if every else 0.0,
        "is_article": found.is_article,
        "blocks": [
            {
                "text": block.text,
                "importance": round(block.importance, 3),
                "is_content": block.importance >= CONTENT,
                "heading_level": block.level or None,
                "element": block.tag,
            }
            for block in found.blocks
        ],
        "rest": found.rest,
    }


def show_content(found: Blocks, out: Console) -> None:
    inside = [block for block in found.blocks if block.importance >= CONTENT]
    outside = [block for block in found.blocks if block.importance < CONTENT]
    content = sum(words_in(block.text) for block in inside)
    every = content + sum(words_in(block.text) for block in outside) + words_in(found.rest)
    if not every:
        out.print(Text("Content: this page has no text.", style="dim"))
        return
    head = Text("Content: ", style="bold")
    head.append(f"{content:,} of {counted(every, 'word')}, in {counted(len(inside), 'block')}", style="not bold")
    why = "an article was found" if found.is_article else "no article: all but menus, headers, asides and footers"
    head.append(f"  ({why})", style="not bold dim")
    out.print(head, soft_wrap=True)
    _list(inside, MOST_BLOCKS, out)
    left = every - content
    head = Text("Left out: ", style="bold")
    head.append(f"{counted(left, 'word')}, {left / every:.0%} of the text", style="not bold")
    head.append("  (searches find it too, but it counts less)", style="not bold dim")
    out.print(head, soft_wrap=True)
    _list(sorted(outside, key=lambda block: -words_in(block.text)), MOST_LEFT_OUT, out)


def _list(blocks: Sequence[PageBlock], most: int, out: Console) -> None:
    for block in blocks[:most]:
        line = Text(f"  {block.importance:4.2f}  ", style="cyan")
        line.append(f"{plain(block.tag)[:10]:10}  ", style="dim")
        line.append(_first_words(block.text), style="bold" if block.level else "default")
        out.print(line, soft_wrap=True)
    if len(blocks) > most:
        out.print(f"        ... and {len(blocks) - most:,} more: see --json", style="dim")


class Slope:
    """The curve of one page and three answers to where its content is."""

    def __init__(self, page: PageContent) -> None:
        self._tokens = tags_and_words(page.markup)
        bits = self._tokens.bits
        self.curve = slope_curve(bits)
        self.classic = classic_block(bits)
        self.windowed = windowed_blocks(bits)
        texts = [(block.text, block.importance >= CONTENT) for block in page.blocks.blocks[:_MOST_PLACED]]
        self.ours = spans_of(self._tokens, texts)

    def json(self) -> dict[str, object]:
        count = len(self.curve)
        step = max(1, -(-count // MOST_POINTS))
        places = [*range(0, count, step), count - 1] if count else []
        return {
            "tokens": count,
            "tags": self.curve[-1] if count else 0,
            "points": [[at, self.curve[at]] for at in dict.fromkeys(places)],
            "i": self.classic.start,
            "j": self.classic.end,
            "windowed": [list(span) for span in self.windowed],
            "ours": [list(span) for span in self.ours],
        }

    def lines(self, width: int) -> list[str]:
        """For a terminal of this width. The curve is flat where there is text, and steep where there are many tags."""
        count = len(self.curve)
        if not count:
            return ["This page has no text and no tags: there is no curve."]
        columns = max(20, min(width - _MARGIN - 2, 100, count))
        tags = self.curve[-1]
        cells = [[" "] * columns for _ in range(_HEIGHT)]
        for column in range(columns):
            value = self.curve[min((column * 2 + 1) * count // (columns * 2), count - 1)]
            cells[_HEIGHT - 1 - min(value * _HEIGHT // (tags + 1), _HEIGHT - 1)][column] = "*"
        drawn = []
        for row, cell in enumerate(cells):
            label = f"{tags:,}" if row == 0 else "0" if row == _HEIGHT - 1 else ""
            drawn.append(f"{label:>{_MARGIN - 1}} |{''.join(cell)}".rstrip())
        drawn.append(" " * _MARGIN + "+" + "-" * columns)
        marked: Mapping[str, Sequence[TokenSpan]] = {
            "classic": [self.classic], "windowed": self.windowed, "ours": self.ours
        }  # fmt: skip
        drawn += [f"{name:>{_MARGIN - 1}} |{_bar(spans, count, columns)}".rstrip() for name, spans in marked.items()]
        words = len(self._tokens.words)
        return [
            f"Tags up to each token, of {counted(words, 'word')} and {counted(tags, 'tag')}: flat where there is text.",
            *drawn,
            f"The classic block is from token {self.classic.start:,} to {self.classic.end:,} of {count:,}.",
        ]


def _bar(spans: Sequence[TokenSpan], count: int, columns: int) -> str:
    cells = [" "] * columns
    for start, end in spans:
        for column in range(start * columns // count, -(-end * columns // count)):
            cells[column] = "="
    return "".join(cells)
