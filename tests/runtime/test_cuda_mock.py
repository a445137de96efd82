"""The CUDA side of a launch against a mock driver: what is called, in which order."""

from __future__ import annotations

import cuda_mock
import pytest


def test_first_and_second_launch(tmp_path):
    out = cuda_mock.run(
        """
lib.mock_params(3)
k = K.copy[(4, 2)]
c = k(Tensor(), Tensor(0x8000), 100, BLOCK=64)
print(log())
print("--")
assert k(Tensor(), Tensor(0x8000), 100, BLOCK=64) is c
print(log())
print("--", c.target, c.n_regs, c.n_spills)
""",
        tmp_path,
        TEGULA_PTXAS="",
    )
    first, second, rest = out.split("--")
    lines = first.split("\n")
    assert lines[0] == "cuInit(0)"
    assert lines[1].startswith("retain(0)")
    assert lines[2] == "current(0x100a)"
    assert lines[3] in ("load(ptx)", "load(cubin)")
    assert lines[4] == "kernel(copy)"
    launch = (
        "launch(grid 4 2 1, block 128, shared 0, stream 0, context 0x100a, "
        "0x7000, 0x8000, 0x64)"
    )
    assert lines[5] == launch
    assert second.strip() == launch  # the context is left current: nothing to set
    assert rest.split()[0] == "cuda:sm_90a"


def test_context_of_another_device_is_put_back(tmp_path):
    out = cuda_mock.run(
        """
K.copy[(1,)](Tensor(), Tensor(), 64, BLOCK=64)
log()
lib.mock_current(0x9999, 11)            # a context of the user's on device 1
K.copy[(1,)](Tensor(), Tensor(), 64, BLOCK=64)
print(log())
lib.mock_current(0x8888, 10)            # another context, but of the right device
K.copy[(1,)](Tensor(), Tensor(), 64, BLOCK=64)
print(log())
""",
        tmp_path,
    )
    lines = out.strip().split("\n")
    assert lines[0] == "current(0x100a)"
    assert "context 0x100a" in lines[1]
    assert lines[2] == "current(0x9999)"
    assert "context 0x8888" in lines[3] and len(lines) == 4


def test_places_that_the_driver_knows(tmp_path):
    """Pinned CPU tensors beside CUDA ones, in any order; objects that name no device."""
    out = cuda_mock.run(
        """
device, pinned, plain = Tensor(), Tensor(0x40000000, "cpu"), Tensor(0x50000000, "cpu")

class Bare:
    dtype = "float32"
    def data_ptr(self):
        return 0x7100

for x, y in ((device, pinned), (pinned, device), (Bare(), Bare()), (Bare(), pinned)):
    K.copy[(3,)](x, y, 64, BLOCK=64)
    print(log().split("\\n")[-1].split(",")[0])
for x, y in ((device, plain), (plain, device)):
    try:
        K.copy[(3,)](x, y, 64, BLOCK=64)
    except ValueError as e:
        print(e)
""",
        tmp_path,
    )
    *launched, first, second = out.strip().split("\n")
    assert len(launched) == 4 and all(s.startswith("launch(") for s in launched)
    assert first.startswith("argument 'x' is a CUDA tensor and argument 'y' a CPU")
    assert second.startswith("argument 'x' is a CPU tensor and argument 'y' a CUDA")


def test_options_become_attributes(tmp_path):
    out = cuda_mock.run(
        """
t = Tensor()
K.copy[(3,)](t, t, 64, BLOCK=64, launch_pdl=True, num_warps=2)
K.copy[(3,)](t, t, 64, BLOCK=64, launch_cooperative_grid=True)
K.total[(3,)](t, t, BLOCK=8192, num_ctas=2)
for line in log().split("\\n"):
    if line.startswith("launch"):
        print(line)
""",
        tmp_path,
    )
    pdl, cooperative, cluster = out.strip().split("\n")
    assert pdl.endswith("pdl)") and "block 64" in pdl
    assert cooperative.endswith("cooperative)")
    assert cluster.endswith("cluster)") and "grid 6 1 1" in cluster


