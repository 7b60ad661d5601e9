import pytest

import eqemu_database as eq
import ragnarok_database as ragnarok
import warcraft_database as wow
from database_reading import opened, preset_of
from gamewarden.readers import servers
from mariadb_server import database_of

pytestmark = pytest.mark.integration

HERCULES = {
    **ragnarok.RATHENA,
    "picklog": ragnarok.RATHENA["picklog"].replace("`option_id0`", "`opt_idx0`"),
}
SCHEMAS = {
    "rathena": ragnarok.RATHENA,
    "hercules": HERCULES,
    "azerothcore": {**wow.AZEROTHCORE_AUTH, **wow.AZEROTHCORE_CHARACTERS},
    "trinitycore": {**wow.TRINITYCORE_AUTH, **wow.TRINITYCORE_CHARACTERS},
    "eqemu": eq.EQEMU,
}


@pytest.mark.parametrize("server", SCHEMAS)
def test_no_preset_takes_the_database_of_another_server_for_its_own(mariadb_server, mariadb, server):
    wow.make(mariadb_server, database_of(mariadb), SCHEMAS[server])
    source = opened(mariadb)
    claims = [name for name in SCHEMAS if servers.load(name).wrote(source.database)]
    source.database.close()

    assert claims == [server]


@pytest.mark.parametrize("server", SCHEMAS)
@pytest.mark.parametrize("beside", ["rathena", "hercules"])
def test_another_games_database_beside_it_changes_nothing(mariadb_server, mariadb, server, beside):
    other = mariadb_server.new_database()
    wow.make(mariadb_server, database_of(mariadb), SCHEMAS[server])
    wow.make(mariadb_server, database_of(other), SCHEMAS[beside])
    found = preset_of(mariadb)
    mariadb_server.drop(other)

    assert found == server
