"""The state of a collection.

Connection, migrations, the tables several rooms share, the writer's lock.
"""
