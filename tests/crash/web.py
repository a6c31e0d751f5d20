"""The web that the crash harness crawls: small, with hosts whose minimum gap is 2 s."""

from gossamer.base.environment import AddressPlan
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.values.url import Url

SEED = 7
PROFILE = "crash"


def crash_web(hosts: int, pages: int) -> DemoWeb:
    return DemoWeb(SEED, hosts, pages, PROFILE)


def demo_plan(hosts: int, pages: int, port: int) -> AddressPlan:
    return address_plan(crash_web(hosts, pages), port)


def demo_seeds(hosts: int, pages: int) -> list[Url]:
    return [Url(seed) for seed in crash_web(hosts, pages).seeds]
