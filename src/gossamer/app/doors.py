"""The commands there are, with the texts that teach them; each is imported only when it is called."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Door:
    """One command: where its code is, what it does (the first line is shown in the list of commands), examples."""

    name: str
    path: str
    help: str
    examples: tuple[str, ...]

    @property
    def epilogue(self) -> str:
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


DOORS = (
    Door(
        "demo",
        "gossamer.app.demo:demo",
        "Crawl a small web that ships with the program, offline, and search it meanwhile.\n\n"
        "It has a museum, a library, a shop, recipes, events, people, a blog and more; robots rules, redirects, "
        "copies, dead links, slow and failing servers, and traps. Nothing leaves this machine.",
        ("gossamer demo", "gossamer demo --exit --pages 200", "gossamer demo --dir demo --port 0"),
    ),
    Door(
        "crawl",
        "gossamer.app.crawl:crawl",
        "Crawl from SEEDS, politely, until nothing is left to fetch.\n\n"
        "The same command goes on where it was stopped; without SEEDS it goes on with those of the directory. "
        "robots.txt is always obeyed. Public sites want a contact, private addresses an --allow-address. "
        "Ctrl-C once stops cleanly, twice at once; nothing acknowledged is lost either way.",
        (
            "gossamer crawl https://example.org/ --dir example --contact you@example.org",
            "gossamer crawl example.org example.net --scope domain --max-pages 500",
            "gossamer crawl http://10.1.2.3/ --dir intranet --allow-address 10.1.0.0/16",
            "gossamer crawl --dir example --json | jq .url",
        ),
    ),
    Door(
        "serve",
        "gossamer.app.serve:serve",
        "Serve the search page, the page view and the SPARQL endpoint of a collection on this machine.\n\n"
        "It reads only, and may run beside a crawl of the same directory.",
        ("gossamer serve --dir example", "gossamer serve --dir example --port 0"),
    ),
    Door(
        "search",
        "gossamer.app.ask:search",
        "Search the words of a collection, also while it is being crawled.\n\n"
        'All words are wanted. "a phrase" in quotes, -word to leave pages out, and site:example.org, type:Person, '
        "lang:de to narrow. Exit code 1 when nothing is found.",
        (
            "gossamer search tropical fish --dir example",
            "gossamer search 'type:Recipe \"tropical fish\" -soup'",
            "gossamer search harbour --limit 50 --json",
        ),
    ),
    Door(
        "sparql",
        "gossamer.app.ask:sparql",
        "Ask for facts with SPARQL 1.1, also while the collection is being crawled.\n\n"
        "Each page is a named graph; a plain pattern asks all of them at once. Where and when a page's facts were "
        "found is in the graph urn:gossamer:provenance.",
        (
            "gossamer sparql 'SELECT ?name { ?who a <http://schema.org/Person> ; <http://schema.org/name> ?name }'",
            "gossamer sparql 'SELECT ?page { GRAPH ?page { ?thing ?says \"Ada\" } }' --format csv",
            "gossamer sparql - --dir example < question.rq",
        ),
    ),
    Door(
        "extract",
        "gossamer.app.extract:extract",
        "Write out the structured data of one page: a file, an address, or standard input.\n\n"
        "A page on the web is fetched as a crawl would fetch it: robots.txt is obeyed, a public site wants a contact, "
        "private addresses an --allow-address. Nothing is kept, and nothing else is fetched.",
        (
            "gossamer extract page.html --base https://example.org/teapot --format ttl",
            "gossamer extract https://example.org/ --contact you@example.org --format jsonld",
            "gossamer extract - --base https://example.org/ --syntax rdfa,json-ld < page.html",
            "gossamer extract page.html --expand-vocab --vocab http://schema.org/=schema.ttl",
        ),
    ),
    Door(
        "inspect",
        "gossamer.app.inspect:inspect",
        "Show a markup author what a page says to machines, and what is wrong with it.\n\n"
        "Things are shown as a tree, errors and warnings with their line and column. Exit code 0: fine, 1: errors "
        "(with --strict warnings too), 2: something could not be read. A directory is gone through for .html, .xhtml, "
        ".xml and .svg files.",
        (
            "gossamer inspect page.html",
            "gossamer inspect public --strict --base https://example.org/",
            "gossamer inspect https://example.org/ --contact you@example.org",
            "gossamer inspect public --json | jq .errors",
        ),
    ),
    Door(
        "status",
        "gossamer.app.status:status",
        "Show what a collection holds, what waits, how visits ended, and who is at work on it.",
        ("gossamer status --dir example", "gossamer status --dir example --json"),
    ),
    Door(
        "export",
        "gossamer.app.export:export",
        "Write a collection out in formats other programs read.\n\n"
        "nquads: the facts. jsonl: pages with text, links and facts, one JSON object a line. text: address, title "
        "and text, pages parted by form feeds. warc: the whole archive as one WARC file.",
        (
            "gossamer export nquads --dir example --out facts.nq",
            "gossamer export jsonl --dir example | jq .title",
            "gossamer export warc --dir example --out example.warc.gz",
        ),
    ),
    Door(
        "import",
        "gossamer.app.taking_in:import_archives",
        "Take in WARC and ARC files that others made.\n\n"
        "Their pages are archived here, read, and made searchable like what was crawled. Links are not followed.",
        ("gossamer import crawl-2024.warc.gz --dir collection", "gossamer import *.warc.gz --dir collection"),
    ),
    Door(
        "rebuild",
        "gossamer.app.rebuild:rebuild",
        "Make the graph, the index and the links again from the archive, which is the truth.\n\n"
        "Needed after a backup, or when a view was damaged. Every capture is read again by the extractors of this "
        "version. A crawl must not be running.",
        ("gossamer rebuild --dir copy",),
    ),
    Door(
        "backup",
        "gossamer.app.backup:backup",
        "Copy a collection to another directory, also while the crawl runs.\n\n"
        "Archive, catalogue, state and settings are copied: a data directory of its own. `gossamer rebuild` makes "
        "its views, and `gossamer crawl` goes on from the moment of the backup.",
        ("gossamer backup copy --dir example", "gossamer rebuild --dir copy"),
    ),
)
SHOW = Door(
    "show",
    "gossamer.app.showing:show",
    "Show every setting, its value, and where it comes from: default, file, variable or flag.\n\n"
    "Settings are read from gossamer.toml in the data directory, then from variables such as GOSSAMER_CONTACT, then "
    "from flags; the later win.",
    ("gossamer config show --dir example", "gossamer config show --sample > example/gossamer.toml"),
)