def test_exchange_api_gives_device_and_stream(tmp_path):
    out = cuda_mock.run(
        """
api = ctypes.addressof(ctypes.c_char.in_dll(lib, "mock_exchange"))
new = ctypes.pythonapi.PyCapsule_New
new.restype = ctypes.py_object
new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Fast:
    __dlpack_c_exchange_api__ = new(api, b"dlpack_exchange_api", None)
lib.mock_params(2)
K.copy[(1,)](Fast(), Fast(), 64, BLOCK=64)
print(log())
""",
        tmp_path,
    )
    assert "retain(1)" in out
    assert "stream 0x5000, context 0x100b, 0x7000, 0x7000" in out


def test_driver_errors_name_the_kernel(tmp_path):
    out = cuda_mock.run(
        """
t = Tensor()
K.copy[(1,)](t, t, 64, BLOCK=64)
lib.mock_fail(b"cuLaunchKernelEx")
try:
    K.copy[(1,)](t, t, 64, BLOCK=64)
except RuntimeError as e:
    print(e)
lib.mock_reset()
K.copy[(1,)](t, t, 64, BLOCK=64)        # and the process goes on
lib.mock_fail(b"cuLibraryLoadData")
try:
    K.copy[(1,)](t, t, 64, BLOCK=128)
except RuntimeError as e:
    print(e)
""",
        tmp_path,
    )
    launch, load = out.strip().split("\n")
    assert launch == (
        "copy(): CUDA error 700 CUDA_ERROR_ILLEGAL_ADDRESS: the mock was told to fail, "
        "launching the kernel"
    )
    assert load.endswith("loading the code: line 7: mock refuses")


def test_limits(tmp_path):
    out = cuda_mock.run(
        """
t = Tensor()
def error(grid, **kw):
    try:
        K.copy[grid](t, t, 64, BLOCK=64, **kw)
    except Exception as e:
        print(type(e).__name__, e)
        if "grid" in str(e): # what programs for CUDA, and for Triton, catch
            assert isinstance(e, ValueError) and isinstance(e, RuntimeError)
error((1, 65536))
error((1, 1, 70000))
error((1,), num_warps=32)               # the mock's kernels take 512 threads
try:
    K.total[(2**31 - 1,)](t, t, BLOCK=8192, num_ctas=2)
except ValueError as e:
    print(type(e).__name__, e)
K.copy[(0,)](t, t, 64, BLOCK=64)
K.copy[(5, 0, 2)](t, t, 64, BLOCK=64)
print(log().count("launch("))
""",
        tmp_path,
    )
    lines = out.strip().split("\n")
    assert lines[0].startswith("GridError grid (1, 65536, 1)")
    assert lines[1].startswith("GridError grid (1, 1, 70000)")
    assert lines[2].startswith(
        "OutOfResources out of resource: threads, Required: 1024"
    )
    assert lines[3].startswith("GridError")
    assert lines[4] == "0"


def test_tensors_on_two_devices(tmp_path):
    out = cuda_mock.run(
        """
cpu, gpu = Tensor(0x50000000, "cpu"), Tensor()
other = Tensor(device="cuda:1")
for pair in ((gpu, cpu), (cpu, gpu), (gpu, other)):
    try:
        K.copy[(1,)](*pair, 64, BLOCK=64)
    except ValueError as e:
        print(e)
print("launch" in log())
""",
        tmp_path,
    )
    lines = out.strip().split("\n")
    assert lines[0].startswith(
        "argument 'x' is a CUDA tensor and argument 'y' a CPU tensor"
    )
    assert lines[1].startswith(
        "argument 'x' is a CPU tensor and argument 'y' a CUDA tensor"
    )
    assert lines[1].endswith("x.cuda() copies one, and a number goes as x.item()")
    assert lines[2] == "arguments 'x' and 'y' are on different GPUs (0 and 1)"
    assert lines[3:] == ["False"]


