"""A desk that is open while somebody changes the settings of its workspace."""

import pytest

from gamewarden.desk.desk import Desk
from gamewarden.workspace.setting_up import set_up


@pytest.fixture
def desk(tmp_path):
    from gamewarden.workspace.place import Workspace

    set_up(tmp_path / "ws")
    return Desk(Workspace.at(tmp_path / "ws"))


def write(desk, old, new):
    path = desk.at_start.root / "warden.toml"
    path.write_text(path.read_text().replace(old, new))


def test_settings_count_once_they_are_written(desk):
    assert not desk.workspace.config.response.armed
    write(desk, "armed = false", "armed = true")

    assert desk.workspace.config.response.armed
    assert desk.workspace is desk.workspace


def test_settings_that_nobody_can_follow_leave_the_old_ones_in_force(desk):
    write(desk, "armed = false", "armed = perhaps")
    assert not desk.workspace.config.response.armed
    write(desk, "armed = perhaps", "armed = true")

    assert desk.workspace.config.response.armed


def test_settings_that_were_named_count_instead_of_the_workspaces_own_also_later(desk, tmp_path):
    from gamewarden.workspace.place import Workspace

    root, named = desk.at_start.root, tmp_path / "other.toml"
    write(desk, "armed = false", "armed = true")
    named.write_text((root / "warden.toml").read_text().replace("armed = true", "armed = false"))
    ours = Desk(Workspace.at(root, named))
    write(desk, "[response]", "# somebody was here\n[response]")

    assert not ours.workspace.config.response.armed
    named.write_text(named.read_text().replace("armed = false", "armed = true"))
    assert ours.workspace.config.response.armed
