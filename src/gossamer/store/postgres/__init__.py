"""The shared database of a cluster: connection, migrations, catalogue."""