def test_second_device_shares_the_code(tmp_path):
    out = cuda_mock.run(
        """
a, b = Tensor(), Tensor(device="cuda:1")
first = K.copy[(1,)](a, a, 64, BLOCK=64)
second = K.copy[(1,)](b, b, 64, BLOCK=64)
assert first is second and len(K.copy.variants) == 1
text = log()
print(text.count("load("), text.count("launch("), "0x100b" in text)
""",
        tmp_path,
    )
    assert out.split() == ["1", "2", "True"]


def test_no_driver(tmp_path):
    out = cuda_mock.run(
        """
tegula.knobs.nvidia.libcuda = "/nowhere/libcuda.so"
try:
    K.copy[(1,)](Tensor(), Tensor(), 64, BLOCK=64)
except RuntimeError as e:
    print(e)
""",
        tmp_path,
    )
    assert out.startswith("there is no CUDA driver: /nowhere/libcuda.so")


def test_a_driver_older_than_the_ptx(tmp_path):
    out = cuda_mock.run(
        """
lib.mock_fail(b"version")
t = Tensor()
K.copy[(1,)](t, t, 64, BLOCK=64)
print(log())
""",
        tmp_path,
        TEGULA_PTXAS="none",
    )
    assert out.count("load(ptx)") == 2 and "version(8.7)" in out
    assert out.strip().split("\n")[-1].startswith("launch(")


def test_a_driver_that_dies_of_ptx(tmp_path):
    out = cuda_mock.run(
        """
import resource, signal
lib.mock_fail(b"death")
t = Tensor()
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(1, 2)
    K.copy[(1,)](t, t, 64, BLOCK=64)
    os._exit(0)
print(os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV)
""",
        tmp_path,
        TEGULA_PTXAS="none",
    )
    assert (
        "SIGSEGV while the driver assembled kernel copy(). Where there is ptxas" in out
    )
    assert out.strip().endswith("True")


def test_an_assembler_older_than_the_ptx(tmp_path):
    """A stand-in for ptxas that wants 8.7, as the real one says it."""
    fake = tmp_path / "ptxas"
    fake.write_text(
        "#!/bin/sh\n"
        'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n'
        'if grep -q "^.version 8.7" "$1"; then\n'
        '    echo "ptxas info    : 16 bytes spill stores, 8 bytes spill loads"\n'
        '    echo "ptxas info    : Used 21 registers"; printf "\\177ELF" > "$out"\n'
        "else\n"
        "    echo \"ptxas fatal   : Unsupported .version 9.0; current version is '8.7'\"\n"
        "    exit 255\n"
        "fi\n"
    )
    fake.chmod(0o755)
    out = cuda_mock.run(
        """
c = K.copy.compile("*fp32", "*fp32", "i32", BLOCK=64, target="cuda:sm_90a")
print(c.n_regs, c.n_spills, c.asm["cubin"])
""",
        tmp_path,
        TEGULA_PTXAS=str(fake),
    )
    assert out.strip() == "21 24 b'\\x7fELF'"


def test_an_assembler_that_fails(tmp_path):
    fake = tmp_path / "ptxas"
    fake.write_text("#!/bin/sh\necho 'ptxas fatal: no mood'; exit 3\n")
    fake.chmod(0o755)
    for path, words in ((fake, "no mood"), (tmp_path / "none", "cannot be run")):
        out = cuda_mock.run(
            """
try:
    K.copy.compile("*fp32", "*fp32", "i32", BLOCK=64, target="cuda:sm_90a")
except tegula.errors.PTXASError as e:
    print(e)
""",
            tmp_path,
            TEGULA_PTXAS=str(path),
        )
        assert words in out


