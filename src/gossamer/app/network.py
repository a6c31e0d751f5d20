"""The network as the running program uses it. Apart from `outside`: the indexer never dials, and need not load this."""

from gossamer.app.outside import Network, Outside
from gossamer.fetch.resolve import DnsResolver
from gossamer.fetch.seams import DirectDialer


def real_network(outside: Outside) -> Network:
    return Network(DnsResolver(outside.clock), DirectDialer())
