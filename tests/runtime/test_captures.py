"""A kernel has the values of the globals it read inside. What happens when they change."""

from __future__ import annotations

import builtins
import gc
import importlib
import keyword
import linecache
import sys
import types
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import tegula
import tegula.language as tl


class Notebook:
    """Runs cells in one module, as IPython does: each has its text in linecache."""

    def __init__(self) -> None:
        self.module = types.ModuleType("notebook_of_a_test")
        self.names: dict[str, Any] = self.module.__dict__
        self.n = 0
        self.run("import tegula\nimport tegula.language as tl\n")

    def run(self, cell: str) -> None:
        self.n += 1
        file = f"<cell {id(self)} {self.n}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(True), file)
        exec(compile(cell, file, "exec"), self.names)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]

    def launch(self, name: str = "kernel", *args: Any) -> int:
        out = np.zeros(1, np.int32)
        self[name][(1,)](out, *args)
        return int(out[0])


KERNEL = """
@tegula.jit
def kernel(out):
    tl.store(out, {})
"""


def test_a_constant_that_changed_is_an_error():
    nb = Notebook()
    nb.run("SIZE = tl.constexpr(64)\n" + KERNEL.format("SIZE"))
    assert nb.launch() == 64
    nb.run("SIZE = tl.constexpr(128)")
    with pytest.raises(RuntimeError) as e:
        nb.launch()
    text = str(e.value)
    assert "'SIZE' was 64" in text and "kernel()" in text and "is 128 now" in text
    with pytest.raises(RuntimeError):
        nb["kernel"].warmup(np.zeros(1, np.int32), grid=(1,))
    with pytest.raises(RuntimeError):
        nb["kernel"].compile("*i32")
    nb.run("SIZE = tl.constexpr(64)")
    assert nb.launch() == 64  # back again: the code fits again
    nb.run("SIZE = tl.constexpr(128)\n" + KERNEL.format("SIZE"))
    assert nb.launch() == 128  # and a kernel made anew reads what is there


def test_one_that_is_gone_is_an_error():
    nb = Notebook()
    nb.run("SIZE = tl.constexpr(64)\n" + KERNEL.format("SIZE"))
    nb.launch()
    nb.run("del SIZE")
    with pytest.raises(RuntimeError, match="is not defined now"):
        nb.launch()


@pytest.mark.parametrize(
    "value", ["64", "-0.0", "float('nan')", "True", "'text'", "(1, (2.0, None))"]
)
def test_the_same_constant_made_anew_is_no_change(value):
    nb = Notebook()
    cell = f"VALUE = tl.constexpr({value})\n"
    nb.run(cell + KERNEL.format("VALUE is None"))
    variant = nb["kernel"][(1,)](np.zeros(1, np.int32))
    for _ in range(3):
        nb.run(cell)
        assert nb["kernel"][(1,)](np.zeros(1, np.int32)) is variant


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("tl.constexpr(1)", "tl.constexpr(True)"),
        ("tl.constexpr(1)", "tl.constexpr('1')"),
        ("tl.constexpr(0.0)", "tl.constexpr(-0.0)"),
        ("tl.constexpr((1, 2))", "tl.constexpr((1, 2, 3))"),
        ("(tl.constexpr(1), tl.constexpr(2))", "(tl.constexpr(1), tl.constexpr(3))"),
        ("tl.float32", "tl.float16"),
        ("None", "tl.constexpr(0)"),
        ("tl.constexpr(0)", "None"),
    ],
)
def test_what_counts_as_another_constant(was, now):
    nb = Notebook()
    nb.run(f"VALUE = {was}\n" + KERNEL.format("VALUE is None"))
    nb.launch()
    nb.run(f"VALUE = {now}")
    with pytest.raises(RuntimeError, match="VALUE"):
        nb.launch()


def test_on_disk_a_number_is_not_its_text():
    keys = set()
    for value in ("1", "'1'", "True", "1.0"):
        nb = Notebook()
        nb.run(f"VALUE = tl.constexpr({value})\n" + KERNEL.format("VALUE is None"))
        keys.add(nb["kernel"].cache_key)
    assert len(keys) == 4


