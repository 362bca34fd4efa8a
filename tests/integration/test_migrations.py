"""The migrations on both engines: they make exactly the tables of core.tables, can be repeated, and can be undone."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlalchemy.engine.interfaces import ReflectedCheckConstraint

from core import counts, database
from core.clock import utc_now
from core.tables import metadata
from tests.system import ROOT

COUNT = {("outcome", "resend", "removed"): 1}


@pytest.fixture
def bare(database_url: str) -> Iterator[Engine]:
    """A database without any table."""
    engine = database.create(database_url)
    yield engine
    engine.dispose()


def tables(engine: Engine, schema: str | None = None) -> set[str]:
    return set(inspect(engine).get_table_names(schema)) - {"alembic_version"}


@contextmanager
def migrating(engine: Engine, direction: Callable[[Config, str], None], revision: str) -> Iterator[None]:
    """A migration that is committed at the end of the block."""
    config = Config()
    config.set_main_option("script_location", "core:migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        direction(config, revision)
        yield


def downgrade(engine: Engine) -> None:
    with migrating(engine, command.downgrade, "base"):
        pass


def constraints(engine: Engine) -> dict[str, Any]:
    """What `compare_metadata` does not look at: check and unique constraints, and conditions of indexes."""
    look = inspect(engine)

    def conditions(found: list[ReflectedCheckConstraint]) -> list[str]:
        return sorted(one["sqltext"] for one in found)

    return {
        name: (
            conditions(look.get_check_constraints(name)),
            sorted(str(one["column_names"]) for one in look.get_unique_constraints(name)),
            sorted(
                (one["name"], [str(option) for option in one.get("dialect_options", {}).values() if not _fills(option)])
                for one in look.get_indexes(name)
            ),
            look.get_pk_constraint(name)["constrained_columns"],
        )
        for name in metadata.tables
    }


def _fills(option: object) -> bool:
    """A fill factor: only a migration can set that of a primary key, and it changes nothing but the size."""
    return "fillfactor" in str(option)


def test_an_upgrade_makes_exactly_the_tables_of_the_metadata(bare: Engine) -> None:
    database.upgrade(bare)

    with bare.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_an_upgrade_makes_the_constraints_of_the_metadata(bare: Engine) -> None:
    database.upgrade(bare)
    upgraded = constraints(bare)
    downgrade(bare)
    metadata.create_all(bare)

    assert upgraded == constraints(bare)
    assert len(upgraded["journal"][0]) == 2


def test_an_upgrade_twice_is_harmless_and_keeps_what_is_stored(bare: Engine) -> None:
    database.upgrade(bare)
    with bare.begin() as connection:
        counts.add(connection, COUNT, utc_now())

    database.upgrade(bare)

    with database.reading(bare) as connection:
        assert counts.totals(connection) == COUNT


def test_a_downgrade_leaves_nothing_and_an_upgrade_brings_everything_back(bare: Engine) -> None:
    database.upgrade(bare)
    downgrade(bare)
    assert tables(bare) == set()

    database.upgrade(bare)

    assert tables(bare) == set(metadata.tables)


def test_a_release_waits_for_another_that_is_still_at_work(bare: Engine) -> None:
    url = bare.url.render_as_string(hide_password=False)
    upgrade = f"from core import database; database.upgrade(database.create({url!r}))"
    with migrating(bare, command.upgrade, "head"):
        second = subprocess.Popen([sys.executable, "-c", upgrade], cwd=ROOT, stderr=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(2)

    assert (second.communicate(timeout=60)[1].decode()[-500:], second.returncode) == ("", 0)
    assert tables(bare) == set(metadata.tables)


def test_a_schema_of_our_own_is_made_and_holds_every_table(postgresql_url: str) -> None:
    engine = database.create(postgresql_url, "mailward")

    database.upgrade(engine, "mailward")
    database.upgrade(engine, "mailward")

    assert tables(engine, "mailward") == set(metadata.tables)
    assert tables(engine, "public") == set()
    engine.dispose()


def test_the_folder_of_a_new_sqlite_file_is_made(sqlite_url: str) -> None:
    engine = database.create(sqlite_url.replace("mailward.sqlite3", "new/folder/mailward.sqlite3"))

    database.upgrade(engine)

    assert tables(engine) == set(metadata.tables)
    engine.dispose()


def test_there_is_one_line_of_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", "core:migrations")

    assert len(ScriptDirectory.from_config(config).get_heads()) == 1
