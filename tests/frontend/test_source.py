"""Where the text of a kernel may come from, and how it may be laid out."""

from __future__ import annotations

import importlib.util
import linecache
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tegula
import tegula.language as tl

SIG = ("*fp32", "i32")


def stores(text: str) -> int:
    return text.count("store ")


# fmt: off
@tegula.jit
def odd_layout(
    x,
    n,
):
  """A docstring
that is not indented."""
  s = """
text at the left
"""; tl.store(x, n)   # noqa: E702
  # a comment, then one that is not indented
# here
  if n > 3: tl.store(x, 1)  # noqa: E701
  tl.static_assert(len(s) > 3 if False else True)
# fmt: on


def test_odd_layout() -> None:
    assert stores(odd_layout.lower(*SIG)) == 2


class Space:
    @staticmethod
    @tegula.jit
    def method(x, n):
        tl.store(x, n)
        # the end


def test_inside_a_class() -> None:
    assert stores(Space.method.lower(*SIG)) == 1


def test_closures_and_late_names() -> None:
    width = tl.constexpr(8)

    @tegula.jit
    def kernel(x, n):
        tl.store(x + tl.arange(0, width), later(n))

    with pytest.raises(tegula.CompileError, match="name 'later' is not defined"):
        kernel.lower(*SIG)

    @tegula.jit
    def later(n):
        return n + 1

    assert "i32[8]" in kernel.lower(*SIG)


def test_decorators_and_line_numbers() -> None:
    @tegula.jit(do_not_specialize=["n"])
    def kernel(x, n):
        tl.store(x, missing)  # noqa: F821

    with pytest.raises(tegula.CompileError) as e:
        kernel.lower(*SIG)
    line = Path(__file__).read_text().splitlines()[e.value.lineno - 1]
    assert "tl.store(x, missing)" in line
    assert line[e.value.offset - 1 :].startswith("missing")


def test_registered_text() -> None:
    text = "@tegula.jit\ndef kernel(x, n):\n    tl.store(x, n)\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"tegula": tegula, "tl": tl}
    exec(compile(text, name, "exec"), space)
    assert stores(space["kernel"].lower(*SIG)) == 1


def test_no_text() -> None:
    text = "@tegula.jit\ndef kernel(x, n):\n    tl.store(x, n)\n"
    space: dict[str, Any] = {"tegula": tegula, "tl": tl}
    exec(compile(text, "<nowhere>", "exec"), space)
    with pytest.raises(
        (ValueError, tegula.CompileError), match=r"source of kernel\(\)"
    ):
        space["kernel"].lower(*SIG)


def test_lambda_and_builtin() -> None:
    with pytest.raises(TypeError):
        tegula.jit(len)
    with pytest.raises((ValueError, tegula.CompileError)):
        tegula.jit(lambda x: x).lower("*fp32")


@pytest.mark.parametrize("head", ["", "# -*- coding: latin-1 -*-\n", "\ufeff"])
@pytest.mark.parametrize("loaded", [False, True])
def test_files(tmp_path: Path, head: str, loaded: bool) -> None:
    """With linecache loaded or not: we read plain files without it."""
    text = head + textwrap.dedent(
        """
        import sys
        import tegula
        import tegula.language as tl
        if True:
            @tegula.jit
            def kernel(x, n):
                grüße = "ü"
                tl.store(x, n)
                tl.static_assert(len("ü") == 1)
        print(kernel.lower("*fp32", "i32").count("store "))
        """
    )
    if loaded:
        text = text.replace("import sys\n", "import sys, linecache\n")
    path = tmp_path / "kernels.py"
    path.write_text(text, encoding="latin-1" if "latin" in head else "utf-8")
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.strip() == "1", done.stderr


def test_interactive() -> None:
    """The REPL keeps no text before 3.13: a clear message, or it works."""
    text = (
        "import tegula, tegula.language as tl\n"
        "@tegula.jit\ndef kernel(x, n):\n    tl.store(x, n)\n\n"
        "print('stores', kernel.lower('*fp32', 'i32').count('store '))\n"
    )
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=text,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "stores 1" in done.stdout or "is not available" in done.stderr, done.stderr


