"""One database: connection, migrations, unit of work, the writer's lock."""
