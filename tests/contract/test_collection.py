"""One collection in two forms, with its state in state.db or in PostgreSQL: every reading command prints the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, gossamer, harbour
from tests.postgres_server import server

import gossamer as face

INSTANT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?|\d{14}"
DURATION = r"\d+(\.\d+)? (ms|s|minutes?|hours?|days?)\b|\d+\.\d+"
BLANK_NODE = r"_:c[0-9a-f]{16}"
DISTANCE = rf"\((now|({DURATION}) ago|in ({DURATION}))\)"
VARIES = re.compile(f"{DISTANCE}|{INSTANT}|{DURATION}|{BLANK_NODE}")
"""What differs between two successive crawls of the same pages."""
SAME_ANSWERS: tuple[tuple[str, ...], ...] = (
    ("rules", "preview", 'exclude path ~ "^/docs/"', "--json"),
    ("links", "/", "--json"),
    ("history", "/", "--json"),
    ("retry", "--reason", "gone", "--json"),
    ("search", "lamps", "--json"),
    ("sparql", "SELECT ?name { ?one <https://schema.org/name> ?name } ORDER BY ?name"),
    *(("export", what) for what in ("pages", "captures", "urls", "text", "jsonl", "nquads")),
)
"""Commands whose answers do not depend on the form."""
Forms = tuple[str, Path, Path]
"""The URL of the site, and the two collections."""


@pytest.fixture(scope="module", params=[(), ("--forever", "--max-pages", "8")], ids=["once", "forever"])
def forms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    folder = tmp_path_factory.mktemp("forms")
    roots = folder / "here" / "c", folder / "shared" / "c"
    with Site(harbour()).serving() as site:
        for root, more in zip(roots, ((), ("--database", server().conninfo_for(folder))), strict=True):
            done = gossamer("crawl", site.root, "--dir", root, *QUICK, *request.param, *more)
            assert done.returncode == 0, done.stderr
        yield site.root, *roots


def answer(words: tuple[str, ...], site: str, root: Path) -> str:
    given = [site + word[1:] if word.startswith("/") else word.replace("HOST", site.split("/")[2]) for word in words]
    done = gossamer(*given, "--dir", root)
    assert done.returncode in (0, 1), done.stderr
    error = done.stderr if done.returncode else ""  # else it has only progress, which a slow command prints
    return (done.stdout + error).replace(str(root), "DIR")


def shape(value: object) -> object:
    """The keys and types of a JSON value."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(inner)) for inner in value})
    return "number" if isinstance(value, int | float) else type(value).__name__


@pytest.mark.parametrize(
    "words",
    [
        ("why", "/private/x", "--json"),
        ("why", "/dead"),
        ("why", "/never-seen", "--json"),
        ("status", "--json"),
        ("hosts", "--json"),
        *SAME_ANSWERS,
    ],
    ids=" ".join,
)
def test_both_forms_of_a_collection_give_the_same_answers(words: tuple[str, ...], forms: Forms) -> None:
    site, here, shared = forms
    one, two = (sorted(re.split(r"[\s,\[\]]+", VARIES.sub("0", answer(words, site, root)))) for root in (here, shared))
    assert one == two


@pytest.mark.parametrize(
    "words", [("why", "/"), ("why", "--host", "HOST"), ("politeness",), ("freshness",), ("revisits",)]
)
def test_plans_and_measurements_have_the_same_shape_in_both_forms(words: tuple[str, ...], forms: Forms) -> None:
    site, here, shared = forms
    one, two = (answer((*words, "--json"), site, root) for root in (here, shared))
    if one.startswith(("{", "[")):
        assert shape(json.loads(one)) == shape(json.loads(two))
    else:
        assert one == two and "no revisits" in one


def test_python_programs_read_the_same_from_both_forms(forms: Forms) -> None:
    def seen(root: Path) -> object:
        with face.open(root) as collection:
            found = collection.search("lamps")
            return (
                collection.why(site).is_known,
                sorted(hit.url for hit in found.hits),
                found.total,
                collection.counts(),
            )

    site, here, shared = forms
    assert seen(here) == seen(shared)