def test_a_helper_that_was_redefined_compiles_the_kernel_anew():
    nb = Notebook()
    helper = "@tegula.jit\ndef helper(x):\n    return x {}\n"
    nb.run(helper.format("+ 1") + KERNEL.format("helper(10)"))
    assert nb.launch() == 11
    first = nb["kernel"].variants[0]
    nb.run(helper.format("* 7"))
    assert nb.launch() == 70
    assert first not in nb["kernel"].variants and len(nb["kernel"].variants) == 1
    nb.run(helper.format("* 7"))  # the same text
    assert nb.launch() == 70
    nb.run("def helper(x): return x")
    with pytest.raises(tegula.CompilationError, match="decorate it with @jit"):
        nb.launch()
    nb.run(helper.format("- 1"))
    assert nb.launch() == 9


def test_an_old_variant_can_still_be_launched():
    nb = Notebook()
    helper = "@tegula.jit\ndef helper(x):\n    return x {}\n"
    nb.run(helper.format("+ 1") + KERNEL.format("helper(10)"))
    out = np.zeros(1, np.int32)
    old = nb["kernel"][(1,)](out)
    nb.run(helper.format("* 7"))
    assert nb.launch() == 70
    old[(1, 1, 1)](out)
    assert out[0] == 11


def test_what_helpers_of_helpers_read():
    nb = Notebook()
    nb.run(
        "SCALE = tl.constexpr(2)\n"
        "@tegula.jit\ndef inner(x):\n    return x * SCALE\n"
        "@tegula.jit\ndef outer(x):\n    return inner(x) + 1\n"
        + KERNEL.format("outer(10)")
    )
    assert nb.launch() == 21
    nb.run("@tegula.jit\ndef inner(x):\n    return x * SCALE * SCALE\n")
    assert nb.launch() == 41
    nb.run("SCALE = tl.constexpr(3)")
    with pytest.raises(RuntimeError, match="SCALE"):
        nb.launch()


def test_attributes_of_modules():
    mod = types.ModuleType("constants_of_a_test")
    mod.SIZE = tl.constexpr(8)
    sub = mod.sub = types.ModuleType("constants_of_a_test.sub")
    sub.SIZE = tl.constexpr(1)
    nb = Notebook()
    nb.names["mod"] = mod
    nb.run(KERNEL.format("mod.SIZE + mod.sub.SIZE"))
    assert nb.launch() == 9
    sub.SIZE = tl.constexpr(2)
    with pytest.raises(
        RuntimeError, match=r"'SIZE' of module constants_of_a_test\.sub"
    ):
        nb.launch()
    sub.SIZE = tl.constexpr(1)
    assert nb.launch() == 9
    nb.run("@tegula.jit\ndef helper(x):\n    return x + 1\n")
    mod.helper = nb["helper"]
    nb.run(KERNEL.format("mod.helper(mod.SIZE)"))
    assert nb.launch() == 9
    nb.run("@tegula.jit\ndef helper(x):\n    return x + 2\n")
    assert nb.launch() == 9  # the module has the old one
    mod.helper = nb["helper"]
    assert nb.launch() == 10


def test_variables_of_an_enclosing_function():
    def make():
        size = tl.constexpr(64)

        @tegula.jit
        def helper(x):
            return x + 1

        @tegula.jit
        def kernel(out):
            tl.store(out, helper(size))

        def change(to):
            nonlocal size
            size = tl.constexpr(to)

        def redefine():
            nonlocal helper

            @tegula.jit
            def helper(x):
                return x - 1

        return kernel, change, redefine

    kernel, change, redefine = make()
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 65
    change(64)
    kernel[(1,)](out)
    redefine()
    kernel[(1,)](out)
    assert out[0] == 63
    change(128)
    with pytest.raises(RuntimeError, match="enclosing function 'size' was 64"):
        kernel[(1,)](out)


def test_each_kernel_of_a_factory_has_its_own():
    def make(size):
        size = tl.constexpr(size)

        @tegula.jit
        def kernel(out):
            tl.store(out, size)

        return kernel

    out = np.zeros(1, np.int32)
    kernels = [make(i) for i in range(4)]
    for _ in range(2):
        for i, k in enumerate(kernels):
            k[(1,)](out)
            assert out[0] == i


def test_a_local_that_is_called_like_a_global_is_no_capture():
    nb = Notebook()
    body = (
        "x = tl.constexpr(1)\ni = tl.constexpr(2)\nparam = tl.constexpr(3)\n"
        "item = tl.constexpr(4)\nlate = tl.constexpr(5)\n"
        "@tegula.jit\ndef kernel(out, param):\n"
        "    x = param + 1\n"
        "    for i in range(3):\n        x += i\n"
        "    a, b = [item * 2 for item in (x, param)]\n"
        "    tl.store(out, x + a)\n"
    )
    nb.run(body)
    was = nb.launch("kernel", 5)
    nb.run("x = 7\ni = 'text'\nparam = None\nitem = tl.constexpr(9)")
    assert nb.launch("kernel", 5) == was
    assert len(nb["kernel"].variants) == 1


