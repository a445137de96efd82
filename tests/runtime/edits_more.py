# ruff: noqa: E501 (sources as texts)
"""Ways for edits.py that nobody had in mind when frontend/program/watch.c was written.

What the decorator has read of a function, names of the language, an object's __dict__ as a whole,
the order of a dict, what functions of pure libraries keep, what a class tells of itself.
"""

from __future__ import annotations

from edits import HEAD, WAYS, Way, function, way
from edits_unseen import HELPER, OTHER, full

H = HELPER.format("@V@") + OTHER

# ---- names of the language --------------------------------------------------------------
for module, name in [("tl", "trust_a"), ("tl.math", "trust_b"), ("tl.core", "trust_c")]:
    way(
        f"name added to {module}",
        H + f"{module}.{name} = h\n",
        f"{module}.{name}(1)",
        f"{module}.{name} = h5",
        f"setattr({module}, '{name}', h5)",
        f"vars({module})['{name}'] = h5",
        f"{module}.__dict__.update({name}=h5)",
    )
way(
    "constant of the language",
    "tl.trust_n = tl.constexpr(@V@)\n",
    "tl.trust_n",
    "tl.trust_n = tl.constexpr(5)",
    "import sys; sys.modules['tegula.language'].trust_n = tl.constexpr(5)",
)
way(
    "function of the language by another name",
    H + "import tegula.language as mine\nmine.trust_d = h\n",
    "mine.trust_d(1)",
    "tl.trust_d = h5",
)
way(
    "language rebound",
    H + "L = types.ModuleType('L')\nL.f = h\nL5 = types.ModuleType('L')\nL5.f = h5\n",
    "L.f(1)",
    "L = L5",
)
way(
    "language's module hidden",
    H + "mine = types.SimpleNamespace(f=h5)\nM = types.ModuleType('M')\nM.f = h\n",
    "M.f(1)",
    "M.f = mine.f",
)
function(
    "library's constant",
    "import math\nmath.trust_e = @V@\n",
    "return math.trust_e",
    "math.trust_e = 5",
    "vars(math)['trust_e'] = 5",
)
function(
    "library's function",
    "import math\nmath.trust_f = lambda: @V@\n",
    "return math.trust_f()",
    "math.trust_f = lambda: 5",
)
function(
    "library's name rebound",
    "import math as M\nimport types\nM.trust_g = @V@\n",
    "return M.trust_g",
    "M = types.SimpleNamespace(trust_g=5)",
)
function(
    "NumPy's function",
    "np.trust_h = lambda: @V@\n",
    "return np.trust_h()",
    "np.trust_h = lambda: 5",
)
way(
    "library's constant in a kernel",
    "import math\nmath.trust_i = tl.constexpr(@V@)\n",
    "math.trust_i",
    "math.trust_i = tl.constexpr(5)",
)

