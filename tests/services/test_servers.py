"""The servers that tests of clusters use do what the tests need them for."""

import socket
import threading

import psycopg
import pytest
from tests import postgres_server
from tests.services.postgres_pair import Group
from tests.services.proxy import Proxy


def test_what_was_committed_survives_the_loss_of_the_primary() -> None:
    if why := postgres_server.why_absent():
        pytest.skip(why)
    group = Group()
    group.start()
    try:
        with psycopg.connect(group.address, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        group.fail_over()
        with psycopg.connect(group.address, autocommit=True) as connection:
            assert connection.execute("SELECT number FROM kept").fetchall() == [(7,)]
            connection.execute("INSERT INTO kept VALUES (8)")
    finally:
        group.stop()


def test_a_proxy_hangs_is_cut_and_mended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as target, Proxy(target.getsockname()[1]) as proxy:
        echoing = threading.Thread(target=echo, args=(target, 2), daemon=True)
        echoing.start()
        with socket.create_connection(("127.0.0.1", proxy.port), 10) as client:
            client.sendall(b"one")
            assert client.recv(3) == b"one"
            proxy.hang()
            client.sendall(b"two")
            client.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.recv(3)
            proxy.mend()
            client.settimeout(10)
            assert client.recv(3) == b"two"
            proxy.cut()
            assert is_closed(client)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", proxy.port), 2)
        proxy.mend()
        with socket.create_connection(("127.0.0.1", proxy.port), 10) as client:
            client.sendall(b"again")
            assert client.recv(5) == b"again"


def echo(server: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = server.accept()
        with connection:
            try:
                while given := connection.recv(100):
                    connection.sendall(given)
            except OSError:
                continue


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True
