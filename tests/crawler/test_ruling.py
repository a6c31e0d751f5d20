"""Rules on both depth and type."""

from pathlib import Path

from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.crawler.admission import Admission
from gossamer.crawler.rules_file import RulesFile
from gossamer.rules.scope import Reach
from gossamer.values.url import Url


def test_a_rule_on_depth_and_type_is_checked_with_the_depth_of_the_url(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("exclude depth > 2 and type = text/plain\n")
    admission = Admission([(Url("http://h.org/"), Reach.HOST)], None, RulesFile(DiskFiles(), tmp_path, silent))
    admission.open()
    page = Url("http://h.org/notes")
    assert admission.judge_type(page, "text/plain", 2) is None
    assert admission.judge_type(page, "text/html", 3) is None
    assert "depth > 2" in str(admission.judge_type(page, "text/plain", 3))
