"""The indexer reads captures again with the settings of the collection."""

from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.indexer.process import settings_of
from gossamer.store.directory import Directory


def test_captures_are_read_again_with_the_settings_of_the_collection(tmp_path: Path) -> None:
    events: list[str] = []
    (tmp_path / "gossamer.toml").write_text("[readers]\nwall_s = 17\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: events.append(event)).readers.wall_s == 17
    assert events == []
    (tmp_path / "gossamer.toml").write_text("[readers\n")
    assert settings_of(Directory(tmp_path), lambda event, **_: events.append(event)) == Settings()
    assert events == ["views.settings-unread"]
