"""Serve the hostile web by hand: `python -m tests.hostile --list`, `python -m tests.hostile 8080`."""

import asyncio
import sys

from tests.hostile.behaviour import BEHAVIOURS
from tests.hostile.server import HostileServer


async def serve(port: int) -> None:
    async with HostileServer(port=port) as server:
        print(f"http://127.0.0.1:{server.port}/ misbehaves as the path asks")
        await asyncio.Event().wait()


if __name__ == "__main__":
    if "--list" in sys.argv:
        listed = [one for one in BEHAVIOURS.values() if not one.is_step]
        for one in listed:
            print(f"{one.name:28} {one.says}")
        print(f"{len(listed)} behaviours")
    else:
        asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
