"""The indexer reads again by the settings of the collection."""

from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.indexer.process import settings_of
from gossamer.store.directory import Directory


def test_what_is_read_again_is_read_by_the_settings_of_the_collection(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "gossamer.toml").write_text("[readers]\nwall_s = 17\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: told.append(event)).readers.wall_s == 17
    assert told == []
    (tmp_path / "gossamer.toml").write_text("[readers\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: told.append(event)) == Settings()
    assert told == ["views.settings-unread"]