def test_changed_file(tmp_path: Path) -> None:
    """Text that no longer holds the function is not compiled as if it did."""
    path = tmp_path / "changing.py"
    path.write_text(
        "import tegula\nimport tegula.language as tl\n\n@tegula.jit\n"
        "def kernel(x, n):\n    tl.store(x, n)\n"
    )
    space: dict[str, Any] = {}
    code = compile(path.read_text(), str(path), "exec")
    path.write_text("# all gone\n\n\ndef other(x, n):\n    return 3\n")
    exec(code, space)
    with pytest.raises((ValueError, SyntaxError, tegula.CompileError)):
        space["kernel"].lower(*SIG)


def test_hash_of_source() -> None:
    """What decides about the cache on disk: not the place, not the docstring."""
    name = "<hash>"

    def made(text: str, **names: Any) -> Any:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space: dict[str, Any] = {"tegula": tegula, "tl": tl, **names}
        exec(compile(text, name, "exec"), space)
        return space["kernel"].hash

    body = "@tegula.jit\ndef kernel(x, n):\n    tl.store(x, n + K)\n"
    one = made(body, K=tl.constexpr(1))
    assert one == made("\n\n" + body, K=tl.constexpr(1))
    assert one == made(
        body.replace("    tl", "    'doc'\n    # comment\n    tl"), K=tl.constexpr(1)
    )
    assert one != made(body, K=tl.constexpr(2))
    assert one != made(body, K=tl.constexpr(1.0))
    assert one != made(body.replace("n +", "n -"), K=tl.constexpr(1))
    calls = "@tegula.jit\ndef f(n):\n    return n + 1\n\n" + body.replace("K", "f(n)")
    assert made(calls) != made(calls.replace("n + 1", "n + 2"))
    default = body.replace("x, n", "x, n, m=K")
    assert made(default, K=3) != made(default, K=4)


