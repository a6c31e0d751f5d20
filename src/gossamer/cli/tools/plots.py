"""Curves over time, for a terminal and as a small SVG file."""

from collections.abc import Mapping, Sequence
from html import escape

from gossamer.base.clock import from_words
from gossamer.monitor.chronicle import Box, FreshnessReport, rounded_up

MARKS = "*o+x#@%"
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 36, 46
COLOURS = ("#0b6e99", "#b3541e", "#4b7f2a", "#7d3c98", "#8a6d00", "#555555")
DASHES = ("", "8 4", "2 3", "10 3 2 3", "5 2", "1 5")
"""Lines differ by dash as well as by colour."""
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.grid{stroke:#ccc}path{fill:none;stroke-width:2}"
    "@media(prefers-color-scheme:dark){.back{fill:#151515}text{fill:#ddd}.grid{stroke:#444}}.back{fill:#fff}"
)


def in_terminal(curves: Mapping[str, Sequence[float]], width: int = 72, height: int = 14) -> str:
    """Each curve has its own mark; where two cross, the later one is drawn."""
    top = max((max(curve, default=0.0) for curve in curves.values()), default=0.0) or 1.0
    cells = [[" "] * width for _ in range(height)]
    for mark, curve in zip(MARKS, curves.values(), strict=False):
        for column in range(width if curve else 0):
            value = curve[min(column * len(curve) // width, len(curve) - 1)]
            cells[height - 1 - min(int(value / top * height), height - 1)][column] = mark
    lines = []
    for row, cell in enumerate(cells):
        label = f"{top * (height - row) / height:8.2f}" if row % 4 == 0 else " " * 8
        lines.append(f"{label} |{''.join(cell)}".rstrip())
    days = max((len(curve) for curve in curves.values()), default=0)
    lines.append(" " * 9 + "+" + "-" * width)
    lines.append(" " * 9 + f"day 1{f'day {days}':>{width - 4}}")
    lines.append(" " * 9 + "   ".join(f"{mark} {name}" for mark, name in zip(MARKS, curves, strict=False)))
    return "\n".join(lines)


def as_svg(curves: Mapping[str, Sequence[float]], title: str) -> str:
    top = max((max(curve, default=0.0) for curve in curves.values()), default=0.0) * 1.05 or 1.0
    days = max((len(curve) for curve in curves.values()), default=1)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(day: float, value: float) -> str:
        return f"{LEFT + wide * day / max(days - 1, 1):.1f},{TOP + high * (1 - value / top):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/><text x="{LEFT}" y="22">{escape(title)}</text>',
    ]
    for step in range(5):
        at = TOP + high * (1 - step / 4)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + wide}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{top * step / 4:.2f}</text>')
        day, x = round(1 + (days - 1) * step / 4), LEFT + wide * step / 4
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{day}</text>')
    parts.append(f'<text x="{LEFT + wide / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">day</text>')
    for number, (name, curve) in enumerate(curves.items()):
        stroke = f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-dasharray="{DASHES[number % len(DASHES)]}"'
        points = " ".join(place(day, value) for day, value in enumerate(curve))
        y = TOP + 20 * number + 8
        parts.append(f'<path {stroke} d="M{points}"/>' if curve else "")
        parts.append(f'<path {stroke} d="M{WIDTH - RIGHT + 14},{y} h34"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 56}" y="{y + 4}">{escape(name)}</text>')
    return "".join([*parts, "</svg>\n"])


def over_time(found: FreshnessReport) -> str:
    """Two plots, one above the other: the age with the lowest possible age, and the share that is fresh."""
    wide, high = WIDTH - LEFT - RIGHT, 150
    instants = [from_words(point.at) for point in found.samples]
    ages = {
        "age": [one.age_days for one in found.samples],
        "possible": [one.possible_age_days for one in found.samples],
    }
    most = rounded_up(max([*ages["age"], *ages["possible"]], default=1.0))
    of = found.site or "the collection"
    title = f"Freshness of {of}, {found.samples[0].at[:10] if found.samples else found.at[:10]} to {found.at[:10]}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {2 * high + 130}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{2 * high + 130}"/><text x="{LEFT}" y="22">{escape(title)}</text>',
    ]
    boxes = (Box(LEFT, TOP + 14, wide, high), Box(LEFT, TOP + high + 60, wide, high))
    shares = {"fresh": [one.freshness for one in found.samples]}
    for box, curves, top, says in zip(boxes, (ages, shares), (most, 1.0), ("age, days", "fresh"), strict=True):
        parts.append(f'<text x="{LEFT}" y="{box.top - 6}">{says}</text>')
        for step in range(3):
            y = box.top + box.height * (1 - step / 2)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{top * step / 2:g}</text>')
        for number, (name, curve) in enumerate(curves.items()):
            stroke = f'stroke="{COLOURS[number]}" stroke-dasharray="{DASHES[number]}" fill="none" stroke-width="2"'
            parts.append(f'<polyline {stroke} points="{box.points(instants, curve, top)}"/>')
            y = box.top + 20 * number + 8
            parts.append(f'<path {stroke} d="M{WIDTH - RIGHT + 14},{y} h34"/>')
            parts.append(f'<text x="{WIDTH - RIGHT + 56}" y="{y + 4}">{name}</text>')
    return "".join([*parts, "</svg>\n"])
