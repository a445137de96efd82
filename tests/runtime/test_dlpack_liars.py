"""DLPack producers that make their memory, launch themselves, or tell no truth."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading

import cuda_mock
import dlpack_mock as dl
import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def copy(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


class Maker(dl.Producer):
    """Each capsule has memory of its own, which is overwritten when the capsule goes."""

    def __init__(self):
        super().__init__(np.zeros(1 << 16, np.float32))
        self.array[:] = -1
        self.n_made = 0

    def __dlpack__(self, **kwargs):
        self.array[:] = 3
        self.n_made += 1
        return self.capsule(destroyed=self.spoil)

    def spoil(self):
        self.array[:] = -1


def test_memory_of_a_capsule_lives_as_long_as_the_launch():
    x, y = Maker(), np.zeros(1 << 16, np.float32)
    for _ in range(3):
        y[:] = 0
        copy[(1,)](x, y, BLOCK=1 << 16)
        assert (y == 3).all()
        assert x.n_alive == 0 and x.array[0] == -1


def test_capsules_of_warmups_and_of_failures_go():
    x, y = Maker(), np.zeros(1 << 16, np.float32)
    copy.warmup(x, y, BLOCK=16, grid=(1,))
    assert x.n_alive == 0
    with pytest.raises(TypeError):
        copy[(1,)](x, object(), BLOCK=16)
    assert x.n_alive == 0


def test_on_a_gpu_until_the_stream_has_passed(tmp_path):
    out = cuda_mock.run(
        """
import numpy as np
import dlpack_mock as dl

class Array(dl.Producer):
    def __init__(self):
        super().__init__(np.empty(64, np.float32), (dl.CUDA, 0), address=0x7000)
    def __dlpack__(self, **kwargs):
        return self.capsule()

x, y = Array(), Array()
def alive():
    print(x.n_alive, y.n_alive, lib.mock_events())
def launch():
    K.copy[(1,)](x, y, 64, BLOCK=64)
    alive()
launch()                    # over at once
lib.mock_busy(1, 0)
launch()
launch()
lib.mock_busy(0, 0)
launch()                    # takes those before it away
lib.mock_busy(0, 1)
launch()                    # of a graph: it may run again
lib.mock_busy(0, 0)
launch()
""",
        tmp_path,
    )
    assert out.split("\n")[:6] == ["0 0 0", "1 1 1", "2 2 2", "0 0 0", "1 1 0", "1 1 0"]


class Itself(dl.Producer):
    def __init__(self):
        super().__init__(np.zeros(16, np.float32))

    def __dlpack__(self, **kwargs):
        copy[(1,)](self, self.array, BLOCK=16)
        return self.capsule()


def test_a_dlpack_that_launches_itself():
    with pytest.raises(RecursionError):
        copy[(1,)](Itself(), np.zeros(16, np.float32), BLOCK=16)


def test_a_grid_that_launches_itself():
    y = np.zeros(16, np.float32)

    def grid(meta):
        copy[grid](y, y, BLOCK=16)
        return (1,)

    with pytest.raises(RecursionError):
        copy[grid](y, y, BLOCK=16)


LIES = {
    "no shape": {"shape": None},
    "no end of sides": {"ndim": 2**31 - 1},
    "fewer than none": {"ndim": -1},
    "a negative side": {"shape": [-4]},
    "more than memory": {"shape": [2**62], "strides": None},
    "more by strides": {"strides": [2**62]},
    "strides down": {"strides": [-(2**61)]},
    "an offset of 2**63": {"byte_offset": 2**63},
    "an offset around": {"byte_offset": 2**64 - 4},
    "no address": {"data": 0},
    "an address in the first page": {"data": 1},
}


class Liar(dl.Producer):
    def __init__(self, lie):
        super().__init__(np.ones(64, np.float32))
        self.lie = lie

    def __dlpack__(self, **kwargs):
        return self.capsule(lie=self.lie)


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_lies(lie, target):
    y = np.zeros(64, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = target
        with pytest.raises(TypeError, match=r"argument 'x' is a Liar .* cannot read"):
            copy[(1,)](Liar(lie), y, BLOCK=64)
        copy[(1,)](Liar({}), y, BLOCK=64)
    assert y.all()


@pytest.mark.parametrize("kilobytes", [64, 80, 128, 256])
def test_small_stacks(kilobytes):
    """In a process of its own: too small a stack ends one."""
    done = subprocess.run(
        [sys.executable, __file__, str(kilobytes)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n" or "RecursionError: no stack is left" in done.stderr
    if kilobytes >= 128:
        assert done.stdout == "done\n"


def launch_on_a_thread(kilobytes: int) -> None:
    y = np.zeros(64, np.float32)

    def work():
        copy[(1,)](np.ones(64, np.float32), y, BLOCK=64)
        if y.all():
            print("done")

    tegula.knobs.runtime.num_threads = 1
    threading.stack_size(kilobytes << 10)
    t = threading.Thread(target=work)
    t.start()
    t.join()


if __name__ == "__main__":
    launch_on_a_thread(int(sys.argv[1]))


class Interface:
    """A tensor that is nothing but its __array_interface__."""

    def __init__(self, **what):
        self.memory = np.zeros(8, np.float32)
        self.__array_interface__ = {**self.memory.__array_interface__, **what}


@tegula.jit
def store_one(x):
    tl.store(x, 1)


@tegula.jit
def do_nothing(x):
    pass


class Pointer:
    dtype, shape, device = "float32", (8,), "cpu"

    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


# The upper bits of an address may be a tag on other machines.
NOWHERE = [0, 1, 4095, *([2**62] if platform.machine() == "x86_64" else [])]


@pytest.mark.parametrize("address", NOWHERE)
def test_elements_where_no_memory_is(address):
    """It ended the process where no first launch looks."""
    store_one[(1,)](Interface())
    store_one[(1,)](Interface())
    for x in Interface(data=(address, False)), Pointer(address):
        with pytest.raises(TypeError, match=f"at address {address}, where no memory"):
            store_one[(1,)](x)


def test_no_elements_where_no_memory_is():
    do_nothing[(1,)](Interface(data=(0, False), shape=(0,)))
