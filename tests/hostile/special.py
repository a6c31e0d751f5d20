"""IP addresses that must never be connected to, and the spellings of the one that attackers try first."""

_ADDRESSES = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.0.1
    169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1
    198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
    :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
    64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 5f00::1
    fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1 4000::1
"""
ADDRESSES = tuple(_ADDRESSES.split())

LOOPBACKS = (
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://017700000001/",
    "http://0177.0.0.01/",
    "http://127.0.0.1./",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://good.test@127.0.0.1/",
)
"""Sixteen spellings of this machine, all accepted by browsers."""

NAMES = (
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://a.localhost/",
    "http://a.b.localhost./",
)

NO_ADDRESSES = (
    "http://[fe80::1%25eth0]/",
    "http://[::1%lo]/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_x",
    "data:text/html,x",
    "javascript:alert(1)",
    "ws://127.0.0.1/",
    "http://127.0.0.1:99999/",
    "http://:80/",
)
"""Texts that are not a valid Url."""


def written(address: str) -> str:
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"


TARGETS = (*map(written, ADDRESSES), *LOOPBACKS, *NAMES)
CODES = (301, 302, 303, 307, 308)
