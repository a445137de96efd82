"""machine.py in a process of its own, and what becomes of it.

A crash, or a case that takes too long, is an answer like any other: shrink.py shrinks it
as it shrinks a wrong result. The next case gets a new process.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

import tegula

from .case import Case

SECONDS = 120  # for one case; machines are busy
CASES = 400  # of one process: what it compiled is never freed


class Watch:
    """Answers cases; owns a process, which close() ends."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.left = 0

    def start(self) -> subprocess.Popen[str]:
        self.close()
        # The same package as this process's: a sanitizer's build is not the sources'.
        path = str(Path(tegula.__file__).parents[1])
        others = os.environ.get("PYTHONPATH", "")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", Path(__file__).with_name("machine.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "PYTHONPATH": path + os.pathsep + others},
        )
        self.left = CASES
        return self.process

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.errors.close()
            self.process = None

    def compare(self, case: Case) -> str:
        """What machine.compare says, or how the process ended."""
        p = self.process if self.process and self.left else self.start()
        assert p.stdin and p.stdout
        self.left -= 1
        try:
            p.stdin.write(json.dumps(case.dump()) + "\n")
            p.stdin.flush()
            ready, _, _ = select.select([p.stdout], [], [], SECONDS)
            line = p.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, line = [p], ""
        if line:
            return json.loads(line)
        if not ready:
            self.close()
            return f"no answer within {SECONDS} s"
        code = p.wait()
        self.errors.seek(0)
        said = self.errors.read()[-3000:]
        self.close()
        return f"the process ended: {code}\n{said}"