# ---- what the decorator has read --------------------------------------------------------
full(
    "default of the function",
    "@tegula.jit\ndef kernel(out, n: tl.constexpr = @V@):\n    tl.store(out, n)\n",
    "kernel.fn.__defaults__ = (5,)",
    "kernel.__wrapped__.__defaults__ = (5,)",
)
full(
    "run-time default of the function",
    "@tegula.jit\ndef kernel(out, n=@V@):\n    tl.store(out, n)\n",
    "kernel.fn.__defaults__ = (5,)",
)
full(
    "keyword default of the function",
    "@tegula.jit\ndef kernel(out, *, n: tl.constexpr = @V@):\n    tl.store(out, n)\n",
    "kernel.fn.__kwdefaults__ = {'n': 5}",
    "kernel.fn.__kwdefaults__['n'] = 5",
)
full(
    "function that was decorated",
    "def kernel(out, n: tl.constexpr = @V@):\n    tl.store(out, n)\ndef g(out, n: tl.constexpr = 5):\n    tl.store(out, 5)\nf = kernel\nkernel = tegula.jit(f)\n",
    "f.__defaults__ = (5,)",
    "f.__code__ = g.__code__",
    "kernel = tegula.jit(g)",
)
full(
    "code of the function",
    "@tegula.jit\ndef kernel(out):\n    tl.store(out, @V@)\n@tegula.jit\ndef k5(out):\n    tl.store(out, 5)\n",
    "kernel.fn.__code__ = k5.fn.__code__",
    "kernel = k5",
)
way(
    "code of a helper's function",
    H,
    "h(1)",
    "h.fn.__code__ = h5.fn.__code__",
)
way(
    "default of a helper's function",
    "@tegula.jit\ndef h(n: tl.constexpr = @V@):\n    return n\n",
    "h()",
    "h.fn.__defaults__ = (5,)",
)
way(
    "helper in an autotuner",
    H + "a = tegula.autotune([tegula.Config({})], key=[])(h)\n",
    "a(1)",
    "a.fn.fn.__code__ = h5.fn.__code__",
    "a.fn = h5",
    "a = h5",
)
way(
    "globals of a helper's function",
    "N = tl.constexpr(@V@)\n" + HELPER.format("N"),
    "h(1)",
    "h.fn.__globals__['N'] = tl.constexpr(5)",
    "kernel.__globals__['N'] = tl.constexpr(5)",
)
way(
    "cell of a helper's function",
    "def make(n):\n    @tegula.jit\n    def h(x):\n        return x * 0 + n\n    return h\nh = make(tl.constexpr(@V@))\n",
    "h(1)",
    "h.fn.__closure__[0].cell_contents = tl.constexpr(5)",
    "h.fn.__closure__[0].cell_contents.value = 5",
)
full(
    "annotation of the function",
    "@tegula.jit\ndef kernel(out, n: (tl.int64 if @V@ == 5 else tl.int32) = 3):\n    tl.store(out, 5 if n.dtype == tl.int64 else 1)\n",
    "kernel.fn.__annotations__['n'] = tl.int64",
    "kernel.fn.__annotations__ = {'n': tl.int64}",
)
way(
    "code of an aggregate's method",
    "@tegula.aggregate\nclass G:\n    a: tl.tensor\n    def __init__(self, a):\n        self.a = a * 0 + @V@\nclass Q:\n    def __init__(self, a):\n        self.a = a * 0 + 5\n",
    "G(tl.program_id(0)).a",
    "G.__init__.__code__ = Q.__init__.__code__",
    "G.__init__ = Q.__init__",
)
way(
    "code of an aggregate's jit method",
    "@tegula.aggregate\nclass G:\n    a: tl.tensor\n    def __init__(self, a):\n        self.a = a\n    @tegula.jit\n    def f(self):\n        return self.a * 0 + @V@\nclass Q:\n    @tegula.jit\n    def f(self):\n        return self.a * 0 + 5\n",
    "G(tl.program_id(0)).f()",
    "G.f.fn.__code__ = Q.f.fn.__code__",
)
full(
    "heuristic's function's code",
    "def n_of(args): return @V@\n@tegula.heuristics({'n': n_of})\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
    "n_of.__code__ = (lambda args: 5).__code__",
)
full(
    "config pruned",
    "N = @V@\ndef prune(configs, nargs, **kw):\n    return [c for c in configs if c.kwargs['n'] == N]\n@tegula.autotune([tegula.Config({'n': 1}), tegula.Config({'n': 5})], key=[], prune_configs_by={'early_config_prune': prune})\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
)
full(
    "kernels of one name",
    "def make(v):\n    if v == 1:\n        @tegula.jit\n        def kernel(out):\n            tl.store(out, 1)\n    else:\n        @tegula.jit\n        def kernel(out):\n            tl.store(out, 5)\n    return kernel\nkernel = make(@V@)\n",
    "kernel = make(5)",
)
full(
    "kernel of a text",
    "import linecache\ndef made(n):\n    text = f'@tegula.jit\\ndef kernel(out):\\n    tl.store(out, {n})\\n'\n    file = f'<text {n}>'\n    linecache.cache[file] = (len(text), None, text.splitlines(True), file)\n    names = dict(tegula=tegula, tl=tl)\n    exec(compile(text, file, 'exec'), names)\n    return names['kernel']\nkernel = made(@V@)\n",
    "kernel = made(5)",
)