JAX = """
import numpy as np
import dlpack_mock as dl

class ArrayImpl(dl.Producer):
    def __init__(self, address=0x7000, index=0):
        super().__init__(np.empty(64, np.float32), (dl.CUDA, index), address=address)
    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(stream)
        return self.capsule()
    @property
    def __cuda_array_interface__(self):
        raise AssertionError("not for bf16, and says nothing of streams")
ArrayImpl.__module__ = "jaxlib._jax"
"""
CUPY = """
import sys, types
cupy = types.ModuleType("cupy.cuda")
streams = {0: 0x5100, 1: 0x5200}
cupy.get_current_stream = lambda device=0: types.SimpleNamespace(ptr=streams[device])
sys.modules["cupy.cuda"] = cupy

class ndarray:
    def __init__(self, address=0x9000, index=0):
        self.address = address
        self.device = types.SimpleNamespace(id=index)
    @property
    def __cuda_array_interface__(self):
        return {"data": (self.address, False), "typestr": "<f4", "shape": (64,),
                "version": 3, "stream": 1}
ndarray.__module__ = "cupy"
"""


def test_jax_arrays_go_in_and_cupy_arrays_come_out(tmp_path):
    """The stream is CuPy's, wherever it stands; JAX is told of it."""
    out = cuda_mock.run(
        JAX
        + CUPY
        + """
lib.mock_params(2)
x, y = ArrayImpl(), ndarray()
K.copy[(1,)](x, y, 64, BLOCK=64)
print(log().split("\\n")[-1])
print(x.asked)
K.copy[(1,)](y, ndarray(0xA000), 64, BLOCK=64)
print(log())
try:
    K.copy[(1,)](y, x, 64, BLOCK=64)
except ValueError as e:
    print(e)
print(repr(log()))
streams[0] = 0                          # CuPy's default stream
x.asked.clear()
K.copy[(1,)](x, y, 64, BLOCK=64)
print(log(), x.asked)
x = ArrayImpl(index=1)
K.copy[(1,)](x, ndarray(index=1), 64, BLOCK=64)
print([s for s in log().split("\\n") if s.startswith("launch")], x.asked)
""",
        tmp_path,
    )
    first, asked, cupy, error, nothing, default, second = out.strip().split("\n")
    assert "stream 0x5100, context 0x100a, 0x7000, 0x9000" in first
    assert asked == str([None, 0x5100])
    assert "stream 0x5100" in cupy and "0x9000, 0xa000" in cupy
    assert error.startswith("argument 'y' is a JAX array, which never changes")
    assert nothing == "''"
    assert "stream 0," in default and default.endswith("[None]")
    assert "stream 0x5200, context 0x100b" in second
    assert second.endswith(str([None, 0x5200]))


def test_jax_arrays_alone_run_on_the_default_stream(tmp_path):
    out = cuda_mock.run(
        JAX
        + """
lib.mock_params(2)
x, y = ArrayImpl(), Tensor(0x8000)
K.copy[(1,)](x, y, 64, BLOCK=64)
print(log().split("\\n")[-1])
print(x.asked, x.n_alive)
other = ArrayImpl(index=1)
for pair in ((x, other), (x, np.zeros(64, np.float32))):
    try:
        K.copy[(1,)](*pair, 64, BLOCK=64)
    except ValueError as e:
        print(e)
""",
        tmp_path,
    )
    launch, asked, gpus, mixed = out.strip().split("\n")
    assert "stream 0, context 0x100a, 0x7000, 0x8000" in launch
    assert asked == "[None] 0"
    assert gpus == "arguments 'x' and 'y' are on different GPUs (0 and 1)"
    assert "'x' is a CUDA tensor and argument 'y' a CPU tensor" in mixed


def test_an_old_cupy_knows_the_stream_of_its_device_only(tmp_path):
    out = cuda_mock.run(
        CUPY
        + """
cupy.get_current_stream = lambda: types.SimpleNamespace(ptr=0x5300)
K.copy[(1,)](ndarray(), ndarray(), 64, BLOCK=64)
print(log().split("\\n")[-1])
""",
        tmp_path,
    )
    assert "stream 0x5300" in out


