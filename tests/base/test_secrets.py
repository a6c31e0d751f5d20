"""References to secrets in the addresses of services and databases."""

from pathlib import Path

import pytest

from gossamer.base.errors import ConfigError
from gossamer.base.secrets import in_conninfo, revealed


def test_references_are_replaced_by_a_variable_or_the_content_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("it's\n")
    assert revealed("http://a:${B}@c/", {"B": "x y/@"}) == "http://a:x%20y%2F%40@c/"
    assert revealed(f"password=${{file:{file}}}", {}, in_conninfo) == "password='it\\'s'"
    assert revealed("postgresql://a@b/c", {}) == "postgresql://a@b/c"


def test_a_reference_that_leads_nowhere_is_named_and_no_secret_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="variable B, which holds a secret of"):
        revealed("http://a:${B}@c/", {})
    with pytest.raises(ConfigError, match=r"missing, which holds a secret of .*: No such file"):
        revealed(f"${{file:{tmp_path / 'missing'}}}", {})
    latin = tmp_path / "latin"
    latin.write_bytes(b"geh\xe4im")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        revealed(f"${{file:{latin}}}", {})
