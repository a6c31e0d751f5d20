"""Rules that speak of depth and of type at once."""

from pathlib import Path

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.crawler.admission import Admission
from gossamer.crawler.rules_file import RulesFile
from gossamer.rules.scope import Reach
from gossamer.values.url import Url


def test_a_rule_of_depth_and_type_is_judged_with_the_depth_of_the_address(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("exclude depth > 2 and type = text/plain\n")
    ruling = Admission([(Url("http://h.org/"), Reach.HOST)], None, RulesFile(DiskFiles(), tmp_path, silent))
    ruling.open()
    page = Url("http://h.org/notes")
    assert ruling.judge_type(page, "text/plain", 2) is None
    assert ruling.judge_type(page, "text/html", 3) is None
    assert "depth > 2" in str(ruling.judge_type(page, "text/plain", 3))
