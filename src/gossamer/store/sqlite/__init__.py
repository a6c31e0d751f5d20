"""state.db: connection, migrations, and the tables several rooms share."""