def test_a_global_is_read_before_a_local_of_its_name_exists():
    nb = Notebook()
    nb.run(
        "x = tl.constexpr(1)\n@tegula.jit\ndef kernel(out):\n"
        "    x = x + 1\n    tl.store(out, x)\n"
    )
    assert nb.launch() == 2
    nb.run("x = tl.constexpr(10)")
    with pytest.raises(RuntimeError, match="'x' was 1"):
        nb.launch()


def test_a_global_tensor_is_not_looked_at():
    class Loud:
        def __repr__(self):
            raise AssertionError("nobody needs this text")

    nb = Notebook()
    nb.names["x"] = Loud()
    nb.run("@tegula.jit\ndef kernel(out):\n    x = 4\n    tl.store(out, x)\n")
    assert nb.launch() == 4


def test_defaults_are_those_of_the_definition():
    nb = Notebook()
    nb.run(
        "SIZE = tl.constexpr(3)\n"
        "@tegula.jit\ndef kernel(out, n: tl.constexpr = SIZE):\n    tl.store(out, n)\n"
    )
    assert nb.launch() == 3
    nb.run("SIZE = tl.constexpr(4)")
    assert nb.launch() == 3


def test_functions_given_as_arguments():
    nb = Notebook()
    nb.run(
        "SIZE = tl.constexpr(3)\n"
        "@tegula.jit\ndef helper(x):\n    return x + SIZE\n"
        "@tegula.jit\ndef kernel(out, fn: tl.constexpr):\n    tl.store(out, fn(1))\n"
    )
    assert nb.launch("kernel", nb["helper"]) == 4
    nb.run("SIZE = tl.constexpr(4)")
    with pytest.raises(RuntimeError, match="SIZE"):
        nb.launch("kernel", nb["helper"])


def test_constexpr_functions_and_classes():
    nb = Notebook()
    nb.run(
        "from typing import NamedTuple, Any\n"
        "@tegula.constexpr_function\ndef double(x):\n    return x * 2\n"
        "class Pair(NamedTuple):\n    a: Any\n    b: Any\n"
        + KERNEL.format("double(Pair(1, 2).b)")
    )
    assert nb.launch() == 4
    nb.run("@tegula.constexpr_function\ndef double(x):\n    return x * 3\n")
    assert nb.launch() == 6
    nb.run("class Pair(NamedTuple):\n    b: Any\n    a: Any\n")
    assert nb.launch() == 3


def test_an_alias_of_a_function_of_the_language():
    nb = Notebook()
    nb.run("pick = tl.minimum\n" + KERNEL.format("pick(3, tl.program_id(0) + 5)"))
    assert nb.launch() == 3
    nb.run("pick = tl.maximum")
    assert nb.launch() == 5


def test_a_compile_that_failed_captures_nothing():
    nb = Notebook()
    nb.run("SIZE = 64\n" + KERNEL.format("SIZE"))
    with pytest.raises(tegula.CompilationError, match="global variable 'SIZE'"):
        nb.launch()
    nb.run("SIZE = tl.constexpr(64)")
    assert nb.launch() == 64


def test_plain_globals_where_the_knob_allows_them():
    nb = Notebook()
    nb.run("SIZE = 64\n" + KERNEL.format("SIZE"))
    with tegula.knobs.compilation.scope() as group:
        group.allow_non_constexpr_globals = True
        assert nb.launch() == 64
        nb.run("SIZE = 65")
        with pytest.raises(RuntimeError, match="SIZE"):
            nb.launch()


def test_variants_of_one_kernel_agree():
    nb = Notebook()
    nb.run("SIZE = tl.constexpr(3)\n" + KERNEL.format("SIZE"))
    assert nb.launch() == 3
    nb.run("SIZE = tl.constexpr(4)")
    with pytest.raises(RuntimeError, match="SIZE"):  # another variant, of another value
        nb["kernel"][(1,)](np.zeros(1, np.float32))


