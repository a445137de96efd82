"""VS Code's debugger in an interpreted kernel: debugpy, spoken to as an editor does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tegula

pytest.importorskip("debugpy")

PROGRAM = """\
import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def scaled(v, factor):
    w = v * factor
    return w


@tegula.jit(interpret=True)
def kernel(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    v += scaled(v, 2)
    tl.store(x + i, v)


kernel[(1,)](np.arange(4, dtype=np.float32), BLOCK=4)
"""


class Editor:
    """The other end of the debug adapter protocol."""

    def __init__(self, program: Path, env: dict[str, str]) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        run = ["-Xfrozen_modules=off", "-m", "debugpy", "--wait-for-client"]
        self.process = subprocess.Popen(
            [sys.executable, *run, "--listen", f"127.0.0.1:{port}", str(program)],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.skip("debugpy does not listen")
        self.socket.settimeout(60)
        self.file = self.socket.makefile("rwb")
        self.n = 0

    def send(self, command: str, **arguments: Any) -> int:
        self.n += 1
        message = {"seq": self.n, "type": "request", "command": command}
        data = json.dumps(message | {"arguments": arguments}).encode()
        self.file.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.file.flush()
        return self.n

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            size = 0
            while (head := self.file.readline()) != b"\r\n":
                assert head, "the connection is closed"
                if head.lower().startswith(b"content-length"):
                    size = int(head.split(b":")[1])
            message: dict[str, Any] = json.loads(self.file.read(size))
            if wanted(message):
                return message

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        n = self.send(command, **arguments)
        return self.wait(lambda m: m.get("request_seq") == n).get("body", {})

    def start(self, program: Path, line: int) -> None:
        self.ask(
            "initialize", adapterID="python", linesStartAt1=True, pathFormat="path"
        )
        self.send("attach", justMyCode=False)
        self.wait(lambda m: m.get("event") == "initialized")
        breakpoints = [{"line": line}]
        self.ask(
            "setBreakpoints", source={"path": str(program)}, breakpoints=breakpoints
        )
        self.ask("configurationDone")

    def stopped(self) -> tuple[list[tuple[str, int]], dict[str, str]]:
        """The stack of kernel and helpers, and the innermost one's variables."""
        event = self.wait(lambda m: m.get("event") in ("stopped", "terminated"))
        self.thread = event["body"]["threadId"]
        frames = self.ask("stackTrace", threadId=self.thread)["stackFrames"]
        scope = self.ask("scopes", frameId=frames[0]["id"])["scopes"][0]
        found = self.ask("variables", variablesReference=scope["variablesReference"])
        shown = {v["name"]: v["value"] for v in found["variables"]}
        stack = [(f["name"], f["line"]) for f in frames]
        names = [name for name, _ in stack]
        return stack[: names.index("<module>") + 1], shown

    def go(self, command: str) -> tuple[list[tuple[str, int]], dict[str, str]]:
        self.ask(command, threadId=self.thread)
        return self.stopped()


@pytest.fixture
def editor(tmp_path: Path) -> Any:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": str(Path(tegula.__file__).parents[1])}
    editor = Editor(program, env)
    try:
        editor.start(program, 17)
        yield editor
    finally:
        editor.process.kill()
        editor.process.wait()
        editor.file.close()
        editor.socket.close()


def test_breakpoints_steps_and_variables(editor: Editor) -> None:
    stack, shown = editor.stopped()
    assert stack == [("kernel", 17), ("<module>", 21)]
    assert shown["v"] == "array([0., 1., 2., 3.], dtype=float32)"
    assert shown["BLOCK"] == "4"
    stack, shown = editor.go("stepIn")
    assert stack == [("scaled", 9), ("kernel", 17), ("<module>", 21)]
    assert set(shown) >= {"v", "factor"} and "w" not in shown
    stack, shown = editor.go("next")
    assert stack[0] == ("scaled", 10)
    assert shown["w"] == "array([0., 2., 4., 6.], dtype=float32)"
    stack, _ = editor.go("stepOut")
    assert stack[0] == ("kernel", 17)
    stack, shown = editor.go("next")
    assert stack[0] == ("kernel", 18)
    assert shown["v"] == "array([0., 3., 6., 9.], dtype=float32)"
