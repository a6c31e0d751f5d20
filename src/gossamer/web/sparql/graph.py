"""What the things in a drawn answer are called: by their names, where the collection knows any."""

from collections.abc import Collection, Mapping, Sequence

from fastapi.concurrency import run_in_threadpool

from gossamer.base.errors import QueryRefused
from gossamer.values.url import url_of
from gossamer.views.facts.results import JSON
from gossamer.web.entities.found import bindings
from gossamer.web.entities.queries import NAMING, TYPE, Iri
from gossamer.web.names import named, short
from gossamer.web.rooms import WebRooms

Cell = Mapping[str, str]
Fact = Sequence[Cell]
"""Subject, property and value, as in SPARQL 1.1 Query Results JSON, 3.2.2."""
MOST_ASKED = 200
"""IRIs whose names the collection is asked for."""
LONGEST_ASKED = 48 * 1024
LONGEST_NAME = 300


def key_of(cell: Cell) -> str:
    """What tells each thing of a drawing from the others."""
    return f"{cell['type']} {cell['value']}"


async def names_in(rooms: WebRooms, facts: Sequence[Fact], pages: Collection[str]) -> dict[str, str]:
    """By key. Names that the answer itself states come first, then what the collection calls a thing, then the title
    of a page; what has no name at all has its class or a number. What is not in here is called by its own text."""
    found = stated_in(facts)
    ends = {key_of(cell): cell for fact in facts for cell in (fact[0], fact[2])}
    unnamed = [cell["value"] for key, cell in ends.items() if cell["type"] == "uri" and key not in found]
    iris = [iri for iri in unnamed if short(iri) == iri][:MOST_ASKED]
    try:
        rows = bindings((await rooms.ask(query_for(iris), JSON)).body) if iris else []
    except QueryRefused:
        rows = []
    found |= stated_in([(row["thing"], row["property"], row["name"]) for row in rows])
    titled = [iri for iri in iris if iri in pages and f"uri {iri}" not in found]
    return found | await run_in_threadpool(titles_of, rooms, titled) | nameless(facts, found)


def query_for(iris: Sequence[str]) -> str:
    things: list[str] = []
    for iri in iris:
        try:
            things.append(f"<{Iri(iri).text}>")
        except ValueError:
            continue
    while sum(map(len, things)) > LONGEST_ASKED:
        things.pop()
    naming = " ".join(f"<{iri}>" for iri in NAMING)
    return f"""SELECT DISTINCT ?thing ?property ?name
WHERE {{ VALUES ?thing {{ {" ".join(things)} }} VALUES ?property {{ {naming} }} ?thing ?property ?name }}"""


def stated_in(facts: Sequence[Fact]) -> dict[str, str]:
    """The best name of each thing: by the order of `NAMING`, in English first."""
    best: dict[str, tuple[int, bool, str]] = {}
    for thing, property, value in facts:
        text = " ".join(value["value"].split())
        if property["value"] not in NAMING or value["type"] != "literal" or not text:
            continue
        rank = NAMING.index(property["value"]), not value.get("xml:lang", "en").startswith("en"), text[:LONGEST_NAME]
        best[key_of(thing)] = min(rank, best.get(key_of(thing), rank))
    return {key: name for key, (_, _, name) in best.items()}


def titles_of(rooms: WebRooms, iris: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for iri in iris:
        url = url_of(iri)
        stored = rooms.stored(url) if url is not None else None
        if stored is not None and stored.title.strip():
            found[f"uri {iri}"] = stored.title.strip()[:LONGEST_NAME]
    return found


def nameless(facts: Sequence[Fact], found: Mapping[str, str]) -> dict[str, str]:
    """Blank nodes without a name: their labels say nothing to people."""
    kinds = {key_of(thing): named(value["value"]).name for thing, property, value in facts if property["value"] == TYPE}
    blank = dict.fromkeys(key_of(cell) for fact in facts for cell in fact if cell["type"] == "bnode")
    unknown = [key for key in blank if key not in found]
    return {key: f"unnamed {kinds.get(key, 'entity')} {number}" for number, key in enumerate(unknown, 1)}
