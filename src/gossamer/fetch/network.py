"""The network as the running program uses it. Apart from `outside`: the indexer never dials, and need not load this."""

from gossamer.base.environment import DirectDialer, Network, Outside
from gossamer.fetch.dns import DnsResolver


def real_network(outside: Outside) -> Network:
    return Network(DnsResolver(outside.clock), DirectDialer())