def test_the_interpreter_and_an_autotuner_see_it_too():
    nb = Notebook()
    nb.run(
        "SIZE = tl.constexpr(3)\n"
        "@tegula.heuristics({'N': lambda args: 2})\n"
        "@tegula.jit\ndef kernel(out, N: tl.constexpr):\n    tl.store(out, SIZE * N)\n"
    )
    assert nb.launch() == 6
    nb.run("SIZE = tl.constexpr(4)")
    with pytest.raises(RuntimeError, match="SIZE"):
        nb.launch()


def test_comparing_may_run_code_that_launches():
    """The == of a captured value is anybody's code: here it changes globals."""
    nb = Notebook()

    class Odd:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            nb.names["OTHER"] = tl.constexpr(5)
            gc.collect()
            return True

        __hash__ = None  # type: ignore[assignment]

    nb.names["Odd"] = Odd
    nb.run(
        "OTHER = tl.constexpr(5)\nODD = tl.constexpr(Odd(1))\n"
        + KERNEL.format("(ODD is None) + OTHER")
    )
    assert nb.launch() == 5
    nb.run("ODD = tl.constexpr(Odd(1))")
    assert nb.launch() == 5


def test_captures_keep_nothing_alive_for_ever():
    nb = Notebook()

    class Value(NamedTuple):
        x: Any

    nb.names["Value"] = Value
    nb.run("SIZE = tl.constexpr(3)\n" + KERNEL.format("Value(SIZE).x"))
    assert nb.launch() == 3
    ref = weakref.ref(nb["kernel"])
    cls = weakref.ref(Value)
    del nb, Value
    gc.collect()
    assert ref() is None and cls() is None


def test_nothing_leaks_where_it_changes_again_and_again():
    nb = Notebook()
    nb.run("SIZE = tl.constexpr(3)\n" + KERNEL.format("SIZE"))
    nb.launch()
    size = nb["SIZE"]
    before = sys.getrefcount(size)
    for _ in range(50):
        nb.names["SIZE"] = tl.constexpr(3)
        nb.launch()
    nb.names["SIZE"] = size
    nb.launch()
    for _ in range(50):
        nb.launch()
    assert sys.getrefcount(size) == before


def executed(text, names, file):
    """What an exec of text gives; linecache has the text, as of a notebook's cell."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names


def test_a_text_that_takes_the_name_of_another():
    """A cell that is run again under its name, before what it defined first is launched."""
    text = """
@tegula.jit
def helper():
    return {}

@tegula.jit
def kernel(out):
    tl.store(out, helper())
"""
    both = [
        executed(text.format(n), {"tegula": tegula, "tl": tl}, "<cell by one name>")
        for n in (1, 5)
    ]
    for names, want in zip(both, (1, 5), strict=True):
        out = np.zeros(1, np.int32)
        names["kernel"][(1,)](out)
        assert out[0] == want


COUNTS = """
@tegula.constexpr_function
def count():
    return N

@tegula.jit
def kernel(out):
    tl.store(out, count())
"""


def test_globals_that_make_their_names():
    class Names(dict):
        made = 1

        def __missing__(self, name):
            if name != "N":
                raise KeyError(name)
            return self.made

    names = executed(COUNTS, Names(tegula=tegula, tl=tl), "<made names>")
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 1
    Names.made = 5
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


@pytest.mark.parametrize("name", ["N", "abs"])
def test_globals_with_builtins_of_their_own(name):
    own = {**vars(builtins), name: 1}
    names = {"tegula": tegula, "tl": tl, "__builtins__": own}
    executed(COUNTS.replace("N", name), names, f"<builtins with {name}>")
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 1
    own[name] = 5
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


HOMES = """
def plain():
    return N

class Plain:
    N = 1
    def get(self):
        return N

@tegula.constexpr_function
def count():
    return N + plain() + Plain().get() + Plain.N

@tegula.jit
def kernel(out):
    tl.store(out, count())
"""


@pytest.mark.parametrize("edited", ["names['N'] = 5", "names['Plain'].N = 5"])
@pytest.mark.parametrize(
    "name", [None, 5, "builtins", "numpy", "collections", "torch.nn", "tegula.mine"]
)
def test_code_that_names_no_module_of_its_own(name, edited):
    """An exec has the name that somebody gives it; a library's is believed of a library."""
    names = {"tegula": tegula, "tl": tl, "N": 1}
    if name:
        names["__name__"] = name
    executed(HOMES, names, f"<code of {name}, {edited}>")
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 4
    exec(edited, {"names": names})
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


OURS = """
class Plain:
    N = 1

plain = Plain()
plain.n = 1

@tegula.constexpr_function
def count(n):
    return n + Plain.N + plain.n

@tegula.jit
def kernel(out):
    tl.store(out, count(1))
"""


