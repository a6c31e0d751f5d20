"""The first thing a newcomer runs."""

import re
import signal
import urllib.request
from pathlib import Path

from tests.app.site import started


def test_the_demo_goes_on_serving_after_its_crawl_until_it_is_told_to_stop(tmp_path: Path) -> None:
    demo = started("demo", "--pages", "40", "--dir", tmp_path / "demo", "--port", "0")
    try:
        assert demo.stderr is not None
        told = ""
        while "Ctrl-C ends the demo" not in told:
            line = demo.stderr.readline()
            assert line, f"the demo ended by itself: {told}"
            told += line
        links = set(re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", told))
        assert len(links) == 1, "the link that was printed first still holds"
        with urllib.request.urlopen(links.pop(), timeout=10) as page:
            assert page.status == 200 and b"Gossamer" in page.read()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=20)
        assert demo.returncode == 0
    finally:
        demo.kill()
        demo.communicate()