# ---- objects ----------------------------------------------------------------------------
OBJECT = "class O: pass\no = O()\no.n = @V@\n"
function(
    "function's object's __dict__ replaced",
    OBJECT,
    "return o.n",
    "o.__dict__ = {'n': 5}",
    "o.__dict__.update(n=5)",
)
way(
    "object's __dict__ replaced",
    OBJECT + "C = tl.constexpr(o)\n",
    "C.n",
    "o.__dict__ = {'n': 5}",
)
function(
    "function's module's class replaced",
    "m = types.ModuleType('m')\nm.N = @V@\nclass M(types.ModuleType):\n    N = property(lambda s: 5)\n",
    "return m.N",
    "m.__class__ = M",
)
way(
    "module's class replaced",
    "m = types.ModuleType('m')\nm.N = tl.constexpr(@V@)\nclass M(types.ModuleType):\n    N = property(lambda s: tl.constexpr(5))\n",
    "m.N",
    "m.__class__ = M",
)
function(
    "attribute deleted",
    "class O:\n    n = 5\no = O()\nif @V@ == 1: o.n = 1\n",
    "return o.n",
    "del o.n",
)
way(
    "class attribute deleted",
    "class B:\n    N = 5\nclass Cfg(B):\n    N = 1\nif @V@ == 5: del Cfg.N\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "del Cfg.N",
)
function(
    "attribute hidden by a property",
    "class O: pass\no = O()\no.n = @V@\n",
    "return o.n",
    "O.n = property(lambda s: 5)",
)
way(
    "attribute hidden by a property, constexpr",
    "class O: pass\no = O()\no.n = @V@\nC = tl.constexpr(o)\n",
    "C.n",
    "O.n = property(lambda s: 5)",
)
way(
    "slot replaced",
    "@dataclasses.dataclass(slots=True)\nclass O:\n    n: int\nC = tl.constexpr(O(@V@))\n",
    "C.n",
    "O.n = property(lambda s: 5)",
)
function(
    "metaclass's __call__",
    "class M(type):\n    def __call__(cls): return @V@\nclass Cfg(metaclass=M): pass\n",
    "return Cfg()",
    "M.__call__ = lambda c: 5",
)
function(
    "class's __new__",
    "class Cfg:\n    def __new__(cls): return @V@\n",
    "return Cfg()",
    "Cfg.__new__ = lambda c: 5",
)
function(
    "dataclass's default",
    "@dataclasses.dataclass\nclass Cfg:\n    n: int = @V@\n",
    "return Cfg().n",
    "Cfg.__init__.__defaults__ = (5,)",
)
function(
    "dataclass's factory",
    "@dataclasses.dataclass\nclass Cfg:\n    n: int = dataclasses.field(default_factory=lambda: N)\nN = @V@\n",
    "return Cfg().n",
    "N = 5",
)
function(
    "dataclass's __post_init__",
    "@dataclasses.dataclass\nclass Cfg:\n    n: int = 0\n    def __post_init__(self): self.n = @V@\n",
    "return Cfg().n",
    "def p(self): self.n = 5\nCfg.__post_init__ = p",
)
function(
    "dataclass's field",
    "@dataclasses.dataclass\nclass Cfg:\n    n: int = @V@\n",
    "return dataclasses.fields(Cfg)[0].default",
    "Cfg.__dataclass_fields__['n'].default = 5",
)
function(
    "named tuple's property",
    "class P(NamedTuple):\n    a: Any\n    @property\n    def n(self): return @V@\np = P(3)\n",
    "return p.n",
    "P.n = property(lambda s: 5)",
)
function(
    "named tuple's method",
    "class P(NamedTuple):\n    a: Any\n    def n(self): return @V@\np = P(3)\n",
    "return p.n()",
    "P.n = lambda s: 5",
)
function(
    "named tuple's __new__",
    "class P(NamedTuple):\n    a: Any = @V@\n",
    "return P().a",
    "P.__new__.__defaults__ = (5,)",
)
function(
    "enum's method",
    "class E(enum.Enum):\n    A = 0\n    def f(self): return @V@\n",
    "return E.A.f()",
    "E.f = lambda s: 5",
)
function(
    "enum's _missing_",
    "class E(enum.Enum):\n    A = 1\n    B = 5\n    @classmethod\n    def _missing_(cls, v): return cls.A if @V@ == 1 else cls.B\n",
    "return E(77).value",
    "E._missing_ = classmethod(lambda c, v: c.B)",
)
function(
    "__set_name__",
    "class D:\n    def __set_name__(self, o, name): self.n = @V@\n    def __get__(self, o, cls): return self.n\nclass Cfg:\n    x = D()\n",
    "return Cfg.x",
    "vars(Cfg)['x'].n = 5",
)
function(
    "__init_subclass__",
    "class B:\n    def __init_subclass__(cls): cls.n = @V@\nclass Cfg(B): pass\n",
    "return Cfg.n",
    "Cfg.n = 5",
)
for dunder, read in [
    ("__bool__", "5 if o else 1"),
    ("__index__", "[0, 1, 2, 3, 4, 5][o]"),
    ("__int__", "int(o)"),
    ("__float__", "int(float(o))"),
    ("__neg__", "-o"),
    ("__radd__", "1 + o"),
    ("__call__", "o()"),
    ("__lt__", "5 if o < 3 else 1"),
    ("__format__", "len(f'{o}')"),
    ("__round__", "round(o)"),
    ("__missing__", "o['x']"),
    ("__reversed__", "list(reversed(o))[0]"),
    ("__length_hint__", "__import__('operator').length_hint(o)"),
    ("__enter__", "f(o)"),
]:
    value = {
        "__bool__": "@V@ == 5",
        "__float__": "float(@V@)",
        "__lt__": "@V@ == 5",
        "__format__": "'x' * @V@",
        "__reversed__": "iter([@V@])",
    }.get(dunder, "@V@")
    base = "dict" if dunder == "__missing__" else "object"
    function(
        f"operator {dunder}",
        f"class O({base}):\n    def {dunder}(self, *a): return {value}\n    def __exit__(self, *a): pass\no = O()\ndef f(o):\n    with o as x: return x\n",
        f"return {read}",
        f"O.{dunder} = lambda self, *a: {value.replace('@V@', '5')}",
    )

