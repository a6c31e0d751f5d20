"""What was deleted from a database is still in its file until something else is written there: this makes it go."""

import sqlite3
from contextlib import closing
from pathlib import Path

BUSY_S = 10.0


def scrub(path: Path) -> None:
    """Write the whole database anew, and empty its journal. REQUIRES: no other process writes to it.

    A reader that holds an old state keeps the journal alive until it lets go; what was deleted then stays in it till
    the next writer closes the database.
    """
    with closing(sqlite3.connect(path, BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
