"""A real Chromium, driven over its DevTools protocol. Names resolve only to this machine."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

LONG_S = 120.0
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without a user interface: the same pages for half the work."""
LAN = "lan.test"
"""A name of this machine that browsers do not treat as local or secure."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-breakpad", "--hide-scrollbars", "--remote-debugging-port=0",
    f"--host-resolver-rules=MAP {LAN} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1200,900",
)  # fmt: skip
CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""

FOCUSED = "document.activeElement !== document.body"


def program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """The URL of its DevTools."""
    browser = program()
    assert browser is not None
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [browser, *FLAGS, *sandbox, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "DevTools listening on " in line:
                yield line.split(" on ", 1)[1].strip()
                break
        else:
            raise AssertionError("Chromium did not start")
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # the program may be a script that waits for the browser
        process.wait(LONG_S)
        if process.stderr is not None:
            process.stderr.close()


@dataclass(slots=True)
class Tab:
    """A tab of the browser, with its own profile."""

    connection: aiohttp.ClientWebSocketResponse
    session: str = ""
    requested: list[str] = field(default_factory=list)
    """Every URL that the page requested, except `data:` URLs (Chromium uses them to draw date fields)."""
    dialogs: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    _number: int = 0
    _answers: dict[int, "asyncio.Future[Any]"] = field(default_factory=dict)
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, **params: Any) -> Any:
        self._number += 1
        waiting = self._answers[self._number] = asyncio.get_running_loop().create_future()
        command = {"id": self._number, "method": method, "params": params}
        await self.connection.send_json(command | ({"sessionId": self.session} if self.session else {}))
        return await asyncio.wait_for(waiting, LONG_S)

    async def listen(self) -> None:
        async for message in self.connection:
            answer = message.json()
            if "id" in answer:
                if not (waiting := self._answers.pop(answer["id"])).done():
                    waiting.set_result(answer.get("result", answer.get("error")))
                continue
            await self._handle(answer["method"], answer["params"])

    async def _handle(self, event: str, facts: dict[str, Any]) -> None:
        match event:
            case "Network.requestWillBeSent" if not facts["request"]["url"].startswith("data:"):
                self.requested.append(facts["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(facts["message"])
                self._number += 1
                self._answers[self._number] = asyncio.get_running_loop().create_future()
                close = {"id": self._number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
                await self.connection.send_json(close | {"sessionId": self.session})
            case "Log.entryAdded" if facts["entry"]["level"] in ("error", "warning"):
                self.console_errors.append(facts["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.console_errors.append(str(facts["exceptionDetails"].get("text")))
            case "Page.loadEventFired":
                self._loaded.set()

    async def go(self, url: str) -> None:
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        await asyncio.wait_for(self._loaded.wait(), LONG_S)

    async def value(self, script: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def value_in_frame(self, script: str) -> Any:
        """The value in the frame of the page, which may have another origin."""
        tree = (await self.call("Page.getFrameTree"))["frameTree"]
        world = await self.call("Page.createIsolatedWorld", frameId=tree["childFrames"][0]["frame"]["id"])
        where = {"contextId": world["executionContextId"], "returnByValue": True, "awaitPromise": True}
        answer = await self.call("Runtime.evaluate", expression=script, **where)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def click(self, target: str, loads: bool = False) -> None:
        """Click with the mouse on the middle of the element of this expression; `loads` waits for the next page."""
        middle = "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];"
        await self.value(f"({target}).scrollIntoView({{ block: 'nearest', behavior: 'instant' }})")
        x, y = await self.value(f"((one) => {{ {middle} }})({target})")
        self._loaded.clear()
        mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await self.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        await self.call("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
        if loads:
            await asyncio.wait_for(self._loaded.wait(), LONG_S)

    async def press(self, key: str, loads: bool = False) -> None:
        """Press one key; `loads` waits for the next page."""
        self._loaded.clear()
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = CODES.get(key, ord(key[0].upper()))
        stroke = {"key": key, "windowsVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **stroke)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **stroke)
        if loads:
            await asyncio.wait_for(self._loaded.wait(), LONG_S)

    async def write(self, text: str) -> None:
        """Type when an element has the focus: `autofocus` works only after the page has been drawn."""
        async with asyncio.timeout(LONG_S):
            while not await self.value(FOCUSED):
                await asyncio.sleep(0.03)
        for letter in text:
            await self.press(letter)


@contextlib.asynccontextmanager
async def tab(devtools: str) -> AsyncIterator[Tab]:
    async with aiohttp.ClientSession() as client, client.ws_connect(devtools, max_msg_size=0) as connection:
        page = Tab(connection)
        listening = asyncio.ensure_future(page.listen())
        try:
            profile = (await page.call("Target.createBrowserContext"))["browserContextId"]
            made = await page.call("Target.createTarget", url="about:blank", browserContextId=profile)
            attached = await page.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
            page.session = attached["sessionId"]
            for domain in ("Page", "Network", "Log", "Runtime"):
                await page.call(f"{domain}.enable")
            await page.call("Emulation.setFocusEmulationEnabled", enabled=True)  # each of many tabs counts as visible
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            yield page
            page.session = ""
            await page.call("Target.disposeBrowserContext", browserContextId=profile)
        finally:
            listening.cancel()


def drive(devtools: str, scenario: Callable[[Tab], Awaitable[None]]) -> None:
    """Run a scenario in a new tab."""

    async def run() -> None:
        async with tab(devtools) as page:
            await scenario(page)

    asyncio.run(run())