# ---- containers -------------------------------------------------------------------------
function(
    "order of a dict",
    "D = {'a': 1, 'b': 5} if @V@ == 1 else {'b': 5, 'a': 1}\n",
    "return next(iter(D.values()))",
    "D['a'] = D.pop('a')",
)
function(
    "order of an OrderedDict",
    "import collections\nD = collections.OrderedDict(a=1, b=5)\nif @V@ == 5: D.move_to_end('a')\n",
    "return list(D.values())[0]",
    "D.move_to_end('a')",
)
way(
    "order of a dict, constexpr",
    "D = tl.constexpr({'a': 1, 'b': 5} if @V@ == 1 else {'b': 5, 'a': 1})\n@tegula.constexpr_function\ndef c(d): return list(d.values())[0]\n",
    "c(D)",
    "D.value['a'] = D.value.pop('a')",
)
function(
    "order of an object's attributes",
    "class O: pass\no = O()\no.a, o.b = (1, 5)\nif @V@ == 5:\n    del o.a; o.a = 1\n",
    "return list(vars(o).values())[0]",
    "del o.a; o.a = 1",
)
function(
    "key of a dict",
    "D = {@V@: 0}\n",
    "return list(D)[0]",
    "del D[1]; D[5] = 0",
)
function(
    "equal key of a dict",
    "D = {1: 0} if @V@ == 1 else {True: 0}\n",
    "return 5 if list(D)[0] is True else 1",
    "del D[1]; D[True] = 0",
)
function(
    "equal element of a set",
    "S = {1} if @V@ == 1 else {True}\n",
    "return 5 if list(S)[0] is True else 1",
    "S.clear(); S.add(True)",
)
function(
    "object in a set",
    "class O: pass\no = O()\no.n = @V@\nS = {o}\n",
    "return list(S)[0].n",
    "o.n = 5",
)
function(
    "factory of a defaultdict",
    "import collections\nD = collections.defaultdict(lambda: @V@)\n",
    "return D.default_factory()",
    "D.default_factory = lambda: 5",
)
function(
    "list turned",
    "L = [1, 5] if @V@ == 1 else [5, 1]\n",
    "return L[0]",
    "L.reverse()",
    "L.sort(reverse=True)",
    "del L[0]",
    "L.insert(0, 5)",
    "L[0], L[1] = L[1], L[0]",
)
function(
    "keywords of a partial",
    "def d(n): return n\nf = functools.partial(d, n=@V@)\n",
    "return f()",
    "f.keywords['n'] = 5",
    "f.__setstate__((d, (), {'n': 5}, {}))",
)
way(
    "constexpr function of a partial's wrapper",
    "def d(n): return n\nf = functools.update_wrapper(functools.partial(d, n=@V@), d)\nc = tegula.constexpr_function(f)\n",
    "c()",
    "f.keywords['n'] = 5",
    "c.fn = functools.partial(d, n=5)",
)
function(
    "method type",
    "class O: pass\no = O()\no.n = @V@\ndef f(s): return s.n\nb = types.MethodType(f, o)\n",
    "return b()",
    "o.n = 5",
    "f.__code__ = (lambda s: 5).__code__",
)
function(
    "static method in a dict",
    "N = @V@\nD = {'f': staticmethod(lambda: N)}\n",
    "return D['f'].__func__()",
    "N = 5",
)
function(
    "C integer",
    "import ctypes\nN = ctypes.c_int(@V@)\n",
    "return N.value",
    "N.value = 5",
)
function(
    "constexpr's subclass",
    "class K(tl.constexpr): pass\nN = K(@V@)\n",
    "return N.value",
    "N.value = 5",
)
way(
    "constexpr's subclass in a kernel",
    "class K(tl.constexpr): pass\nN = K(@V@)\n",
    "N",
    "N.value = 5",
    "N = K(5)",
)

