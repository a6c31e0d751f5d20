"""A part of the damage matrix; `make damage` runs the whole of it. The table is printed (`pytest -s`)."""

import os
import shutil
from pathlib import Path

import pytest
from tests.app.site import QUICK, Site, gossamer, harbour
from tests.damage.matrix import CHANGES, COMMANDS, HOWS, KINDS, Whole, asked, can_drop, cell, table

WHOLE_MATRIX = os.environ.get("DAMAGE") == "all"
SAMPLED = ("search", "sparql", "why", "status", "export")
"""Commands of the short version; those that write are asked for one damage of each view."""
SAMPLED_CHANGES = {("links.db", "zeros"), ("index meta", "zeros"), ("graph", "short"), ("control.db", "zeros")}
SAMPLED_KINDS = ("state.db", "control.db", "links.db", "index meta", "checkpoint")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    scratch = tmp_path_factory.mktemp("damage")
    root = scratch / "c"
    with Site(harbour(8)).serving() as site:
        assert gossamer("crawl", site.root, *QUICK, "--dir", root).returncode == 0
        origin = site.root
    (root / "rules.txt").write_text("exclude path = /never*\n" * 20)
    (root / "gossamer.toml").write_text("[readers]\ncount = 1\n")
    (warc,) = (root / "archive").glob("*.warc.gz")
    made = Whole(root, origin, Path(shutil.copy(warc, scratch / "given.warc.gz")))
    assert gossamer("status", "--dir", root).returncode == 0  # whatever is made at first is there
    for command in COMMANDS:
        copy = Path(shutil.copytree(root, scratch / f"{command}-whole" / "c"))
        code, out, told = asked(made, copy, command, copy.parent)
        assert "Traceback" not in told, told
        made.said[command] = code, out
        shutil.rmtree(copy.parent)
    return made


def chosen() -> list[tuple[str, str, str]]:
    hows = [how for how in HOWS if how != "mode" or can_drop()]
    every = [(kind, how, command) for kind in KINDS for how in hows for command in COMMANDS]
    if WHOLE_MATRIX:
        return every
    return [
        (kind, how, command)
        for kind, how, command in every
        if (command in SAMPLED and kind in SAMPLED_KINDS and how in ("zeros", "gone"))
        or (command in CHANGES - {"import"} and (kind, how) in SAMPLED_CHANGES)
    ]


def test_F_X12_damage_is_never_a_traceback_nor_silent_and_always_names_the_next_step(
    whole: Whole, tmp_path: Path
) -> None:
    cells = [cell(whole, *one, tmp_path / str(number)) for number, one in enumerate(chosen())]
    print("\n" + table(cells))
    wrong = [
        f"{one.kind}, {one.how}, {one.command}: {one.verdict}\n    {one.told}" for one in cells if not one.is_right
    ]
    assert not wrong, "\n".join(wrong)
