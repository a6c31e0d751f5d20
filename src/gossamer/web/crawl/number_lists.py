"""Which list stands behind which number: a number that has one links to it, on every page.

Numbers of URLs, pages and captures have as many rows there: a page, or a table to download. Those of addresses that
wait or are held back are the sum of a column of the list of hosts, which is as far as anybody counts them one by one.
"""

from collections.abc import Mapping

LISTS: Mapping[str, str] = {
    "pages": "/crawl/pages",
    "known": "/export/addresses.csv",
    "captures": "/export/captures.csv",
    "revisits": "/export/revisits.csv",
    "visited": "/crawl/visits",
    "found": "/crawl/visits?reason=found",
    "redirected": "/crawl/visits?reason=redirected",
    "missing": "/crawl/visits?reason=missing",
    "refused": "/crawl/visits?reason=refused",
    "failed": "/crawl/visits?reason=failed&reason=unread",
    "errors_min": "/crawl/visits?reason=failed&reason=unread",
    "queued": "/crawl/hosts?sort=queued",
    "quarantined": "/crawl/hosts?sort=held",
    "leased": "/crawl/hosts?state=under-way",
    "in_flight": "/crawl/hosts?state=under-way",
    "hosts": "/crawl/hosts?sort=visits",
    "retired": "/crawl/hosts?state=retired",
    "ready_hosts": "/crawl/hosts?state=ready",
    "waiting_hosts": "/crawl/hosts?sort=queued",
    "archive_bytes": "/export/captures.csv",
    "pages_s": "/nodes#history",
    "bytes_s": "/nodes#history",
    "words_lag_s": "/nodes#history",
    "facts_lag_s": "/nodes#history",
    "cpu": "/nodes#processes",
}
