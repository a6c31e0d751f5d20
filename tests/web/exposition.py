"""A strict parser of what Prometheus scrapes: the text format 0.0.4, and OpenMetrics 1.0 with its last line."""

import math
import re
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass
class Family:
    name: str
    says: str = ""
    kind: str = ""
    samples: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)


def families(text: str, is_open: bool = False) -> dict[str, Family]:
    """By name, as in the format. Raises AssertionError for anything that a scraper could misread."""
    assert text.endswith("\n") and "\r" not in text
    lines = text[:-1].split("\n")
    if is_open:
        assert lines.pop() == "# EOF"
    by_name: dict[str, Family] = {}
    current: Family | None = None
    for line in lines:
        if line.startswith("# "):
            _, verb, name, rest = line.split(" ", 3)
            assert NAME.fullmatch(name) and verb in ("HELP", "TYPE"), line
            if verb == "HELP":
                assert name not in by_name, f"{name} is described twice"
                current = by_name[name] = Family(name, rest)
            else:
                assert current is not None and current.name == name and not current.kind and not current.samples
                assert rest in ("counter", "gauge"), line
                current.kind = rest
            continue
        assert current is not None and current.kind, f"a sample before its type: {line}"
        _take(current, line, is_open)
    return by_name


def _take(family: Family, line: str, is_open: bool) -> None:
    matched = SAMPLE.fullmatch(line)
    assert matched, line
    name, inside, value = matched.groups()
    is_counter = family.kind == "counter"
    assert name == family.name + "_total" * (is_counter and is_open), line
    assert name.endswith("_total") == is_counter, "counters, and only counters, end in _total"
    labels = []
    place = 0
    while inside and place < len(inside):
        label = LABEL.match(inside, place)
        assert label, line
        labels.append((label[1], re.sub(r"\\.", lambda one: ESCAPED[one[0]], label[2])))
        place = label.end()
    assert len({key for key, _ in labels}) == len(labels) and tuple(labels) not in family.samples, line
    number = float(value)
    assert math.isfinite(number) and (number >= 0 or not is_counter), line
    family.samples[tuple(labels)] = number