FORMS = {
    "crlf": (
        "@tegula.jit\r\ndef kernel(x, n):\r\n    tl.store(x, n)  # no end\r\n"
        "    tl.store(x, bad)\r\n"
    ),
    "cr and tabs": "@tegula.jit\ndef kernel(x, n):\n\ttl.store(x, n)\n\ttl.store(x, bad)\n",
    "form feed": (
        "\f\n@tegula.jit\ndef kernel(x, n):\n    tl.store(x, n)\n\f\n    tl.store(x, bad)\n"
    ),
    "continued": (
        "@tegula.jit\ndef kernel(\\\n    x, n):\n    tl.store( \\\n  x, n); \\\n"
        "    tl.store(x, bad)\n"
    ),
    "no end of line": "@tegula.jit\ndef kernel(x, n): tl.store(x, bad)",
    "one line after another": (
        "@tegula.jit\ndef other(x): tl.store(x, 1)\n"
        "@tegula.jit\ndef kernel(x, n): tl.store(x, bad)\nz = 3\n"
    ),
    "decorators over lines": (
        "def same(*a, **k): return lambda f: f\n"
        "@same(1, (2,\n  3))\n@tegula.jit(\n    do_not_specialize=['n'],\n)\n"
        "# between\n@same()\ndef kernel(x, n):\n    tl.store(x, bad)\n"
    ),
    "a class in a function": (
        "def make():\n    class A:\n        class B:\n            @staticmethod\n"
        "            @tegula.jit\n            def kernel(x, n):\n"
        "                tl.store(x, bad)\n    return A.B.kernel\nkernel = make()\n"
    ),
    "a lambda in a container": (
        "table = {'a': [tegula.jit(lambda x, n: tl.store(x, n)),\n"
        "    tegula.jit(lambda x, n: tl.store(x, bad))]}\nkernel = table['a'][1]\n"
    ),
    "a lambda as a default": (
        "def f(g=tegula.jit(lambda x, n: tl.store(x,\n   bad))): return g\nkernel = f()\n"
    ),
    "texts that look like code": (
        '@tegula.jit\ndef kernel(x, n):\n    """\n@tegula.jit\ndef kernel(x, n):\n"""\n'
        "    s = '''\ndef kernel():\n'''\n    tl.store(x, bad)\n"
    ),
    "wide characters": (
        "@tegula.jit\ndef kernel(x, n):\n    ÿ = '\U0001f600'; tl.store(x, bad)\n"
    ),
    "a comment at the end, less indented": (
        "@tegula.jit\ndef kernel(x, n):\n    if n:\n        tl.store(x, bad)\n"
        "  # less\n# none\n"
    ),
    "continued text": (
        "@tegula.jit\ndef kernel(x, n):\n    s = 'a\\\nb'\n    tl.store(x, bad)\n"
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str, tmp_path: Path) -> None:
    """However it is written: the error is at `bad`, in the file's own counting."""
    path = tmp_path / "forms.py"
    head = "import tegula\nimport tegula.language as tl\n"
    path.write_bytes((head + FORMS[name]).encode())
    space: dict[str, Any] = {"__name__": "forms"}
    text = path.read_text(encoding="utf-8")  # universal newlines, as an import reads
    exec(compile(text, str(path), "exec"), space)
    linecache.checkcache(str(path))
    with pytest.raises(tegula.CompileError, match="name 'bad' is not defined") as e:
        space["kernel"].lower(*SIG)
    line = text.splitlines()[e.value.lineno - 1] if "feed" not in name else None
    if line is not None:
        assert line.encode()[: e.value.offset - 1 + 3].decode().endswith("bad"), line
    bad = space["kernel"]
    assert bad.cache_key == bad.cache_key


def test_an_async_function_is_no_kernel() -> None:
    @tegula.jit
    async def kernel(x, n):
        tl.store(x, n)

    with pytest.raises(tegula.CompileError) as e:
        kernel.lower(*SIG)
    assert "async" in str(e.value)


def test_threads_that_build_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.11 takes trees of several threads for one now and then: tried once more."""
    import builtins

    compile, calls = builtins.compile, []

    def fails_twice(*args: Any, **names: Any) -> Any:
        calls.append(args)
        if len(calls) <= 2:
            raise SystemError("AST constructor recursion depth mismatch")
        return compile(*args, **names)

    @tegula.jit
    def kernel(x, n):
        tl.store(x, n)

    monkeypatch.setattr(builtins, "compile", fails_twice)
    assert "store" in kernel.lower(*SIG)
    assert len(calls) == 3


def import_text(path: Path, text: str) -> Any:
    path.write_text("import tegula\nimport tegula.language as tl\n" + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNEL = "@tegula.jit\ndef k(x, n):\n    tl.store(x, {})\n"


@pytest.mark.parametrize("known", [False, True])
def test_a_file_written_anew(tmp_path: Path, known: bool) -> None:
    path = tmp_path / "written_anew.py"
    for value in (1, 22, 333):
        k = import_text(path, KERNEL.format(value)).k
        assert f" {value}" in k.lower(*SIG)
        if known:
            linecache.getlines(str(path))


def test_a_file_edited_before_the_first_compile(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    first = import_text(path, KERNEL.format(123)).k
    second = import_text(path, "# one line more\n" + KERNEL.format(456)).k
    path.write_text("nothing that is Python")
    assert " 123" in first.lower(*SIG)
    assert " 456" in second.lower(*SIG)
    assert "tl.store(x, 456)" in second.src


def test_a_file_that_became_shorter(tmp_path, monkeypatch) -> None:
    """Blank lines, where a function stood when its file was imported."""
    file = tmp_path / "kernels_that_went.py"
    file.write_text("import tegula.language as tl\n\n\ndef k(x):\n    tl.store(x, 1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import kernels_that_went

    file.write_text("\n" * 9)
    with pytest.raises(tegula.CompileError, match=r"source of k\(\) is not available"):
        tegula.jit(kernels_that_went.k).lower("*i32")
