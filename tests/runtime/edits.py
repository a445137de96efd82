# ruff: noqa: E501 (sources as texts)
"""Every way a value reaches a kernel, as a table: test_edits.py changes each of them.

A way is the source of a module whose `kernel(out)` stores what `@V@` says, and statements that
change it in a running process from 1 to 5. `launch(out)` is there where arguments matter.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = """
import enum, functools, types, dataclasses
from typing import Any, NamedTuple
import numpy as np
import tegula
import tegula.language as tl
"""

KERNEL = """
@tegula.jit
def kernel(out):
    tl.store(out, {})
"""


class Way(NamedTuple):
    name: str
    source: str
    edits: tuple[str, ...] = ()  # each alone changes what 1 was to 5


WAYS: list[Way] = []


def way(name: str, before: str, expression: str, *edits: str) -> None:
    WAYS.append(Way(name, HEAD + before + KERNEL.format(expression), edits))


def function(name: str, before: str, body: str, *edits: str, args: str = "") -> None:
    """What a function of constants reads."""
    text = f"@tegula.constexpr_function\ndef c({args}):\n    {body}\n"
    way(name, before + text, "c()", *edits)


# ---- names -----------------------------------------------------------------------------
way("literal", "", "@V@")
way("global", "N = tl.constexpr(@V@)\n", "N", "N = tl.constexpr(5)", "N.value = 5")
way("global tuple", "T = tl.constexpr((0, @V@))\n", "T[1]", "T = tl.constexpr((0, 5))")
way(
    "global list",
    "L = tl.constexpr([0, @V@])\n",
    "L[1]",
    "L.value[1] = 5",
    "L = tl.constexpr([0, 5])",
    "L.value = [0, 5]",
)
way(
    "tuple of constants",
    "T = (tl.constexpr(0), tl.constexpr(@V@))\n",
    "T[1]",
    "T = (tl.constexpr(0), tl.constexpr(5))",
)
way(
    "dict",
    "D = tl.constexpr({'a': @V@})\n",
    "D['a']",
    "D.value['a'] = 5",
    "D = tl.constexpr({'a': 5})",
    "D.value.update(a=5)",
    "D.value.clear(); D.value['a'] = 5",
)
way(
    "dict of dicts",
    "D = tl.constexpr({'a': {'b': @V@}})\n",
    "D['a']['b']",
    "D.value['a']['b'] = 5",
    "D.value['a'] = {'b': 5}",
)
way(
    "array",
    "A = tl.constexpr(np.array([0, @V@]))\n",
    "A[1]",
    "A.value[1] = 5",
    "A = tl.constexpr(np.array([0, 5]))",
    "A.value[:] = 5",
)
way(
    "dtype",
    "T = tl.float32 if @V@ == 1 else tl.float64\n",
    "T.primitive_bitwidth == 64",
    "T = tl.float64",
)
way(
    "None",
    "X = None if @V@ == 1 else tl.constexpr(5)\n",
    "1 if X is None else 5",
    "X = tl.constexpr(5)",
)
way(
    "sign of zero",
    "Z = tl.constexpr(-0.0 if @V@ == 1 else 0.0)\n",
    "f'{Z}' == '0.0'",
    "Z = tl.constexpr(0.0)",
)
way("text", "S = tl.constexpr('a' * @V@)\n", "len(S)", "S = tl.constexpr('aaaaa')")
way("bool", "B = tl.constexpr(@V@ == 5)\n", "5 if B else 1", "B = tl.constexpr(True)")
way(
    "alias",
    "pick = tl.minimum if @V@ == 1 else tl.maximum\n",
    "pick(1, tl.program_id(0) + 5)",
    "pick = tl.maximum",
)

# ---- classes, enums, modules -------------------------------------------------------------
way(
    "class",
    "class Cfg:\n    N = @V@\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "Cfg.N = 5",
    "setattr(Cfg, 'N', 5)",
    "class Cfg:\n    N = 5\nC = tl.constexpr(Cfg)",
)
way(
    "base class",
    "class Base:\n    N = @V@\nclass Cfg(Base): pass\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "Base.N = 5",
    "Cfg.N = 5",
)
way(
    "class in a class",
    "class Cfg:\n    class In:\n        N = @V@\nC = tl.constexpr(Cfg)\n",
    "C.In.N",
    "Cfg.In.N = 5",
    "Cfg.In = type('In', (), {'N': 5})",
)
way(
    "class with a dict",
    "class Cfg:\n    D = {'a': @V@}\nC = tl.constexpr(Cfg)\n",
    "C.D['a']",
    "Cfg.D['a'] = 5",
    "Cfg.D = {'a': 5}",
)
way(
    "enum",
    "class E(enum.Enum):\n    A = @V@\nC = tl.constexpr(E)\n",
    "C.A.value",
    "E.A._value_ = 5",
    "class E(enum.Enum):\n    A = 5\nC = tl.constexpr(E)",
)
way(
    "int enum",
    "class E(enum.IntEnum):\n    A = @V@\nC = tl.constexpr(E)\n",
    "C.A.value",
    "class E(enum.IntEnum):\n    A = 5\nC = tl.constexpr(E)",
    "E.A._value_ = 5",
)
way(
    "enum's property",
    "class E(enum.Enum):\n    A = 0\n    @property\n    def n(self):\n"
    "        return @V@\nC = tl.constexpr(E)\n",
    "C.A.n",
    "E.n = property(lambda self: 5)",
)
way(
    "enum's property of a global",
    "N = @V@\nclass E(enum.Enum):\n    A = 0\n    @property\n"
    "    def n(self):\n        return N\nC = tl.constexpr(E)\n",
    "C.A.n",
    "N = 5",
)
way(
    "dataclass",
    "@dataclasses.dataclass\nclass Cfg:\n    n: int\nC = tl.constexpr(Cfg(@V@))\n",
    "C.n",
    "C.value.n = 5",
    "C = tl.constexpr(Cfg(5))",
    "C.value = Cfg(5)",
)
way(
    "frozen dataclass",
    "@dataclasses.dataclass(frozen=True)\nclass Cfg:\n    n: int\n"
    "C = tl.constexpr(Cfg(@V@))\n",
    "C.n",
    "C = tl.constexpr(Cfg(5))",
    "object.__setattr__(C.value, 'n', 5)",
)
way(
    "dataclass with slots",
    "@dataclasses.dataclass(slots=True)\nclass Cfg:\n    n: int\n"
    "C = tl.constexpr(Cfg(@V@))\n",
    "C.n",
    "C.value.n = 5",
    "C = tl.constexpr(Cfg(5))",
)
way(
    "object",
    "class Cfg: pass\nC = Cfg()\nC.n = @V@\nC = tl.constexpr(C)\n",
    "C.n",
    "C.value.n = 5",
    "C.value.__dict__['n'] = 5",
)
way(
    "object's class",
    "class Cfg:\n    n = @V@\nC = tl.constexpr(Cfg())\n",
    "C.n",
    "Cfg.n = 5",
    "C.value.n = 5",
)
way(
    "object's property",
    "class Cfg:\n    def __init__(self): self.k = @V@\n    @property\n"
    "    def n(self): return self.k\nC = tl.constexpr(Cfg())\n",
    "C.n",
    "C.value.k = 5",
    "Cfg.n = property(lambda self: 5)",
)
way(
    "namespace",
    "C = tl.constexpr(types.SimpleNamespace(n=@V@))\n",
    "C.n",
    "C.value.n = 5",
)
way(
    "item of a class's",
    "class Cfg:\n    def __getitem__(self, i): return @V@\nC = tl.constexpr(Cfg())\n",
    "C[0]",
    "Cfg.__getitem__ = lambda self, i: 5",
)
way(
    "item of an object's",
    "class Cfg:\n    def __init__(self): self.a = [@V@]\n"
    "    def __getitem__(self, i): return self.a[i]\nC = tl.constexpr(Cfg())\n",
    "C[0]",
    "C.value.a[0] = 5",
    "C.value.a = [5]",
)
way(
    "module",
    "m = types.ModuleType('m')\nm.N = tl.constexpr(@V@)\n",
    "m.N",
    "m.N = tl.constexpr(5)",
)
way(
    "module in a module",
    "m = types.ModuleType('m')\nm.sub = types.ModuleType('m.sub')\n"
    "m.sub.N = tl.constexpr(@V@)\n",
    "m.sub.N",
    "m.sub.N = tl.constexpr(5)",
)
way(
    "module under constexpr",
    "m = types.ModuleType('m')\nm.N = @V@\nM = tl.constexpr(m)\n",
    "M.N",
    "m.N = 5",
)
way(
    "class of a module",
    "m = types.ModuleType('m')\nclass Cfg:\n    N = @V@\nm.Cfg = Cfg\n"
    "M = tl.constexpr(m)\n",
    "M.Cfg.N",
    "Cfg.N = 5",
    "m.Cfg = type('Cfg', (), {'N': 5})",
)
way(
    "dict of a module",
    "m = types.ModuleType('m')\nm.D = {'a': @V@}\nM = tl.constexpr(m)\n",
    "M.D['a']",
    "m.D['a'] = 5",
    "m.D = {'a': 5}",
)

# ---- functions of constants ----------------------------------------------------------------
function(
    "function's literal",
    "",
    "return @V@",
    "c = tegula.constexpr_function(lambda: 5)",
    "c.fn = lambda: 5",
    "c.fn.__code__ = (lambda: 5).__code__",
)
function("function's global", "N = @V@\n", "return N", "N = 5", "globals()['N'] = 5")
function("function's global, added up", "N = @V@ - 1\n", "return 1 + N", "N = 4")
function("function's default", "", "return n", "c.fn.__defaults__ = (5,)", args="n=@V@")
function(
    "function's named default",
    "",
    "return n",
    "c.fn.__kwdefaults__['n'] = 5",
    "c.fn.__kwdefaults__ = {'n': 5}",
    args="*, n=@V@",
)
function(
    "function's default list",
    "",
    "return n[0]",
    "c.fn.__defaults__[0][0] = 5",
    args="n=[@V@]",
)
function(
    "function's function",
    "@tegula.constexpr_function\ndef d(): return @V@\n",
    "return d()",
    "d = tegula.constexpr_function(lambda: 5)",
    "d.fn = lambda: 5",
)
function(
    "function's function's global",
    "N = @V@\n@tegula.constexpr_function\ndef d(): return N\n",
    "return d()",
    "N = 5",
)
function(
    "plain helper",
    "def d(): return @V@\n",
    "return d()",
    "def d(): return 5",
    "d.__code__ = (lambda: 5).__code__",
)
function("plain helper's global", "N = @V@\ndef d(): return N\n", "return d()", "N = 5")
function(
    "helper's helper's default",
    "def e(n=@V@): return n\ndef d(): return e()\n",
    "return d()",
    "e.__defaults__ = (5,)",
    "def e(): return 5",
)
function(
    "function's dict", "D = {'a': @V@}\n", "return D['a']", "D['a'] = 5", "D = {'a': 5}"
)
function(
    "function's missing key",
    "D = {} if @V@ == 1 else {'a': 5}\n",
    "return D.get('a', 1)",
    "D['a'] = 5",
)
function("function's list", "L = [@V@]\n", "return L[0]", "L[0] = 5", "L[:] = [5]")
function(
    "function's list's length", "L = [0] * @V@\n", "return len(L)", "L.extend([0] * 4)"
)
function(
    "function's set", "S = {@V@}\n", "return 5 if 5 in S else 1", "S.add(5)", "S = {5}"
)
function("function's array", "A = np.full(3, @V@)\n", "return int(A[2])", "A[2] = 5")
function(
    "function's class",
    "class Cfg:\n    N = @V@\n",
    "return Cfg.N",
    "Cfg.N = 5",
    "class Cfg:\n    N = 5",
)
function(
    "function's class, by a name",
    "class Cfg:\n    N = @V@\n",
    "k = Cfg\n    return getattr(k, 'N')",
    "Cfg.N = 5",
)
function(
    "function's class's method",
    "class Cfg:\n    @staticmethod\n    def f(): return @V@\n",
    "return Cfg.f()",
    "Cfg.f = staticmethod(lambda: 5)",
)
function(
    "function's class's class method",
    "class Cfg:\n    N = @V@\n    @classmethod\n    def f(cls): return cls.N\n",
    "return Cfg.f()",
    "Cfg.N = 5",
)
function(
    "function's base class",
    "class B:\n    N = @V@\nclass Cfg(B): pass\n",
    "return Cfg.N",
    "B.N = 5",
    "Cfg.N = 5",
)
function(
    "function's object",
    "class Cfg: pass\no = Cfg()\no.n = @V@\n",
    "return o.n",
    "o.n = 5",
    "o = types.SimpleNamespace(n=5)",
)
function(
    "function's object's object",
    "class Cfg: pass\no = Cfg()\no.p = Cfg()\no.p.n = @V@\n",
    "return o.p.n",
    "o.p.n = 5",
)
function(
    "function's object's method",
    "class Cfg:\n    def f(self): return @V@\no = Cfg()\n",
    "return o.f()",
    "Cfg.f = lambda self: 5",
)
function(
    "object made in it",
    "class Cfg:\n    def __init__(self): self.n = N\nN = @V@\n",
    "return Cfg().n",
    "N = 5",
)
function(
    "operator of a class",
    "class Cfg:\n    def __add__(self, o): return @V@\no = Cfg()\n",
    "return o + 1",
    "Cfg.__add__ = lambda self, o: 5",
)
function(
    "callable object",
    "class Cfg:\n    def __init__(self, n): self.n = n\n"
    "    def __call__(self): return self.n\nf = Cfg(@V@)\n",
    "return f()",
    "f.n = 5",
    "f = Cfg(5)",
)
function(
    "function's enum",
    "class E(enum.IntEnum):\n    A = @V@\n",
    "return int(E.A.value)",
    "class E(enum.IntEnum):\n    A = 5",
    "E.A._value_ = 5",
)
function(
    "function's module",
    "m = types.ModuleType('m')\nm.N = @V@\n",
    "return m.N",
    "m.N = 5",
)
function(
    "function's module's class",
    "m = types.ModuleType('m')\nclass Cfg:\n    N = @V@\nm.Cfg = Cfg\n",
    "return m.Cfg.N",
    "m.Cfg.N = 5",
)
function(
    "function's module's function",
    "m = types.ModuleType('m')\ndef d(): return @V@\nm.d = d\n",
    "return m.d()",
    "m.d = lambda: 5",
)
function("comprehension", "N = @V@\n", "return sum(N for _ in range(1))", "N = 5")
function(
    "function in a function", "N = @V@\n", "f = lambda: N\n    return f()", "N = 5"
)
function(
    "partial",
    "def d(n): return n\nf = functools.partial(d, @V@)\n",
    "return f()",
    "f = functools.partial(d, 5)",
)
function(
    "partial of a global",
    "N = @V@\ndef d(n): return n + N - 1\nf = functools.partial(d, 1)\n",
    "return f()",
    "N = 5",
)
function(
    "wrapped",
    "def deco(f):\n    @functools.wraps(f)\n    def g(): return f()\n"
    "    return g\nN = @V@\n@deco\ndef d(): return N\n",
    "return d()",
    "N = 5",
)
function(
    "cached",
    "N = @V@\n@functools.cache\ndef d(): return N\n",
    "return d()",
    "N = 5; d.cache_clear()",
)
function(
    "far argument",
    "\n" * 3 + "".join(f"x{i} = {i}\n" for i in range(300)) + "N = @V@\n",
    "a = [" + ", ".join(f"x{i}" for i in range(300)) + "]\n    return N",
    "N = 5",
)
way(
    "function's closure",
    "def make():\n    n = @V@\n    @tegula.constexpr_function\n"
    "    def c(): return n\n    def change(v):\n        nonlocal n\n        n = v\n"
    "    return c, change\nc, change = make()\n",
    "c()",
    "change(5)",
)
way(
    "function's closure's list",
    "def make():\n    n = [@V@]\n    @tegula.constexpr_function\n"
    "    def c(): return n[0]\n    return c, n\nc, inner = make()\n",
    "c()",
    "inner[0] = 5",
)
way(
    "function under constexpr",
    "N = @V@\ndef plain(): return N\n"
    "f = tl.constexpr(tegula.constexpr_function(plain))\n",
    "f()",
    "N = 5",
)
way(
    "function's argument",
    "N = tl.constexpr(@V@)\n@tegula.constexpr_function\ndef c(n): return n\n",
    "c(N)",
    "N = tl.constexpr(5)",
)
way(
    "function's argument's field",
    "class Cfg:\n    def __init__(self): self.n = @V@\n"
    "C = tl.constexpr(Cfg())\n@tegula.constexpr_function\ndef c(o): return o.n\n",
    "c(C)",
    "C.value.n = 5",
)
way(
    "function's argument's global",
    "N = @V@\nclass Cfg:\n    def n(self): return N\n"
    "C = tl.constexpr(Cfg())\n@tegula.constexpr_function\ndef c(o): return o.n()\n",
    "c(C)",
    "N = 5",
    "Cfg.n = lambda self: 5",
)
way(
    "function's dict argument",
    "D = tl.constexpr({'a': @V@})\n@tegula.constexpr_function\n"
    "def c(d): return d['a']\n",
    "c(D)",
    "D.value['a'] = 5",
)
way(
    "method of a class of constants",
    "class Cfg:\n    @staticmethod\n"
    "    @tegula.constexpr_function\n    def f(): return @V@\nC = tl.constexpr(Cfg)\n",
    "C.f()",
    "Cfg.f = staticmethod(tegula.constexpr_function(lambda: 5))",
)

# ---- kernels' helpers ------------------------------------------------------------------------
HELPER = "@tegula.jit\ndef h(x):\n    return x * 0 + {}\n"
FIVE = "h = h5"
OTHER = HELPER.replace("h(x)", "h5(x)").format(5)
way("helper", HELPER.format("@V@") + OTHER, "h(1)", FIVE)
way(
    "helper's helper",
    HELPER.format("@V@") + OTHER + "@tegula.jit\ndef g(x):\n    return h(x)\n",
    "g(1)",
    FIVE,
)
way(
    "helper's global",
    "N = tl.constexpr(@V@)\n" + HELPER.format("N"),
    "h(1)",
    "N = tl.constexpr(5)",
)
way(
    "helper's default",
    "@tegula.jit\ndef h(n: tl.constexpr = @V@):\n    return n\n"
    "@tegula.jit\ndef h5(n: tl.constexpr = 5):\n    return n\n",
    "h()",
    FIVE,
)
way(
    "helper of a module",
    "m = types.ModuleType('m')\n" + HELPER.format("@V@") + OTHER + "m.h = h\n",
    "m.h(1)",
    "m.h = h5",
)
way(
    "helper in a class",
    HELPER.format("@V@") + OTHER + "class Cfg:\n    f = h\nC = tl.constexpr(Cfg)\n",
    "C.f(1)",
    "Cfg.f = h5",
)
way(
    "helper in a dict",
    HELPER.format("@V@") + OTHER + "D = tl.constexpr({'f': h})\n",
    "D['f'](1)",
    "D.value['f'] = h5",
)
way(
    "helper in a tuple",
    HELPER.format("@V@") + OTHER + "T = (h, h)\n",
    "T[0](1)",
    "T = (h5, h5)",
)
way(
    "helper's constexpr function",
    "N = @V@\n@tegula.constexpr_function\ndef c(): return N\n" + HELPER.format("c()"),
    "h(1)",
    "N = 5",
)
way(
    "closure",
    "def make():\n    n = tl.constexpr(@V@)\n    @tegula.jit\n    def h(x):\n"
    "        return x * 0 + n\n    def change():\n        nonlocal n\n        n = tl.constexpr(5)\n"
    "    return h, change\nh, change = make()\n",
    "h(1)",
    "change()",
)
way(
    "loop's end",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef h(x):\n"
    "    for _ in tl.static_range(N):\n        x += 1\n    return x\n",
    "h(0)",
    "N = tl.constexpr(5)",
)
way(
    "branch",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef h(x):\n    if N == 5:\n"
    "        return x + 4\n    else:\n        return x\n",
    "h(1)",
    "N = tl.constexpr(5)",
)

# ---- tuples with names, aggregates -------------------------------------------------------------
PAIR = "class P(NamedTuple):\n    a: Any\n    b: Any\n"
METHOD = "    @tegula.jit\n    def f(self):\n        return self.a * 0 + {}\n"
way(
    "fields",
    "class P(NamedTuple):\n    a: Any = @V@\n    b: Any = 6 - @V@\n",
    "P().a",
    "class P(NamedTuple):\n    a: Any = 5\n    b: Any = 1",
    "P._field_defaults['a'] = 5",
)
way(
    "swapped fields",
    "class P(NamedTuple):\n    a: Any\n    b: Any\n"
    "if @V@ == 5:\n    class P(NamedTuple):\n        b: Any\n        a: Any\n",
    "P(1, 5).a",
    "class P(NamedTuple):\n    b: Any\n    a: Any",
)
way(
    "method of a tuple",
    PAIR
    + METHOD.format("@V@")
    + "class Q(NamedTuple):\n    a: Any\n"
    + METHOD.format(5),
    "P(tl.program_id(0), 1).f()",
    "P.f = Q.f",
)
way(
    "method's global",
    "N = tl.constexpr(@V@)\n" + PAIR + METHOD.format("N"),
    "P(tl.program_id(0), 1).f()",
    "N = tl.constexpr(5)",
)
AGGREGATE = "@tegula.aggregate\nclass G:\n    a: tl.tensor\n{}"
INIT = "    def __init__(self, a):\n        self.a = a * 0 + {}\n"
way(
    "aggregate's __init__",
    AGGREGATE.format(INIT.format("@V@")) + "class H:\n" + INIT.format(5),
    "G(tl.program_id(0)).a",
    "G.__init__ = H.__init__",
)
way(
    "aggregate's method",
    AGGREGATE.format(METHOD.format("@V@")) + "class Q:\n" + METHOD.format(5),
    "G(tl.program_id(0)).f()",
    "G.f = Q.f",
)
way(
    "aggregate's operator",
    AGGREGATE.format(
        "    @tegula.jit\n    def __add__(self, o):\n        return self.a * 0 + @V@\n"
    )
    + "class Q:\n    @tegula.jit\n    def __add__(self, o):\n        return self.a * 0 + 5\n",
    "G(tl.program_id(0)) + 1",
    "G.__add__ = Q.__add__",
)

# ---- arguments ---------------------------------------------------------------------------------
WAYS.append(
    Way(
        "method of an argument's class",
        HEAD
        + PAIR
        + METHOD.format("@V@")
        + "class Q(NamedTuple):\n    a: Any\n"
        + METHOD.format(5)
        + "@tegula.jit\ndef kernel(out, p):\n    tl.store(out, p.f())\n"
        "def launch(out): return kernel[(1,)](out, P(3, 4))\n",
        ("P.f = Q.f",),
    )
)
WAYS.append(
    Way(
        "function given",
        HEAD + HELPER.format("N") + "N = tl.constexpr(@V@)\n"
        "@tegula.jit\ndef kernel(out, f: tl.constexpr):\n    tl.store(out, f(1))\n"
        "def launch(out): return kernel[(1,)](out, h)\n",
        ("N = tl.constexpr(5)",),
    )
)
WAYS.append(
    Way(
        "object given",
        HEAD + "class Cfg:\n    def __init__(self): self.n = @V@\n"
        "C = Cfg()\n@tegula.jit\ndef kernel(out, c: tl.constexpr):\n    tl.store(out, c.n)\n"
        "def launch(out): return kernel[(1,)](out, C)\n",
        ("C.n = 5",),
    )
)
WAYS.append(
    Way(
        "class given",
        HEAD + "class Cfg:\n    n = @V@\n"
        "@tegula.jit\ndef kernel(out, c: tl.constexpr):\n    tl.store(out, c.n)\n"
        "def launch(out): return kernel[(1,)](out, Cfg)\n",
        ("Cfg.n = 5",),
    )
)
WAYS.append(
    Way(
        "default given",
        HEAD + "@tegula.jit\ndef kernel(out, n: tl.constexpr = @V@):\n"
        "    tl.store(out, n)\n",
    )
)
WAYS.append(
    Way(
        "heuristic",
        HEAD + "N = @V@\n@tegula.heuristics({'n': lambda args: N})\n"
        "@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
        ("N = 5",),
    )
)
