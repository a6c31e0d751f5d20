"""Scrapy, for comparison, as one would use it to follow links: robots.txt obeyed, links extracted, nothing stored.

Run in a process of its own by `bench.crawl`; prints one JSON line with the number and digest of the URLs it fetched.
"""

import argparse
import hashlib
import json

from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import CachingThreadedResolver
from scrapy.spiders import CrawlSpider, Rule
from twisted.internet import defer


class LoopbackResolver(CachingThreadedResolver):
    """Resolves every name to this machine: the benchmark never leaves it."""

    def getHostByName(self, name: str, timeout: object = ()) -> "defer.Deferred[str]":
        return defer.succeed("127.0.0.1")


class Follow(CrawlSpider):
    name = "follow"
    rules = (Rule(LinkExtractor(), callback="seen", follow=True),)

    def __init__(self, start_urls: list[str], domain: str, fetched: set[str]) -> None:
        super().__init__()
        self.start_urls = start_urls
        self.allowed_domains = [domain]
        self.fetched = fetched

    def parse_start_url(self, response: Response, **_: object) -> list[object]:
        return self.seen(response)

    def seen(self, response: Response) -> list[object]:
        self.fetched.add(response.url)
        return []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", required=True, help="file with one URL per line")
    parser.add_argument("--domain", required=True)
    parser.add_argument("--at-once", type=int, default=128)
    given = parser.parse_args()
    with open(given.seeds) as file:
        seeds = file.read().split()
    fetched: set[str] = set()
    crawler = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": given.at_once,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
            "DNS_RESOLVER": LoopbackResolver,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "bench (+https://bench.test/)",
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": True,
        }
    )
    crawler.crawl(Follow, start_urls=seeds, domain=given.domain, fetched=fetched)
    crawler.start()
    digest = hashlib.sha256("\n".join(sorted(fetched)).encode()).hexdigest()
    print(json.dumps({"pages": len(fetched), "digest": digest}))


if __name__ == "__main__":
    main()
