"""The commands there are, with the texts that teach them; each is imported only when it is called."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CliCommand:
    """One command: where its code is, what it does (the first line is shown in the list of commands), examples."""

    name: str
    path: str
    help: str
    examples: tuple[str, ...]

    @property
    def epilogue(self) -> str:
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


DOORS = (
    CliCommand(
        "demo",
        "gossamer.cli.demo:demo",
        "Crawl a small web that ships with the program, offline, and search it meanwhile.\n\n"
        "It has a museum, a library, a shop, recipes, events, people, a blog and more; robots rules, redirects, "
        "copies, dead links, slow and failing servers, and traps. Nothing leaves this machine. With --changing its "
        "pages change, vanish and appear, a day lasts seconds, and the crawl comes back to them: see how fresh they "
        "are kept.",
        (
            "gossamer demo",
            "gossamer demo --exit --pages 200",
            "gossamer demo --dir demo --port 0",
            "gossamer demo --changing",
        ),
    ),
    CliCommand(
        "crawl",
        "gossamer.cli.crawl:crawl",
        "Crawl from SEEDS, politely, until nothing is left to fetch.\n\n"
        "The same command goes on where it was stopped; without SEEDS it goes on with those of the directory. "
        "robots.txt is always obeyed. Public sites want a contact, private addresses an --allow-address. "
        "Ctrl-C once stops cleanly, twice at once; nothing acknowledged is lost either way.",
        (
            "gossamer crawl https://example.org/ --dir example --contact you@example.org",
            "gossamer crawl example.org example.net --scope domain --max-pages 500",
            "gossamer crawl http://10.1.2.3/ --dir intranet --allow-address 10.1.0.0/16",
            "gossamer crawl --dir example --json | jq .url",
            "gossamer crawl --again https://example.org/teapot --dir example",
        ),
    ),
    CliCommand(
        "serve",
        "gossamer.cli.serve:serve",
        "Serve the search page, the page view and the SPARQL endpoint of a collection on this machine.\n\n"
        "It reads only, and may run beside a crawl of the same directory.",
        ("gossamer serve --dir example", "gossamer serve --dir example --port 0"),
    ),
    CliCommand(
        "trust",
        "gossamer.cli.trust:trust",
        "List the code that a collection asks to be run and the doors it asks to open, or allow them.\n\n"
        "A collection may come from anybody: no code in its directory runs, and no option of it that opens a door "
        "(such as fetch.allow_addresses or web.public) counts, until you have allowed it here. What you allow is kept "
        "in ~/.config/gossamer/trusted.json: code by its content, options by directory and value; what changes is "
        "asked for again.",
        ("gossamer trust --dir example", "gossamer trust --dir example --allow"),
    ),
    CliCommand(
        "search",
        "gossamer.cli.search:search",
        "Search the words of a collection, also while it is being crawled.\n\n"
        'All words are wanted. "a phrase" in quotes, -word to leave pages out, and site:example.org, type:Person, '
        "lang:de to narrow. Exit code 1 when nothing is found.",
        (
            "gossamer search tropical fish --dir example",
            "gossamer search 'type:Recipe \"tropical fish\" -soup'",
            "gossamer search harbour --limit 50 --json",
        ),
    ),
    CliCommand(
        "sparql",
        "gossamer.cli.search:sparql",
        "Ask for facts with SPARQL 1.1, also while the collection is being crawled.\n\n"
        "Each page is a named graph; a plain pattern asks all of them at once. Where and when a page's facts were "
        "found is in the graph urn:gossamer:provenance.",
        (
            "gossamer sparql 'SELECT ?name { ?who a <http://schema.org/Person> ; <http://schema.org/name> ?name }'",
            "gossamer sparql 'SELECT ?page { GRAPH ?page { ?thing ?says \"Ada\" } }' --format csv",
            "gossamer sparql - --dir example < question.rq",
        ),
    ),
    CliCommand(
        "extract",
        "gossamer.cli.extract:extract",
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
    CliCommand(
        "inspect",
        "gossamer.cli.inspect:inspect",
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
    CliCommand(
        "links",
        "gossamer.cli.links:links",
        "List the links of one page: where each leads, its words and rel, and whether a crawl would follow it.\n\n"
        "Nothing is changed, and only the page itself is fetched. Addresses are made absolute, and session ids and "
        "tracking parameters taken off, as a crawl does. With --dir an address is read from the collection's archive, "
        "and scope, rules, filters, patterns and robots.txt of that collection decide, each with its reason. "
        "Without it only nofollow and the shape of the address are judged. Exit code 1: there is no link.",
        (
            "gossamer links https://example.org/ --contact you@example.org",
            "gossamer links page.html --base https://example.org/",
            "gossamer links https://example.org/ --dir example --json | jq '.[] | select(.is_followed == false)'",
        ),
    ),
    CliCommand(
        "robots",
        "gossamer.cli.robots:robots",
        "Show what a robots.txt says to an agent, and judge addresses by it, each with the line that decides.\n\n"
        "A file, or the robots.txt of a site, fetched as a crawl fetches it: redirects are followed, a public site "
        "wants a contact, private addresses an --allow-address. Lines that are ignored, mended or misread are told "
        "with their numbers. Exit code 1: a tested address is not allowed; 2: the file or address cannot be used.",
        (
            "gossamer robots https://example.org/ --contact you@example.org",
            "gossamer robots robots.txt --agent Gossamer --test /private/x https://example.org/",
            "gossamer robots robots.txt --agent Googlebot --matching token --test /a --json | jq .tests",
        ),
    ),
    CliCommand(
        "rules",
        "gossamer.cli.rules:rules",
        "See, add, remove or try out the rules of a crawl, also while it runs.\n\n"
        "A rule is include, exclude, sooner N, later N or seed ADDRESS:, and an expression of host, domain, path, "
        "query, url, prefix, scheme, depth and type with =, !=, ~, in, <=, has, joined by and, or, not. The last "
        "include or exclude that applies decides; with an include, what none speaks of stays out. preview counts the "
        "waiting addresses that a rule would keep out, and changes nothing. The rules are in rules.txt in the data "
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
        "status",
        "gossamer.cli.status:status",
        "Show what a collection holds, what waits, how visits ended, and who is at work on it.",
        ("gossamer status --dir example", "gossamer status --dir example --json"),
    ),
    CliCommand(
        "top",
        "gossamer.cli.top:top",
        "Watch every process of a collection live: CPU, memory, pages a second, queues, lag, and what to look at.\n\n"
        "It may run in any terminal, while the crawl runs and after it; q or Ctrl-C ends it. Where there is no "
        "terminal it writes plain lines.",
        ("gossamer top --dir example", "gossamer top --once", "gossamer top --dir example --json | jq .totals"),
    ),
    CliCommand(
        "why",
        "gossamer.collection.why.answer:why",
        "Say everything about one address: how it was found, which rules let it in, its visits, what it waits for.\n\n"
        "For a host: why is nothing being fetched there? It reads only, also while the crawl runs. Exit code 1 when "
        "the address or host was never met; then it says what would happen to it.",
        (
            "gossamer why https://example.org/teapot --dir example",
            "gossamer why --host example.org --dir example",
            "gossamer why https://example.org/teapot --dir example --json | jq .waits",
        ),
    ),
    CliCommand(
        "retry",
        "gossamer.cli.retry:retry",
        "Bring URLs back that failed or were refused: by reason, host or URL.\n\n"
        "What would wait again is shown first, with a few URLs of each kind. A running crawl takes them at once, else "
        "the next one does; robots.txt and politeness hold as always. Pages that were fetched are fetched again with "
        "`gossamer crawl --again`. Exit code 1 when there is nothing of that kind.",
        (
            "gossamer retry --reason timeout --dir example",
            "gossamer retry --host example.org --yes --dir example",
            "gossamer retry --url https://example.org/teapot --yes --dir example",
            "gossamer retry --reason filter-error --reason address --json --dir example",
        ),
    ),
    CliCommand(
        "hosts",
        "gossamer.cli.hosts:hosts",
        "List the hosts of a crawl and how each stands; take one out of the crawl, or back in.\n\n"
        "A retired host keeps its addresses and is not visited until it is reinstated. What is held in quarantine is "
        "released pattern by pattern. A running crawl is asked to do it; without one it is done at once.",
        (
            "gossamer hosts --dir example",
            "gossamer hosts --state retired --dir example --json",
            "gossamer hosts retire slow.example.org --why 'its owner asked' --dir example",
            "gossamer hosts reinstate slow.example.org --dir example",
            "gossamer hosts release shop.example.org --pattern '/list?{...}' --dir example",
        ),
    ),
    CliCommand(
        "politeness",
        "gossamer.cli.politeness:politeness",
        "Prove, host by host, that the promised gaps between visits were kept.\n\n"
        "The ledger of the crawl is shown, the worst host first, and held against the archive, which was written by "
        "another part of the program. Exit code 4 when a promise was broken, or the archive contradicts the ledger.",
        (
            "gossamer politeness --dir example",
            "gossamer politeness --deep --limit 0 --dir example",
            "gossamer politeness --dir example --json | jq .broken",
        ),
    ),
    CliCommand(
        "plan",
        "gossamer.cli.plan:plan",
        "Say what a crawl needs before it starts: time, bandwidth, connections, hosts, disk and memory.\n\n"
        "Politeness comes first: a host is visited once in a gap, whatever the machine. The bottleneck is named, and "
        "what would change it. Exit code 1 when it does not fit the --days given.",
        (
            "gossamer plan --pages 1M --hosts 2000",
            "gossamer plan --pages 200k --hosts 50 --days 2 --delay 2 --page-kb 40",
            "gossamer plan --pages 5M --hosts 20k --dir example --json",
        ),
    ),
    CliCommand(
        "simulate",
        "gossamer.cli.simulate:simulate",
        "Compare revisiting policies on a virtual clock against a web that changes.\n\n"
        "The policies are the program's own, the web is made up: its pages change as often as pages of the real web "
        "were found to. Shown are how old the copies are on the average, how many are fresh, and what would be "
        "possible for one who knew every page's true rate of change. Rates are unknown at the start.",
        (
            "gossamer simulate --pages 5000",
            "gossamer simulate --policy age --policy uniform --pages 5000 --budget 500 --plot ages.svg",
            "gossamer simulate --pages 5000 --web mixed --json | jq '.[].average_age_days'",
        ),
    ),
    CliCommand(
        "freshness",
        "gossamer.cli.freshness:freshness",
        "Say how fresh the collection is and was: how old its copies are, all of them, by site, and over time.\n\n"
        "From what visits have taught about how often each page changes. Beside it stands what the schedule leads to, "
        "and what would be possible with as many visits by one who knew every page's rate of change. A crawl that "
        "comes back to pages (`gossamer crawl --forever`) takes samples as it runs: the curve, and what visits found: "
        "changes, bytes that needed not be sent again, pages that vanished and appeared. Exit code 1 when there is "
        "nothing to measure.",
        (
            "gossamer freshness --dir example",
            "gossamer freshness --dir example --site example.org --plot freshness.svg",
            "gossamer freshness --limit 0 --dir example --json | jq .all.average_age_days",
        ),
    ),
    CliCommand(
        "revisits",
        "gossamer.cli.revisits:revisits",
        "List the pages that are visited again: when each is due, how often it changes, and why it is due then.\n\n"
        "For a collection that was crawled with --forever; also while the crawl runs. Nothing is changed. The rate of "
        "change is estimated from what visits found; the reason says which rule of the policy chose the moment. Exit "
        "code 1: no page is to be listed.",
        (
            "gossamer revisits --dir example",
            "gossamer revisits --due --host example.org --dir example",
            "gossamer revisits --export plan.csv --dir example",
            "gossamer revisits --limit 0 --json --dir example",
        ),
    ),
    CliCommand(
        "history",
        "gossamer.cli.history:history",
        "Say when a page was seen and how it changed; show it, its facts or a whole site as they were.\n\n"
        "Every version is read again from the archive, by the readers of this version of the program. A change is one "
        "of bytes, of text or of facts. A date alone means the end of that day. export writes every version into "
        "folders by date and time, domain and path, and goes on where it was stopped.",
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
        "export",
        "gossamer.cli.export:export",
        "Write a collection out in formats other programs read.\n\n"
        "nquads: the facts. jsonl: pages with text, links and facts, one JSON object a line. text: address, title "
        "and text, pages parted by form feeds. warc: the whole archive as one WARC file. pages and "
        "visits: the lists behind the numbers of `gossamer status`, as CSV; all pages, and every URL visited with how "
        "its last visit ended.",
        (
            "gossamer export visits --reason failed --dir example",
            "gossamer export nquads --dir example --out facts.nq",
            "gossamer export jsonl --dir example | jq .title",
            "gossamer export warc --dir example --out example.warc.gz",
        ),
    ),
    CliCommand(
        "import",
        "gossamer.cli.import_:import_archives",
        "Take in WARC and ARC files that others made.\n\n"
        "Their pages are archived here, read, and made searchable like what was crawled. Links are not followed. A "
        "record that cannot be used is set aside and named with its reason, and the import goes on: exit code 4 then.",
        ("gossamer import crawl-2024.warc.gz --dir collection", "gossamer import *.warc.gz --dir collection"),
    ),
    CliCommand(
        "rebuild",
        "gossamer.cli.rebuild:rebuild",
        "Make the graph, the index and the links again from the archive, which is the truth.\n\n"
        "Needed after a backup, or when a view was damaged. Every capture is read again by the extractors of this "
        "version. The new views are made beside the present ones, which answer until the new ones are complete and "
        "replace them in one step; that needs as much free disk again as they take. Cut short, the same command goes "
        "on where it stopped. A crawl must not be running.\n\n"
        "With --state a lost or damaged state.db is made again instead: what was visited, how that ended, and the "
        "links not yet followed. The damaged file is set aside.",
        (
            "gossamer rebuild --dir copy",
            "gossamer rebuild --fresh --dir copy",
            "gossamer rebuild --state --dir example",
            "gossamer rebuild --state --seed https://example.org/ --dir example",
        ),
    ),
    CliCommand(
        "sitemap",
        "gossamer.cli.sitemap:sitemap",
        "Write a sitemap for a folder of files, as its web server shows them.\n\n"
        "Web pages, PDF, text and office files are listed; an index file stands for its folder. Hidden and backup "
        "files, links that lead out of the folder and what the folder's robots.txt disallows are left out. lastmod is "
        "the file's own date, changefreq is estimated from the dates, better with an earlier sitemap beside. Above "
        "50,000 pages or 50 MiB several files and an index are written. Exit code 1 when there is nothing to list.",
        (
            "gossamer sitemap public --site https://example.org/",
            "gossamer sitemap public --site https://example.org/ --output public/sitemap.xml.gz --json",
            "gossamer sitemap public --site https://example.org/ --previous public/sitemap.xml",
        ),
    ),
    CliCommand(
        "compact",
        "gossamer.cli.compact:compact",
        "Drop old versions of pages from the archive, as far as archive.retain or --keep says.\n\n"
        "last:N keeps the newest N versions of each page. thinned keeps all of the last 30 days, one a week to a year "
        "of age, then one every four weeks, and always the first. The newest version always stays, search and facts "
        "stay as they are, and a version that another refers to stays with it. Not while a crawl runs; it may be "
        "stopped at any moment, and asked for again. Let cron call it now and then.",
        (
            "gossamer compact --dir example --dry-run --keep thinned",
            "gossamer compact --dir example --keep last:5",
            "gossamer compact --dir example --json | jq .bytes",
        ),
    ),
    CliCommand(
        "forget",
        "gossamer.cli.forget:forget",
        "Erase pages or whole hosts from a collection for good, and keep them out.\n\n"
        "Every capture leaves the archive, with what was found, queued and learned of it; search, facts and links are "
        "made again from the rest, which takes as long as `gossamer rebuild` (with --quick it is taken out of them as "
        "they stand). Later crawls, imports and rebuilds do not bring it back, until --allow. Not while a crawl runs; "
        "cut short, the same command goes on with it. It says in the end what it does not reach.",
        (
            "gossamer forget https://example.org/private --dir example --dry-run",
            "gossamer forget https://example.org/private http://example.org/old --dir example",
            "gossamer forget example.org --dir example --yes",
            "gossamer forget --list --dir example",
            "gossamer forget --allow example.org --dir example",
        ),
    ),
    CliCommand(
        "verify",
        "gossamer.cli.verify:verify",
        "Check every record of the archive, and the databases and views; repair them from a backup.\n\n"
        "Each record is read and held against the catalogue: its place, URL, moment and the digest of its body. "
        "It names what is damaged, by URL and moment, and what to do. It may run beside a crawl, and then only reads. "
        "Without a backup the page of a damaged capture is fetched again by the next crawl; the capture itself stays "
        "lost until --acknowledge accepts that. Exit code 0: whole, or acknowledged; 4: damaged.",
        (
            "gossamer verify --dir example",
            "gossamer verify --dir example --repair-from example-backup",
            "gossamer verify --dir example --json | jq .damaged",
            "gossamer verify --dir example --acknowledge",
        ),
    ),
    CliCommand(
        "backup",
        "gossamer.cli.backup:backup",
        "Copy a collection to another directory, also while the crawl runs.\n\n"
        "Archive, catalogue, state and settings are copied: a data directory of its own. `gossamer rebuild` makes "
        "its views, and `gossamer crawl` goes on from the moment of the backup.",
        ("gossamer backup copy --dir example", "gossamer rebuild --dir copy"),
    ),
)
UNSET = CliCommand(
    "unset",
    "gossamer.cli.config:unset",
    "Forget an option that a crawl of the collection was given as a flag.\n\n"
    "Later crawls go by gossamer.toml or the default again. `gossamer config show` names the options.",
    (
        "gossamer config unset crawl.max_pages --dir example",
        "gossamer config unset fetch.allow_addresses --dir example",
    ),
)
SHOW = CliCommand(
    "show",
    "gossamer.cli.config:show",
    "Show every setting, its value, and where it comes from: default, file, this collection, variable or flag.\n\n"
    "Settings are read from gossamer.toml in the data directory, then from the options that crawls of the collection "
    "were given, then from variables such as GOSSAMER_CONTACT, then from flags; the later win.",
    ("gossamer config show --dir example", "gossamer config show --sample > example/gossamer.toml"),
)
