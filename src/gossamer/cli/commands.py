"""The commands there are, with the texts that teach them; each is imported only when it is called."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CliCommand:
    """One command: where its code is, what it does (the first line is shown in the list of commands), examples."""

    path: str
    """Its function, imported only when it is called."""
    help: str
    examples: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(":")[2].removesuffix("_")

    @property
    def epilogue(self) -> str:
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


DOORS = (
    CliCommand(
        "gossamer.cli.crawl.demo:demo",
        "Crawl a small bundled web, offline, and search it during the crawl.\n\n"
        "It has a museum, a library, a shop, recipes, events, people, a blog and more; robots rules, redirects, "
        "copies, dead links, slow and failing servers, and traps. Nothing leaves this machine. With --changing its "
        "pages change, vanish and appear, a day lasts seconds, and the crawl revisits them: see how fresh the copies "
        "are kept.",
        (
            "gossamer demo",
            "gossamer demo --exit --pages 200",
            "gossamer demo --dir demo --port 0",
            "gossamer demo --changing",
        ),
    ),
    CliCommand(
        "gossamer.cli.crawl.crawl:crawl",
        "Crawl from SEEDS, politely, until nothing is left to fetch.\n\n"
        "The same command continues where it stopped; without SEEDS it continues with those of the directory. "
        "robots.txt is always obeyed. Public sites need a contact, private addresses an --allow-address. "
        "Ctrl-C once stops cleanly, twice immediately; nothing acknowledged is lost either way.",
        (
            "gossamer crawl https://example.org/ --dir example --contact you@example.org",
            "gossamer crawl example.org example.net --scope domain --max-pages 500",
            "gossamer crawl http://10.1.2.3/ --dir intranet --allow-address 10.1.0.0/16",
            "gossamer crawl --dir example --json | jq .url",
            "gossamer crawl --again https://example.org/teapot --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.serve:serve",
        "Serve the search page, the page view and the SPARQL endpoint of a collection on this machine.\n\n"
        "It can run during a crawl of the same directory.",
        ("gossamer serve --dir example", "gossamer serve --dir example --port 0"),
    ),
    CliCommand(
        "gossamer.cli.crawl.trust:trust",
        "List the code that a collection wants to run and the access it wants to open, or allow them.\n\n"
        "A collection may come from anyone: no code in its directory runs, and no option that widens access "
        "(such as fetch.allow_addresses or web.public) takes effect, until you allow it here. What you allow is stored "
        "in ~/.config/gossamer/trusted.json: code by its content, options by directory and value; you are asked "
        "again after a change.",
        ("gossamer trust --dir example", "gossamer trust --dir example --allow"),
    ),
    CliCommand(
        "gossamer.cli.ask.search:search",
        "Search the pages of a collection, also during a crawl.\n\n"
        'All words must match. "a phrase" in quotes, -word to exclude pages, and site:example.org, type:Person, '
        "lang:de to narrow. Exit code 1 when nothing is found.",
        (
            "gossamer search tropical fish --dir example",
            "gossamer search 'type:Recipe \"tropical fish\" -soup'",
            "gossamer search harbour --limit 50 --json",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.sparql:sparql",
        "Run a SPARQL 1.1 query over the facts, also during a crawl.\n\n"
        "Each page is a named graph; a pattern outside GRAPH matches all of them. Where and when a page's facts were "
        "found is in the graph urn:gossamer:provenance.",
        (
            "gossamer sparql 'SELECT ?name { ?who a <http://schema.org/Person> ; <http://schema.org/name> ?name }'",
            "gossamer sparql 'SELECT ?page { GRAPH ?page { ?thing ?says \"Ada\" } }' --format csv",
            "gossamer sparql - --dir example < question.rq",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.extract:extract",
        "Print the structured data of one page: a file, a URL, or standard input.\n\n"
        "A page on the web is fetched as a crawl would fetch it: robots.txt is obeyed, a public site needs a contact, "
        "private addresses an --allow-address. Nothing is stored, and nothing else is fetched.",
        (
            "gossamer extract page.html --base https://example.org/teapot --format ttl",
            "gossamer extract https://example.org/ --contact you@example.org --format jsonld",
            "gossamer extract - --base https://example.org/ --syntax rdfa,json-ld < page.html",
            "gossamer extract page.html --expand-vocab --vocab http://schema.org/=schema.ttl",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.inspect:inspect",
        "Show the structured data of a page and the errors in its markup.\n\n"
        "Entities are shown as a tree, errors and warnings with line and column. Exit code 0: no errors, 1: errors "
        "(with --strict warnings too), 2: something could not be read. A directory is searched for .html, .xhtml, "
        ".xml and .svg files.",
        (
            "gossamer inspect page.html",
            "gossamer inspect public --strict --base https://example.org/",
            "gossamer inspect https://example.org/ --contact you@example.org",
            "gossamer inspect public --json | jq .errors",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.links:links",
        "List the links of one page: target, text and rel of each, and whether a crawl would follow it.\n\n"
        "Nothing is changed, and only the page itself is fetched. URLs are made absolute, and session ids and "
        "tracking parameters removed, as a crawl does. With --dir the page is read from the collection's archive, "
        "and scope, rules, filters, patterns and robots.txt of that collection decide, each with its reason. "
        "Without it only nofollow and the shape of the URL are checked. Exit code 1: there is no link.",
        (
            "gossamer links https://example.org/ --contact you@example.org",
            "gossamer links page.html --base https://example.org/",
            "gossamer links https://example.org/ --dir example --json | jq '.[] | select(.is_followed == false)'",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.robots:robots",
        "Show the robots.txt rules for an agent, and test URLs, each with the line that decides.\n\n"
        "A file, or the robots.txt of a site, fetched as a crawl fetches it: redirects are followed, a public site "
        "needs a contact, private addresses an --allow-address. Lines that are ignored, repaired or misread are listed "
        "with their numbers. Exit code 1: a tested URL is not allowed; 2: the file or URL cannot be used.",
        (
            "gossamer robots https://example.org/ --contact you@example.org",
            "gossamer robots robots.txt --agent Gossamer --test /private/x https://example.org/",
            "gossamer robots robots.txt --agent Googlebot --matching token --test /a --json | jq .tests",
        ),
    ),
    CliCommand(
        "gossamer.cli.crawl.rules:rules",
        "List, add, remove or preview the rules of a crawl, also while it runs.\n\n"
        "A rule is include, exclude, sooner N, later N or seed URL:, and an expression of host, domain, path, "
        "query, url, prefix, scheme, depth and type with =, !=, ~, in, <=, has, joined by and, or, not. The last "
        "include or exclude that matches decides; with an include, the rest is excluded. preview counts the "
        "waiting URLs that a rule would exclude, and changes nothing. The rules are in rules.txt in the data "
        "directory, which may be edited by hand.",
        (
            "gossamer rules --dir example",
            "gossamer rules preview 'exclude path ~ \"/calendar/[0-9]{4}/\"' --dir example",
            "gossamer rules add 'exclude domain in (ads.example.org, old.example.org)' --dir example",
            "gossamer rules add 'sooner 2 host = news.example.org and depth <= 3' --dir example",
            "gossamer rules add 'seed https://example.org/docs/: not query has print' --dir example",
            "gossamer rules remove 3 --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.status:status",
        "Show what a collection holds, what is waiting, fetch outcomes, and running processes.",
        ("gossamer status --dir example", "gossamer status --dir example --json"),
    ),
    CliCommand(
        "gossamer.cli.ask.top:top",
        "Watch every process of a collection live: CPU, memory, pages per second, queues, delays, and hints.\n\n"
        "It can run in any terminal, during a crawl and after it; q or Ctrl-C quits. Where there is no "
        "terminal it writes plain lines.",
        ("gossamer top --dir example", "gossamer top --once", "gossamer top --dir example --json | jq .totals"),
    ),
    CliCommand(
        "gossamer.cli.ask.why:why",
        "Explain one URL: how it was found, which rules accepted it, its fetches, what it is waiting for.\n\n"
        "For a host: why is nothing being fetched? It is read-only, also during a crawl. Exit code 1 when "
        "the URL or host is unknown; then it says what would happen to it.",
        (
            "gossamer why https://example.org/teapot --dir example",
            "gossamer why --host example.org --dir example",
            "gossamer why https://example.org/teapot --dir example --json | jq .waits",
        ),
    ),
    CliCommand(
        "gossamer.cli.crawl.retry:retry",
        "Queue failed or refused URLs again: by reason, host or URL.\n\n"
        "What would be queued is shown first, with a few URLs of each kind. A running crawl takes them at once, else "
        "the next one does; robots.txt and politeness apply as always. Pages that were fetched are fetched again with "
        "`gossamer crawl --again`. Exit code 1 when nothing matches.",
        (
            "gossamer retry --reason timeout --dir example",
            "gossamer retry --host example.org --yes --dir example",
            "gossamer retry --url https://example.org/teapot --yes --dir example",
            "gossamer retry --reason filter-error --reason address --json --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.crawl.hosts:hosts",
        "List the hosts of a crawl and their state; retire, reinstate or release a host.\n\n"
        "A retired host keeps its URLs and is not fetched from until it is reinstated. Quarantined URLs are "
        "released pattern by pattern. A running crawl is asked to do it; without one it is done directly.",
        (
            "gossamer hosts --dir example",
            "gossamer hosts --state retired --dir example --json",
            "gossamer hosts retire slow.example.org --why 'its owner asked' --dir example",
            "gossamer hosts reinstate slow.example.org --dir example",
            "gossamer hosts release shop.example.org --pattern '/list?{...}' --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.politeness:politeness",
        "Check, host by host, that the minimum gaps between fetches were kept.\n\n"
        "The crawl's ledger is shown, the worst host first, and compared with the archive, which was written by "
        "another part of the program. Exit code 4 when a gap was too short, or the archive contradicts the ledger.",
        (
            "gossamer politeness --dir example",
            "gossamer politeness --deep --limit 0 --dir example",
            "gossamer politeness --dir example --json | jq .broken",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.plan:plan",
        "Estimate what a crawl needs before it starts: time, bandwidth, connections, hosts, disk and memory.\n\n"
        "Politeness comes first: one fetch per host and gap, whatever the machine. The bottleneck is named, and "
        "how to change it. Exit code 1 when it does not fit the --days given.",
        (
            "gossamer plan --pages 1M --hosts 2000",
            "gossamer plan --pages 200k --hosts 50 --days 2 --delay 2 --page-kb 40",
            "gossamer plan --pages 5M --hosts 20k --dir example --json",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.simulate:simulate",
        "Compare revisiting policies on a virtual clock against a web that changes.\n\n"
        "The policies are the program's own, the web is synthetic: its pages change as often as pages of the real web "
        "were measured to. Shown are the average age of the copies, how many are fresh, and what would be "
        "possible if every page's true rate of change were known. Rates are unknown at the start.",
        (
            "gossamer simulate --pages 5000",
            "gossamer simulate --policy age --policy uniform --pages 5000 --budget 500 --plot ages.svg",
            "gossamer simulate --pages 5000 --web mixed --json | jq '.[].average_age_days'",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.freshness:freshness",
        "Show how fresh the collection is and was: the age of its copies, in total, by site, and over time.\n\n"
        "Estimated from how often fetches found each page changed. Shown with it are what the schedule leads to, "
        "and what the same number of fetches could reach if every page's rate of change were known. A crawl that "
        "revisits pages (`gossamer crawl --forever`) takes samples as it runs: the curve, and what fetches found: "
        "changes, bytes not transferred again, pages that vanished and appeared. Exit code 1 when there is "
        "nothing to measure.",
        (
            "gossamer freshness --dir example",
            "gossamer freshness --dir example --site example.org --plot freshness.svg",
            "gossamer freshness --limit 0 --dir example --json | jq .all.average_age_days",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.revisits:revisits",
        "List the pages due for a revisit: when each is due, how often it changes, and why it is due then.\n\n"
        "For a collection that was crawled with --forever; also while the crawl runs. Nothing is changed. The rate of "
        "change is estimated from what fetches found; the reason says which rule of the policy chose the time. Exit "
        "code 1: no page to list.",
        (
            "gossamer revisits --dir example",
            "gossamer revisits --due --host example.org --dir example",
            "gossamer revisits --export plan.csv --dir example",
            "gossamer revisits --limit 0 --json --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.history:history",
        "Show when a page was fetched and how it changed; show it, its facts or a whole site as they were.\n\n"
        "Every version is read again from the archive, by the readers of this version of the program. A change is one "
        "of bytes, of text or of facts. A date alone means the end of that day. export writes every version into "
        "folders by date and time, domain and path, and continues where it stopped.",
        (
            "gossamer history https://example.org/ --dir example",
            "gossamer history https://example.org/ --diff --dir example",
            "gossamer history https://example.org/ --diff 1 2026-11-15T08:30:00Z --dir example",
            "gossamer history https://example.org/ --at 2026-11-15 --facts --dir example",
            "gossamer history --at 2026-11-15 --site example.org --sparql 'SELECT * { ?s ?p ?o }' --dir example",
            "gossamer history export versions --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.ask.export:export",
        "Export a collection in formats other programs read.\n\n"
        "nquads: the facts. jsonl: pages with text, links and facts, one JSON object per line. text: URL, title "
        "and text, pages separated by form feeds. warc: the whole archive as one WARC file. pages and "
        "visits: the lists behind the numbers of `gossamer status`, as CSV; all pages, and every URL fetched with "
        "its last outcome.",
        (
            "gossamer export visits --reason failed --dir example",
            "gossamer export nquads --dir example --out facts.nq",
            "gossamer export jsonl --dir example | jq .title",
            "gossamer export warc --dir example --out example.warc.gz",
        ),
    ),
    CliCommand(
        "gossamer.cli.upkeep.import_:import_",
        "Import WARC and ARC files from other programs.\n\n"
        "Their pages are archived, read, and made searchable like crawled pages. Links are not followed. A "
        "record that cannot be used is set aside with a reason, and the import continues: exit code 4 then.",
        ("gossamer import crawl-2024.warc.gz --dir collection", "gossamer import *.warc.gz --dir collection"),
    ),
    CliCommand(
        "gossamer.cli.upkeep.rebuild:rebuild",
        "Rebuild the graph, the index and the links from the archive.\n\n"
        "Needed after a backup, or when a view was damaged. Every capture is read again by the extractors of this "
        "version. The new views are built next to the current ones, which are used until the new ones are complete and "
        "replace them in one step; that needs free disk space of the same size. If it is interrupted, the same command "
        "continues where it stopped. A crawl must not be running.\n\n"
        "With --state a lost or damaged state.db is rebuilt instead: what was fetched, the outcomes, and the "
        "links not yet followed. The damaged file is set aside.",
        (
            "gossamer rebuild --dir copy",
            "gossamer rebuild --fresh --dir copy",
            "gossamer rebuild --state --dir example",
            "gossamer rebuild --state --seed https://example.org/ --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.tools.sitemap:sitemap",
        "Write a sitemap for a folder of files served by a web server.\n\n"
        "Web pages, PDF, text and office files are listed; an index file stands for its folder. Hidden and backup "
        "files, links out of the folder and what the folder's robots.txt disallows are excluded. lastmod is "
        "the file's own date, changefreq is estimated from the dates, better with an earlier sitemap. Above "
        "50,000 pages or 50 MiB several files and an index are written. Exit code 1 when there is nothing to list.",
        (
            "gossamer sitemap public --site https://example.org/",
            "gossamer sitemap public --site https://example.org/ --output public/sitemap.xml.gz --json",
            "gossamer sitemap public --site https://example.org/ --previous public/sitemap.xml",
        ),
    ),
    CliCommand(
        "gossamer.cli.upkeep.compact:compact",
        "Delete old versions of pages from the archive, as set by archive.retain or --keep.\n\n"
        "last:N keeps the newest N versions of each page. thinned keeps all of the last 30 days, one a week to a year "
        "of age, then one every four weeks, and always the first. The newest version always stays, search and facts "
        "stay as they are, and a version that another refers to stays with it. A crawl must not be running; it can be "
        "interrupted at any time, and run again. Run it from cron from time to time.",
        (
            "gossamer compact --dir example --dry-run --keep thinned",
            "gossamer compact --dir example --keep last:5",
            "gossamer compact --dir example --json | jq .bytes",
        ),
    ),
    CliCommand(
        "gossamer.cli.upkeep.forget:forget",
        "Erase pages or whole hosts from a collection permanently, and keep them out.\n\n"
        "Every capture is removed from the archive, with all data about it; search, facts and links are "
        "rebuilt from the rest, which takes as long as `gossamer rebuild` (with --quick it is only deleted from "
        "them). Later crawls, imports and rebuilds do not add it again, until --allow. A crawl must not be running; "
        "if it is interrupted, the same command continues. At the end it lists what it could not erase.",
        (
            "gossamer forget https://example.org/private --dir example --dry-run",
            "gossamer forget https://example.org/private http://example.org/old --dir example",
            "gossamer forget example.org --dir example --yes",
            "gossamer forget --list --dir example",
            "gossamer forget --allow example.org --dir example",
        ),
    ),
    CliCommand(
        "gossamer.cli.upkeep.verify:verify",
        "Check every record of the archive, and the databases and views; repair them from a backup.\n\n"
        "Each record is read and compared with the catalogue: its place, URL, time and the digest of its body. "
        "It lists what is damaged, by URL and time, and what to do. It can run during a crawl, and then only reads. "
        "Without a backup the page of a damaged capture is fetched again by the next crawl; the capture itself stays "
        "lost until --acknowledge accepts that. Exit code 0: intact, or acknowledged; 4: damaged.",
        (
            "gossamer verify --dir example",
            "gossamer verify --dir example --repair-from example-backup",
            "gossamer verify --dir example --json | jq .damaged",
            "gossamer verify --dir example --acknowledge",
        ),
    ),
    CliCommand(
        "gossamer.cli.upkeep.backup:backup",
        "Copy a collection to another directory, also while the crawl runs.\n\n"
        "Archive, catalogue, state and settings are copied: a data directory of its own. `gossamer rebuild` builds "
        "its views, and `gossamer crawl` continues from the time of the backup.",
        ("gossamer backup copy --dir example", "gossamer rebuild --dir copy"),
    ),
)
UNSET = CliCommand(
    "gossamer.cli.crawl.config:unset",
    "Remove an option that a crawl of the collection was given as a flag.\n\n"
    "Later crawls use gossamer.toml or the default again. `gossamer config show` lists the options.",
    (
        "gossamer config unset crawl.max_pages --dir example",
        "gossamer config unset fetch.allow_addresses --dir example",
    ),
)
SHOW = CliCommand(
    "gossamer.cli.crawl.config:show",
    "Show every setting, its value, and where it comes from: default, file, this collection, variable or flag.\n\n"
    "Settings are read from gossamer.toml in the data directory, then from the options that crawls of the collection "
    "were given, then from variables such as GOSSAMER_CONTACT, then from flags; later sources win.",
    ("gossamer config show --dir example", "gossamer config show --sample > example/gossamer.toml"),
)