@pytest.mark.parametrize("edited", ["Plain.N = 5", "plain.n = 5"])
@pytest.mark.parametrize("name", ["tegula", "tegula.language", "tegula.mine"])
def test_classes_of_code_that_has_our_name(name, edited):
    names = {"tegula": tegula, "tl": tl, "__name__": name}
    executed(OURS, names, f"<ours of {name}, {edited}>")
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 3
    exec(edited, names)
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


def test_a_function_that_wraps_a_librarys():
    names = {"tegula": tegula, "tl": tl, "N": 1, "__name__": "wraps_of_a_test"}
    text = "from functools import wraps\nfrom statistics import mean\n" + COUNTS
    text = text.replace("return N", "return of()").replace(
        "@tegula.constexpr",
        "@wraps(mean)\ndef of():\n    return N\n\n@tegula.constexpr",
    )
    executed(text, names, "<wraps>")
    del names["of"].__wrapped__
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 1
    names["N"] = 5
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


@pytest.mark.parametrize("name", ["this", "statistics", "jax"])
def test_a_module_that_hides_a_librarys(name, tmp_path, monkeypatch):
    """Somebody's own statistics.py is not Python's, whose names stay what they are."""
    text = "N = 1\nclass Of:\n    N = 1\ndef get():\n    return N\n"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, module)
    names = {"tegula": tegula, "tl": tl, "m": module, "__name__": "hides_of_a_test"}
    text = COUNTS.replace("return N", "return m.get()")
    executed(
        text.replace("out, count()", "out, count() + m.Of.N"), names, f"<hides {name}>"
    )
    for edit in "N", "Of":
        kernel = tegula.jit(names["kernel"].fn)
        out = np.zeros(1, np.int32)
        kernel[(1,)](out)
        assert out[0] == 2
        of = module if edit == "N" else module.Of
        of.N = 5
        with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
            kernel[(1,)](out)
        of.N = 1


def test_a_function_that_is_put_into_a_librarys_module(monkeypatch):
    names = {"tegula": tegula, "tl": tl, "N": 1, "__name__": "puts_of_a_test"}
    executed(COUNTS.replace("return N", "return keyword.ours()"), names, "<puts>")
    names["keyword"] = keyword
    monkeypatch.setattr(keyword, "ours", eval("lambda: N", names), raising=False)
    out = np.zeros(1, np.int32)
    names["kernel"][(1,)](out)
    assert out[0] == 1
    names["N"] = 5
    with pytest.raises(RuntimeError, match=r"was 1 when .* is 5 now"):
        names["kernel"][(1,)](out)


def test_a_program_of_many_functions():
    """Each is seen when it changes; so are others behind a table of results, which a call
    fills and which is forgotten."""
    n = 300
    lines = ["memo = {}"]
    for i in range(n):
        lines += [
            f"K{i} = {i}",
            f"class T{i}:\n    a = 1\n    def of(self): return f{i * 7 % n}(0)",
            f"def f{i}(x):\n    return T{i}.a + K{i}",
        ]
    every = " + ".join(f"f{i}(x)" for i in range(1, n))
    lines += [f"def f0(x):\n    if x < 0:\n        return {every} + K0 + T0.a"]
    lines += ["    memo[x] = x\n    return x"]
    source = "\n".join(lines)
    for name, value in ("K0", -1), (f"K{n - 1}", -1), ("T7.a", 2), ("f5", None):
        names = {"tegula": tegula, "tl": tl, "__name__": "large_program_of_a_test"}
        executed(
            source + "\nof = tegula.constexpr_function(lambda x: f0(x))\n"
            "@tegula.jit\ndef kernel(out):\n    tl.store(out, of(3) + of(4))",
            names,
            f"<large {name}>",
        )
        kernel, out = names["kernel"], np.zeros(1, np.int32)
        for _ in range(2):
            kernel[(1,)](out)
            assert out[0] == 7
        if value is None:  # a function: compiled anew
            names[name] = lambda x: x + 1
            kernel[(1,)](out)
            assert out[0] == 7
            names["f0"] = lambda x: x + 1
            kernel[(1,)](out)
            assert out[0] == 9
            continue
        of, _, attribute = name.rpartition(".")
        if of:
            setattr(names[of], attribute, value)
        else:
            names[name] = value
        with pytest.raises(RuntimeError, match=rf"is {value} now"):
            kernel[(1,)](out)