# ---- what pure libraries keep, and the system --------------------------------------------
function(
    "decimal's context",
    "import decimal\ndecimal.getcontext().prec = @V@\n",
    "return decimal.getcontext().prec",
    "decimal.getcontext().prec = 5",
)
function(
    "decimal's precision",
    "import decimal\ndecimal.getcontext().prec = @V@ + 1\n",
    "return len(str(decimal.Decimal(1) / 3)) - 3",
    "decimal.getcontext().prec = 6",
)
function(
    "NumPy's print options",
    "np.set_printoptions(precision=@V@)\n",
    "return np.get_printoptions()['precision']",
    "np.set_printoptions(precision=5)",
)
function(
    "NumPy's printing",
    "np.set_printoptions(precision=@V@)\n",
    "return len(str(np.array([1 / 3]))) - 4",
    "np.set_printoptions(precision=5)",
)
FILE = "import tempfile, os\nfile = os.path.join(tempfile.gettempdir(), f'trust-{os.getpid()}')\ndef put(n):\n    with open(file, 'w') as f: f.write(str(n))\nput(@V@)\n"
function("file", FILE, "return int(open(file).read())", "put(5)")
function("file by NumPy", FILE, "return int(np.loadtxt(file))", "put(5)")
function(
    "file by NumPy, raw", FILE, "return int(np.fromfile(file, 'u1')[0]) - 48", "put(5)"
)
function(
    "file by json", FILE + "import json\n", "return json.load(open(file))", "put(5)"
)
function(
    "file by pathlib",
    FILE + "import pathlib\np = pathlib.Path(file)\n",
    "return int(p.read_text())",
    "put(5)",
)
function(
    "text stream",
    "import io\nS = io.StringIO('@V@')\n",
    "return int(S.getvalue())",
    "S.seek(0); S.write('5')",
)
function(
    "mapped memory",
    "import mmap\nm = mmap.mmap(-1, 1)\nm[0] = @V@\n",
    "return m[0]",
    "m[0] = 5",
)
function(
    "sys.argv",
    "import sys\nsys.argv[:] = ['x'] * @V@\n",
    "return len(sys.argv)",
    "sys.argv.extend(['x'] * 4)",
)
function(
    "recursion limit",
    "import sys\nsys.setrecursionlimit(2000 + @V@)\n",
    "return sys.getrecursionlimit() - 2000",
    "sys.setrecursionlimit(2005)",
)