def test_the_stream_in_a_cuda_array_interface(tmp_path):
    out = cuda_mock.run(
        """
class Array:
    def __init__(self, **more):
        self.more = more
    @property
    def __cuda_array_interface__(self):
        return {"data": (0x7000, False), "typestr": "<f4", "shape": (64,),
                "version": 3, **self.more}
for more in ({}, {"stream": None}, {"stream": 1}, {"stream": 0x5400}):
    K.copy[(1,)](Array(**more), Array(), 64, BLOCK=64)
    print(log().split("\\n")[-1])
frozen = Array()
frozen.more = {"data": (0x7000, True)}
K.copy[(1,)](frozen, Array(), 64, BLOCK=64)
try:
    K.copy[(1,)](Array(), frozen, 64, BLOCK=64)
except ValueError as e:
    print(e)
""",
        tmp_path,
    )
    *launches, error = out.strip().split("\n")
    streams = [text.partition("stream ")[2].partition(",")[0] for text in launches]
    assert streams == ["0", "0", "0x1", "0x5400"]
    assert error == "argument 'y' is read-only, and copy() writes it"


def test_launches_without_tensors_run_on_the_current_gpu(tmp_path):
    """Tables of addresses, and no argument at all; warmup() by types, for CUDA tensors."""
    out = cuda_mock.run(
        """
from tegula.compat import driver
K.nothing[(2,)](0x7000)
K.bare[(1,)]()
lib.mock_current(0x9999, 11)            # torch.cuda.set_device(1)
K.nothing[(3,)](0x7000)
print("\\n".join(s for s in log().split("\\n") if s.startswith("launch")))
variant, = K.nothing.variants
for device in 0, 1:
    assert list(K.nothing.device_caches[device][0].values()) == [variant]
assert not K.nothing.device_caches[2][0]
driver.set_active(driver.CpuDriver())
print(K.bare[(1,)]().target)
driver.reset_active()
print(K.bare[(1,)]().target)
""",
        tmp_path,
    )
    launches = "launch(grid {} 1 1, block 128, shared 0, stream 0, context {})"
    given = (2, "0x100a"), (1, "0x100a"), (3, "0x9999")
    assert out.split("\n") == [
        *(launches.format(*g) for g in given),
        "cpu",
        "cuda:sm_90a",
        "",
    ]


def test_a_launch_allocates_nothing(tmp_path):
    """Of objects and memory of Python's: there are none while it runs."""
    pytest.importorskip("_testcapi")
    out = cuda_mock.run(
        """
import _testcapi, sys, types
from tegula.tools.tensor_descriptor import TensorDescriptor
api = ctypes.addressof(ctypes.c_char.in_dll(lib, "mock_exchange"))
new = ctypes.pythonapi.PyCapsule_New
new.restype = ctypes.py_object
new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Fast:
    __dlpack_c_exchange_api__ = new(api, b"dlpack_exchange_api", None)
    dtype, itemsize = "float32", 4
    def data_ptr(self):
        return 0x7000
    def element_size(self):
        return 4
sys.modules["torch"] = types.SimpleNamespace(Tensor=Fast)
x = Fast()
wide, square = ([128, 128], [128, 1], [64, 64]), ([128, 64], [64, 1], [64, 64])
a, b, c = (TensorDescriptor(x, *shape) for shape in (wide, square, square))
limit, seen = 1 << 40, []
def launch(again):
    for i in range(3 if again else 1):
        if again and i == 2:
            _testcapi.set_nomemory(0)
        one = K.bare[(1,)]()
        two = K.nothing[(4, 2)](limit)
        three = K.copy[(1,)](x, x, 100, BLOCK=64, num_warps=8)
        four = K.by_descriptors[(2,)](a, b, c, 128)
        if again and i == 2:
            _testcapi.remove_mem_hooks()
    return one, two, three, four
for variant in launch(False):
    assert variant.target.startswith("cuda")
log()
launch(True)
print(log().count("launch("))
""",
        tmp_path,
        TEGULA_PTXAS="",
    )
    assert out == "12\n"


