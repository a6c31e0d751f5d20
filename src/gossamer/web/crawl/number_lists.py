"""Which list stands behind which number: a number that has one links to it, on every page.

Numbers of URLs and pages have as many rows there; those of addresses that wait or are held back are the sum of a
column of the list of hosts, which is as far as anybody counts them one by one.
"""

from collections.abc import Mapping

LISTS: Mapping[str, str] = {
    "pages": "/crawl/pages",
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
    "pages_s": "/nodes#history",
}
