"""Pages with noarchive or nocache directives: no archived copy of them is shown."""

import pytest

from gossamer.reader.documents import copied
from gossamer.values.capture import Capture
from gossamer.values.messages import CopyJob
from gossamer.values.url import Url

HTML = ("Content-Type", "text/html")


def capture(body: str, *headers: tuple[str, str]) -> Capture:
    return Capture(Url("http://a.test/"), 1, 200, "OK", headers or (HTML,), body.encode())


@pytest.mark.parametrize(
    ("kept", "may_show"),
    [
        (capture("<p>fish"), True),
        (capture("<meta name=robots content=noarchive><p>fish"), False),
        (capture("<meta name=robots content='index, NOCACHE'><p>fish"), False),
        (capture("<meta name=gossamer content=noarchive><p>fish"), False),
        (capture("<meta name=otherbot content=noarchive><p>fish"), True),
        (capture("<meta name=robots content=nosnippet><p>fish"), True),
        (capture("<p>fish", HTML, ("X-Robots-Tag", "noarchive")), False),
        (capture("<p>fish", HTML, ("x-robots-tag", "otherbot: noarchive")), True),
        (capture("fish", ("Content-Type", "text/plain"), ("X-Robots-Tag", "gossamer: nocache")), False),
    ],
)
def test_no_copy_is_made_of_a_page_with_noarchive(kept: Capture, may_show: bool) -> None:
    """The directive is read from the stored response, so it also applies to pages captured by earlier versions."""
    made = copied(CopyJob(kept, agent="Gossamer"))
    assert made.may_show is may_show
    assert (b"fish" in made.html) is may_show