# ---- what things tell of themselves -------------------------------------------------------
function(
    "function's name",
    "def f(): pass\nf.__name__ = 'x' * @V@\n",
    "return len(f.__name__)",
    "f.__name__ = 'xxxxx'",
)
function(
    "function's text",
    "def f(): pass\nf.__doc__ = 'x' * @V@\n",
    "return len(f.__doc__)",
    "f.__doc__ = 'xxxxx'",
)
function(
    "function's annotations",
    "def f(n): pass\nf.__annotations__['n'] = @V@\n",
    "return f.__annotations__['n']",
    "f.__annotations__['n'] = 5",
    "f.__annotations__ = {'n': 5}",
)
function(
    "function's own defaults",
    "def f(n=@V@): pass\n",
    "return f.__defaults__[0]",
    "f.__defaults__ = (5,)",
)
function(
    "function's code's constants",
    "def f(): return @V@\n",
    "return f.__code__.co_consts[1]",
    "f.__code__ = (lambda: 5).__code__",
)
function(
    "class's name",
    "class Cfg: pass\nCfg.__name__ = 'x' * @V@\n",
    "return len(Cfg.__name__)",
    "Cfg.__name__ = 'xxxxx'",
)
function(
    "class's text",
    "class Cfg: pass\nCfg.__doc__ = 'x' * @V@\n",
    "return len(Cfg.__doc__)",
    "Cfg.__doc__ = 'xxxxx'",
)
function(
    "class's annotations",
    "class Cfg:\n    n: @V@\n",
    "return Cfg.__annotations__['n']",
    "Cfg.__annotations__['n'] = 5",
)
function(
    "subclasses",
    "class B: pass\nL = [type('S', (B,), {}) for _ in range(@V@)]\n",
    "return len(B.__subclasses__())",
    "L += [type('S', (B,), {}) for _ in range(4)]",
)
function(
    "registered class",
    "import abc\nclass A(abc.ABC): pass\nclass B: pass\nif @V@ == 5: A.register(B)\n",
    "return 5 if issubclass(B, A) else 1",
    "A.register(B)",
)
function(
    "__instancecheck__",
    "class M(type):\n    def __instancecheck__(cls, o): return @V@ == 5\nclass A(metaclass=M): pass\n",
    "return 5 if isinstance(3, A) else 1",
    "M.__instancecheck__ = lambda c, o: True",
)
function(
    "type by its name",
    "class A:\n    n = @V@\nclass B:\n    n = 5\no = A()\n",
    "return type(o).n",
    "o = B()",
    "o.__class__ = B",
    "A.n = 5",
)
function(
    "comparison of identities",
    "a = object()\nb = object() if @V@ == 1 else a\n",
    "return 5 if a is b else 1",
    "b = a",
)
function(
    "length of a range of a global",
    "N = @V@\nR = lambda: range(N)\n",
    "return len(R())",
    "N = 5",
)
function(
    "annotation's object",
    "class O: pass\no = O()\no.n = @V@\ndef f(x: o): pass\n",
    "return f.__annotations__['x'].n",
    "o.n = 5",
)
WAYS.append(
    Way(
        "constants of a dataclass given",
        HEAD
        + "@dataclasses.dataclass(eq=False)\nclass Cfg:\n    n: Any\n@tegula.jit\ndef kernel(out, c: tl.constexpr):\n    s = 0\n    for _ in tl.static_range(c.n):\n        s += 1\n    tl.store(out, s)\nC = Cfg(np.int32(@V@))\ndef launch(out): kernel[(1,)](out, C)\n",
        ("C.n = np.int32(5)", "C = Cfg(np.int32(5))"),
    )
)
