"""Serve the hostile web by hand: `python -m tests.hostile --list`, `python -m tests.hostile 8080`."""

import asyncio
import sys

from tests.hostile.server import BEHAVIOURS, HostileServer


async def serve(port: int) -> None:
    server = HostileServer()
    server.port = port
    async with server:
        print(f"http://127.0.0.1:{server.port}/ misbehaves as its path says")
        await asyncio.Event().wait()


if __name__ == "__main__":
    if "--list" in sys.argv:
        for name, function in BEHAVIOURS.items():
            print(f"{name:24} {(function.__doc__ or '').strip().splitlines()[0]}")
    else:
        asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
