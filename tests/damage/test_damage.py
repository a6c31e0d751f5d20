"""A part of the damage matrix; `make damage` runs the whole of it. The table is printed (`pytest -s`)."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour
from tests.damage.isolated import modes_bind
from tests.damage.matrix import CHANGES, COMMANDS, FOLDERS, HOWS, KINDS, Undamaged, cell, result_of, run, table

WHOLE_MATRIX = os.environ.get("DAMAGE") == "all"
SAMPLED = ("search", "sparql", "why", "status", "history", "export", "verify")
"""Commands of the short version."""
SAMPLED_DAMAGE = {
    ("archive volume", "zeros"),
    ("state.db", "short"),
    ("control.db", "zeros"),
    ("links.db", "gone"),
    ("index format", "zeros"),
    ("index folder", "gone"),
    ("index meta", "mode"),
    ("checkpoint", "short"),
}
SAMPLED_CHANGES = {
    ("index folder", "gone", "serve"),
    ("index folder", "mode", "serve"),
    ("archive volume", "mode", "crawl"),
    ("links.db", "zeros", "crawl"),
    ("index meta", "short", "crawl"),
    ("graph manifest", "short", "crawl"),
    ("graph table", "gone", "rebuild"),
    ("graph table", "zeros", "erase"),
    ("index format", "mode", "crawl"),
    ("sources.db", "zeros", "crawl"),
    ("checkpoints", "gone", "serve"),
    ("archive volume", "bit", "rebuild"),
    ("graph digests", "zeros", "crawl"),
    ("graph digests", "gone", "verify"),
    ("graph manifest", "short", "verify"),
    ("graph table", "bit", "verify"),
    ("checkpoint table", "bit", "verify"),
    ("index store", "bit", "search"),
    ("state.db", "gone", "config"),
}
"""Commands that change a collection or need a server, and damage that was not noticed in the past."""
ONLY = tuple(filter(None, os.environ.get("DAMAGE_COMMANDS", "").split(",")))
ONLY_KINDS = tuple(filter(None, os.environ.get("DAMAGE_KINDS", "").split(",")))
VOCABULARY = '<http://schema.org/Person> <http://www.w3.org/2000/01/rdf-schema#label> "person" .\n'


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undamaged]:
    """The site keeps running: a crawl that finds a damaged capture fetches the page again."""
    with Site(harbour(8)).serving() as site:
        yield collected(site.root, tmp_path_factory.mktemp("damage"))


def collected(origin: str, scratch: Path) -> Undamaged:
    root = scratch / "c"
    assert gossamer("crawl", origin, *QUICK, "--dir", root).returncode == 0
    (root / "rules.txt").write_text("exclude path = /never*\n" * 20)
    (root / "gossamer.toml").write_text("[readers]\ncount = 1\n")
    (root / "vocabulary.ttl").write_text(VOCABULARY)
    (root / "plugged.json").write_text('{"readers":[],"schemes":[["gemini",1965]]}')
    for name in ("token", "reader-token"):
        (root / name).write_text(f"{name}-{'0123456789' * 3}\n")
    (warc,) = (root / "archive").glob("*.warc.gz")
    made = Undamaged(root, origin, Path(shutil.copy(warc, scratch / "given.warc.gz")))
    assert gossamer("status", "--dir", root).returncode == 0  # files that are made by the first command exist
    for command in {command: None for _, _, command in chosen()}:
        copy = Path(shutil.copytree(root, scratch / f"{command}-whole" / "c"))
        done = made.outputs[command] = run(made, copy, command, copy.parent)
        assert "Traceback" not in done.errors, done.errors
        if command in CHANGES:
            assert done.code == 0, done
            made.results[command] = result_of(command, copy)
        shutil.rmtree(copy.parent)
    return made


def chosen() -> list[tuple[str, str, str]]:
    unbound = modes_bind()
    if unbound:
        print(f"\nno cells for modes: {unbound}")
    every = [
        (kind, how, command)
        for kind in KINDS
        for how in HOWS
        for command in COMMANDS
        if (kind not in FOLDERS or how in ("gone", "mode")) and (how != "mode" or not unbound)
    ]
    if WHOLE_MATRIX:
        return [one for one in every if one[2] in (ONLY or COMMANDS) and one[0] in (ONLY_KINDS or KINDS)]
    return [one for one in every if (one[2] in SAMPLED and one[:2] in SAMPLED_DAMAGE) or one in SAMPLED_CHANGES]


def test_F_X12_damage_is_never_a_traceback_nor_silent_and_the_next_step_is_always_named(
    undamaged: Undamaged, tmp_path: Path
) -> None:
    cells = []
    for number, one in enumerate(chosen()):
        if number % 50 == 0:
            print(f"{number} cells, at {one[0]}", flush=True)
        cells.append(cell(undamaged, *one, tmp_path / str(number)))
        if not cells[-1].is_right:
            print(f"{', '.join(one)}: {cells[-1].verdict}\n    {cells[-1].output}", flush=True)
    print("\n" + table(cells))
    wrong = [
        f"{one.kind}, {one.how}, {one.command}: {one.verdict}\n    {one.output}" for one in cells if not one.is_right
    ]
    assert not wrong, "\n".join(wrong)
