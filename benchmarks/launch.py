"""What a launch costs above the work: many calls of kernels that do nothing."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def none_kernel():
    pass


def one_kernel(x_ptr):
    pass


def five_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    pass


# fmt: off
def twenty_kernel(
    a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, T: tl.constexpr
):
    pass
# fmt: on


class Written:
    """A call as users write it, again and again; the result is x, which no kernel touches.

    Neither a function around the call nor `*args` and `**options` are timed, which take as
    long as the launch of a small kernel.
    """

    def __init__(self, kernel: Any, x: Any, args: tuple[Any, ...], const: dict) -> None:
        names = [f"a{i}" for i in range(len(args))]
        words = ", ".join(names + [f"{k}={v}" for k, v in const.items()])
        text = f"def make(kernel, {', '.join(names)}):\n"
        text += f" def loop(n):\n  for _ in range(n):\n   kernel[(1,)]({words})\n"
        made: dict[str, Any] = {}
        exec(text + " return loop\n", made)
        self.loop, self.x = made["make"](kernel, *args), x

    def __call__(self) -> Any:
        self.loop(1)
        return self.x


class RawDriver:
    """cuLaunchKernel called from C, again and again, with the arguments of one launch."""

    def __init__(self, kernel: Any, x: Any, args: tuple[Any, ...], const: dict) -> None:
        here = Path(__file__).with_name("raw_launch.c")
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name, "raw_launch.so")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", str(here), "-o", str(library), "-ldl"],
            check=True,
        )
        compiled = kernel[(1,)](*args, **const)
        values = [
            ctypes.c_uint64(a.data_ptr() if hasattr(a, "data_ptr") else a) for a in args
        ]
        self.keep = (compiled, values)
        params = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        call = ctypes.CDLL(str(library)).raw_launch
        handle = ctypes.c_void_p(compiled.function)
        threads = 32 * compiled.metadata.num_warps
        self.loop = lambda n: self.check(call(handle, threads, None, params, n))
        self.x = x

    @staticmethod
    def check(error: int) -> None:
        if error:
            raise RuntimeError(f"cuLaunchKernel: error {error}")

    def __call__(self) -> Any:
        self.loop(1)
        return self.x


def cases(device: str) -> Iterator[harness.Case]:
    x = np.zeros(64, np.float32)
    torch = harness.torch_or_none()
    dx = harness.to_device(x, device)
    for name, fn, args, const in (
        ("no argument", none_kernel, (), {}),
        ("1 argument", one_kernel, (dx,), {}),
        ("5 arguments", five_kernel, (dx, dx, dx, 64), {"BLOCK": 64}),
        ("20 arguments", twenty_kernel, (dx,) * 6 + (64,) * 13, {"T": 1}),
    ):
        case = harness.Case("launch", name, x.astype(np.float64), repeat=1000)
        case.add("tegula", Written(triton.jit(fn), dx, args, const))
        if device == "cuda" and shutil.which("cc"):
            raw = RawDriver(triton.jit(fn), dx, args, const)
            case.add("cuLaunchKernel in C", raw)
        theirs = harness.triton_kernel(fn, device)
        if theirs is not None:
            case.add("triton", Written(theirs, dx, args, const))
        if torch is not None:
            # The least torch asks for a call that writes: a yardstick, no rival.
            tx = torch.zeros(64, device=device)
            case.add("torch.neg_", lambda tx=tx: tx.neg_())
        elif device == "cpu":
            case.add("numpy negative", lambda x=x: np.negative(x, out=x))
        yield case