@pytest.mark.parametrize("kind", ["new", "old"])
def test_launches_without_tensors_are_on_the_stream_of_torch(tmp_path, kind):
    """By its exchange API, by torch._C where it has none; it may be imported late."""
    out = cuda_mock.run(
        """
import sys, types
api = ctypes.addressof(ctypes.c_char.in_dll(lib, "mock_exchange"))
new = ctypes.pythonapi.PyCapsule_New
new.restype = ctypes.py_object
new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Old:
    pass
class New:
    __dlpack_c_exchange_api__ = new(api, b"dlpack_exchange_api", None)
def launch():
    K.nothing[(1,)](7)
    print(log().split("stream ")[-1].split(",")[0])
launch()
sys.modules["torch"] = torch = types.ModuleType("torch")
launch()                                # it is being imported
torch.Tensor = New if sys.argv[1:] == ["new"] else Old
sys.modules["torch._C"] = types.SimpleNamespace(
    _cuda_getCurrentRawStream=lambda device: 0x5600 + device)
launch()
launch()
sys.modules["torch._C"] = types.SimpleNamespace()      # a build for CPUs
launch()
""".replace("sys.argv[1:]", repr([kind])),
        tmp_path,
    )
    stream = {"new": "0x5000", "old": "0x5600"}[kind]
    then = {"new": "0x5000", "old": "0"}[kind]
    assert out.split() == ["0", "0", stream, stream, then]


def test_a_warmup_by_types_is_for_the_gpu(tmp_path):
    pytest.importorskip("torch")
    out = cuda_mock.run(
        """
import torch
c = K.copy.warmup(torch.float32, torch.float32, 9, 16, grid=(1,))
c[(1, 1, 1)](Tensor(), Tensor(), 9, 16)
assert K.copy[(1,)](Tensor(), Tensor(), 9, 16) is c
print(c.target, log().count("launch("))
""",
        tmp_path,
    )
    assert out == "cuda:sm_90a 2\n"


def test_tensor_maps_are_made_once_for_the_same_values(tmp_path):
    out = cuda_mock.run(
        """
class Half(Tensor):
    dtype = "float16"
a, b, c, other = Half(0x10000), Half(0x20000), Tensor(0x30000), Half(0x40000)
def launch(a, M, c=c):
    K.product[(2,)](a, b, c, M, 128, B=64, hopper="3,all")
    return [int(line.split("map(")[1].split(", ")[1], 16)
            for line in log().split("\\n") if line.startswith("map(")]
first = launch(a, 128)
assert {0x10000, 0x20000} <= set(first), first
assert launch(a, 128) == []
assert launch(other, 128) == [0x40000 if at == 0x10000 else at for at in first]
assert launch(other, 128) == []
assert len(launch(other, 112)) == len(first)  # another side
assert launch(other, 112) == []
assert len(launch(other, 112, Tensor(0x50000))) == len(first)  # stored elsewhere
assert launch(a, 128) == first
""",
        tmp_path,
        TEGULA_PTXAS="",
    )
    assert out == ""


def test_code_is_loaded_while_a_graph_is_captured(tmp_path):
    """Of a kernel's first launch, or of its first launch without tensor maps."""
    out = cuda_mock.run(
        """
lib.mock_busy(0, 1)
K.copy[(4, 2)](Tensor(), Tensor(0x8000), 100, BLOCK=64)
lib.mock_busy(0, 0)
print(log())
mode = ctypes.c_int(0)
assert lib.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
print("mode", mode.value)
""",
        tmp_path,
    )
    assert out.count("load(") == 1
    assert "launch" in out
    assert "mode 0" in out, "the thread's mode is what it was"
