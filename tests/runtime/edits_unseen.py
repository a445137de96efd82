# ruff: noqa: E501 (sources as texts)
"""More ways for edits.py: those where a compile cannot follow what Python code reads.

State of C's and of the system, names that no instruction spells out, classes with lookups of
their own, arguments whose == does not look at all of them.
"""

from __future__ import annotations

from edits import HEAD, WAYS, Way, function, way


def full(name: str, source: str, *edits: str) -> None:
    WAYS.append(Way(name, HEAD + source, edits))


MOD = "import sys\nm = types.ModuleType('m_of_mine')\nm.N = {}\nsys.modules['m_of_mine'] = m\n"
# names
way(
    "from import",
    MOD.format("tl.constexpr(@V@)") + "from m_of_mine import N\n",
    "N",
    "m.N = tl.constexpr(5)\nfrom m_of_mine import N",
)
function(
    "builtin added",
    "import builtins\nbuiltins.MY_N = @V@\n",
    "return MY_N",
    "builtins.MY_N = 5",
    "MY_N = 5",
)
function(
    "builtin shadowed",
    "globals().pop('len', None)\nif @V@ == 5:\n    def len(x): return 5\n",
    "return len([1])",
    "def len(x): return 5",
    "globals()['len'] = lambda x: 5",
)
way(
    "kernel's builtin shadowed",
    "T = (tl.constexpr(0),)\nglobals().pop('len', None)\nif @V@ == 5:\n    @tegula.constexpr_function\n    def len(x): return 5\n",
    "len(T)",
    "len = tegula.constexpr_function(lambda x: 5)",
)
way(
    "kernel's builtin shadowed by jit",
    "@tegula.jit\ndef five(a, b):\n    return a * 0 + 5\nglobals().pop('min', None)\nif @V@ == 5:\n    min = five\n",
    "min(1, tl.program_id(0) + 3)",
    "min = five",
)
# modules with __getattr__
way(
    "module's __getattr__",
    "m = types.ModuleType('m')\nm.__getattr__ = lambda name: tl.constexpr(@V@)\n",
    "m.N",
    "m.__getattr__ = lambda name: tl.constexpr(5)",
    "m.N = tl.constexpr(5)",
)
way(
    "module's __getattr__'s global",
    "K = @V@\nm = types.ModuleType('m')\nm.__getattr__ = lambda name: tl.constexpr(K)\n",
    "m.N",
    "K = 5",
)
function(
    "function's module's __getattr__",
    "m = types.ModuleType('m')\nm.__getattr__ = lambda name: @V@\n",
    "return m.N",
    "m.__getattr__ = lambda name: 5",
    "m.N = 5",
)
# imports in the body
function(
    "import in the body",
    MOD.format("@V@"),
    "import m_of_mine\n    return m_of_mine.N",
    "m.N = 5",
    "sys.modules['m_of_mine'] = types.SimpleNamespace(N=5)",
)
function(
    "from import in the body",
    MOD.format("@V@"),
    "from m_of_mine import N\n    return N",
    "m.N = 5",
)
function(
    "import as in the body",
    MOD.format("@V@"),
    "import m_of_mine as q\n    return q.N",
    "m.N = 5",
)
function(
    "sys.modules", MOD.format("@V@"), "return sys.modules['m_of_mine'].N", "m.N = 5"
)
function("getattr of a module", MOD.format("@V@"), "return getattr(m, 'N')", "m.N = 5")
function(
    "module by a local name", MOD.format("@V@"), "q = m\n    return q.N", "m.N = 5"
)
function("vars of a module", MOD.format("@V@"), "return vars(m)['N']", "m.N = 5")
function("module's __dict__", MOD.format("@V@"), "return m.__dict__['N']", "m.N = 5")
function("globals()", "N = @V@\n", "return globals()['N']", "N = 5")
function("eval", "N = @V@\n", "return eval('N')", "N = 5")
function(
    "module in a tuple", MOD.format("@V@") + "T = (m,)\n", "return T[0].N", "m.N = 5"
)
function(
    "module in a dict",
    MOD.format("@V@") + "T = {'m': m}\n",
    "return T['m'].N",
    "m.N = 5",
)
function(
    "module in an object",
    MOD.format("@V@") + "class O: pass\no = O()\no.m = m\n",
    "return o.m.N",
    "m.N = 5",
)
function("module as a default", MOD.format("@V@"), "return q.N", "m.N = 5", args="q=m")
way(
    "module in a closure",
    MOD.format("@V@")
    + "def make(q):\n    @tegula.constexpr_function\n    def c(): return q.N\n    return c\nc = make(m)\n",
    "c()",
    "m.N = 5",
)
way(
    "module as an argument",
    MOD.format("@V@")
    + "M = tl.constexpr(m)\n@tegula.constexpr_function\ndef c(q): return q.N\n",
    "c(M)",
    "m.N = 5",
)
function(
    "environ",
    "import os\nos.environ['TRUST_N'] = '@V@'\n",
    "return int(os.environ['TRUST_N'])",
    "os.environ['TRUST_N'] = '5'",
)
function(
    "getenv",
    "import os\nos.environ['TRUST_N'] = '@V@'\n",
    "return int(os.getenv('TRUST_N', '0'))",
    "os.environ['TRUST_N'] = '5'",
)
function(
    "environ imported",
    "import os\nfrom os import environ\nos.environ['TRUST_N'] = '@V@'\n",
    "return int(environ.get('TRUST_N'))",
    "os.environ['TRUST_N'] = '5'",
)
function(
    "context variable",
    "import contextvars\nv = contextvars.ContextVar('v')\nv.set(@V@)\n",
    "return v.get()",
    "v.set(5)",
)
function(
    "thread local",
    "import threading\nl = threading.local()\nl.n = @V@\n",
    "return l.n",
    "l.n = 5",
)
# classes
way(
    "metaclass's attribute",
    "class M(type):\n    N = @V@\nclass Cfg(metaclass=M): pass\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "M.N = 5",
    "Cfg.N = 5",
)
way(
    "metaclass's property",
    "class M(type):\n    @property\n    def N(cls): return cls.k\nclass Cfg(metaclass=M):\n    k = @V@\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "Cfg.k = 5",
    "M.N = property(lambda c: 5)",
)
function(
    "function's metaclass's property",
    "class M(type):\n    @property\n    def N(cls): return K\nK = @V@\nclass Cfg(metaclass=M): pass\n",
    "return Cfg.N",
    "K = 5",
    "M.N = property(lambda c: 5)",
)
function(
    "function's metaclass's __getattr__",
    "class M(type):\n    def __getattr__(cls, n): return K\nK = @V@\nclass Cfg(metaclass=M): pass\n",
    "return Cfg.N",
    "K = 5",
    "M.__getattr__ = lambda c, n: 5",
)
function(
    "metaclass's operator",
    "class M(type):\n    def __getitem__(cls, n): return K\nK = @V@\nclass Cfg(metaclass=M): pass\n",
    "return Cfg[0]",
    "K = 5",
    "M.__getitem__ = lambda c, n: 5",
)
way(
    "object's __getattr__",
    "K = @V@\nclass Cfg:\n    def __getattr__(self, n):\n        if n == 'N': return K\n        raise AttributeError(n)\nC = tl.constexpr(Cfg())\n",
    "C.N",
    "K = 5",
    "Cfg.N = 5",
    "Cfg.__getattr__ = lambda s, n: 5",
    "C.value.N = 5",
)
way(
    "object's __getattribute__",
    "K = @V@\nclass Cfg:\n    def __getattribute__(self, n):\n        if n == 'N': return K\n        return object.__getattribute__(self, n)\nC = tl.constexpr(Cfg())\n",
    "C.N",
    "K = 5",
    "Cfg.__getattribute__ = lambda s, n: 5 if n == 'N' else object.__getattribute__(s, n)",
)
way(
    "object's __getattr__'s dict",
    "class Cfg:\n    def __init__(self): self.d = {'N': @V@}\n    def __getattr__(self, n):\n        try: return self.__dict__['d'][n]\n        except KeyError: raise AttributeError(n)\nC = tl.constexpr(Cfg())\n",
    "C.N",
    "C.value.d['N'] = 5",
)
way(
    "descriptor",
    "class D:\n    def __init__(self): self.n = @V@\n    def __get__(self, o, cls): return self.n\nclass Cfg:\n    N = D()\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "Cfg.__dict__['N'].n = 5",
    "D.__get__ = lambda s, o, c: 5",
    "Cfg.N = 5",
)
way(
    "descriptor of an object",
    "class D:\n    def __get__(self, o, cls): return o.k\nclass Cfg:\n    N = D()\n    def __init__(self): self.k = @V@\nC = tl.constexpr(Cfg())\n",
    "C.N",
    "C.value.k = 5",
    "D.__get__ = lambda s, o, c: 5",
)
way(
    "descriptor's global",
    "K = @V@\nclass D:\n    def __get__(self, o, cls): return K\nclass Cfg:\n    N = D()\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "K = 5",
)
way(
    "cached property",
    "class Cfg:\n    k = @V@\n    @functools.cached_property\n    def N(self): return self.k\nC = tl.constexpr(Cfg())\n",
    "C.N",
    "C.value.N = 5",
    "Cfg.k = 5; del C.value.N",
)
function(
    "function's descriptor",
    "K = @V@\nclass D:\n    def __get__(self, o, cls): return K\nclass Cfg:\n    N = D()\n",
    "return Cfg.N",
    "K = 5",
    "D.__get__ = lambda s, o, c: 5",
)
function(
    "function's property of a global",
    "K = @V@\nclass Cfg:\n    @property\n    def N(self): return K\no = Cfg()\n",
    "return o.N",
    "K = 5",
    "Cfg.N = property(lambda s: 5)",
    "Cfg.N = 5",
)
function(
    "function's cached property",
    "class Cfg:\n    k = @V@\n    @functools.cached_property\n    def N(self): return self.k\no = Cfg()\n",
    "return o.N",
    "o.N = 5",
    "Cfg.k = 5; del o.N",
)
function(
    "__eq__",
    "class Cfg:\n    def __eq__(self, o): return @V@ == 5\no = Cfg()\n",
    "return 5 if o == 1 else 1",
    "Cfg.__eq__ = lambda s, o: True",
)
function(
    "__repr__",
    "class Cfg:\n    def __repr__(self): return '@V@'\no = Cfg()\n",
    "return int(repr(o))",
    "Cfg.__repr__ = lambda s: '5'",
)
function(
    "__hash__",
    "class Cfg:\n    def __hash__(self): return @V@\no = Cfg()\n",
    "return hash(o)",
    "Cfg.__hash__ = lambda s: 5",
)
function(
    "__len__",
    "class Cfg:\n    def __len__(self): return @V@\no = Cfg()\n",
    "return len(o)",
    "Cfg.__len__ = lambda s: 5",
)
function(
    "__iter__",
    "class Cfg:\n    def __iter__(self): return iter([@V@])\no = Cfg()\n",
    "return list(o)[0]",
    "Cfg.__iter__ = lambda s: iter([5])",
)
function(
    "__contains__",
    "class Cfg:\n    def __contains__(self, x): return @V@ == 5\no = Cfg()\n",
    "return 5 if 3 in o else 1",
    "Cfg.__contains__ = lambda s, x: True",
)
function(
    "__class_getitem__",
    "class Cfg:\n    def __class_getitem__(cls, x): return @V@\n",
    "return Cfg[0]",
    "Cfg.__class_getitem__ = classmethod(lambda c, x: 5)",
)
function(
    "__class__ replaced",
    "class A:\n    N = @V@\nclass B:\n    N = 5\no = A()\n",
    "return o.N",
    "o.__class__ = B",
)
way(
    "__class__ replaced, constexpr",
    "class A:\n    N = @V@\nclass B:\n    N = 5\nC = tl.constexpr(A())\n",
    "C.N",
    "C.value.__class__ = B",
)
function(
    "__bases__ replaced",
    "class A:\n    N = @V@\nclass B:\n    N = 5\nclass C0: pass\nclass Cfg(C0, A): pass\n",
    "return Cfg.N",
    "Cfg.__bases__ = (C0, B)",
)
way(
    "__bases__ replaced, constexpr",
    "class A:\n    N = @V@\nclass B:\n    N = 5\nclass C0: pass\nclass Cfg(C0, A): pass\nC = tl.constexpr(Cfg)\n",
    "C.N",
    "Cfg.__bases__ = (C0, B)",
)
function(
    "class attribute added in between",
    "class A:\n    N = @V@\nclass B(A): pass\nclass Cfg(B): pass\n",
    "return Cfg.N",
    "B.N = 5",
)
function(
    "super()",
    "class A:\n    def f(self): return @V@\nclass B(A):\n    def f(self): return super().f()\no = B()\n",
    "return o.f()",
    "A.f = lambda s: 5",
)
function(
    "class made by type()",
    "Cfg = type('Cfg', (), {'N': @V@})\n",
    "return Cfg.N",
    "Cfg.N = 5",
)
function(
    "abstract class's method",
    "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self): return @V@\no = B()\n",
    "return o.f()",
    "B.f = lambda s: 5",
)
function(
    "singledispatch",
    "@functools.singledispatch\ndef d(x): return 0\n@d.register(int)\ndef di(x): return @V@\n",
    "return d(1)",
    "d.register(int, lambda x: 5)",
)
function(
    "partialmethod",
    "class Cfg:\n    def f(self, n): return n\n    g = functools.partialmethod(f, @V@)\no = Cfg()\n",
    "return o.g()",
    "Cfg.g = functools.partialmethod(Cfg.f, 5)",
)
function(
    "operator.attrgetter",
    "import operator\nget = operator.attrgetter('n')\no = types.SimpleNamespace(n=@V@)\n",
    "return get(o)",
    "o.n = 5",
    "get = lambda o: 5",
)
# enums
function(
    "flag",
    "class E(enum.Flag):\n    A = 1\n    B = 4\nF = E.A if @V@ == 1 else E.A | E.B\n",
    "return F.value",
    "F = E.A | E.B",
)
function(
    "enum by name",
    "class E(enum.Enum):\n    A = @V@\n",
    "return E['A'].value",
    "E.A._value_ = 5",
    "class E(enum.Enum):\n    A = 5",
)
function(
    "enum by value",
    "class E(enum.Enum):\n    A = @V@\n    B = 0\n",
    "return max(e.value for e in E)",
    "class E(enum.Enum):\n    A = 5",
    "E.A._value_ = 5",
)
function(
    "enum's members",
    "class E(enum.Enum):\n    A = 0\nE2 = E if @V@ == 1 else enum.Enum('E2', 'a b c d e')\n",
    "return len(E2)",
    "E2 = enum.Enum('E2', 'a b c d e')",
)
function(
    "enum with data",
    "class E(enum.Enum):\n    A = 0\n    def __init__(self, v): self.w = @V@\n",
    "return E.A.w",
    "E.A.w = 5",
)
way(
    "IntFlag member",
    "class E(enum.IntFlag):\n    A = 1\n    B = 4\nC = tl.constexpr(E.A if @V@ == 1 else E.A | E.B)\n",
    "C",
    "C = tl.constexpr(E.A | E.B)",
)
way(
    "str enum",
    "class E(str, enum.Enum):\n    A = 'a' * @V@\nC = tl.constexpr(E.A)\n",
    "len(C)",
    "class E(str, enum.Enum):\n    A = 'a' * 5\nC = tl.constexpr(E.A)",
)
# numpy
way(
    "numpy scalar",
    "N = tl.constexpr(np.int32(@V@))\n",
    "N",
    "N = tl.constexpr(np.int32(5))",
    "N.value = np.int32(5)",
)
function(
    "function's numpy scalar", "N = np.int64(@V@)\n", "return int(N)", "N = np.int64(5)"
)
function(
    "numpy 0-d",
    "N = np.array(@V@)\n",
    "return int(N)",
    "N[()] = 5",
    "N.fill(5)",
    "N += 4",
)
function(
    "numpy view's base",
    "B = np.full(4, @V@)\nN = B[1:2]\n",
    "return int(N[0])",
    "B[:] = 5",
)
function(
    "numpy strided", "B = np.full(8, @V@)\nN = B[::2]\n", "return int(N[2])", "B[4] = 5"
)
function(
    "numpy object array",
    "N = np.array([types.SimpleNamespace(n=@V@)], object)\n",
    "return N[0].n",
    "N[0].n = 5",
    "N[0] = types.SimpleNamespace(n=5)",
)
function(
    "numpy structured",
    "N = np.array([(0, @V@)], [('a', 'i4'), ('b', 'i4')])\n",
    "return int(N['b'][0])",
    "N['b'][0] = 5",
)
function(
    "numpy dtype by name",
    "D = np.dtype('V@V@')\n",
    "return D.itemsize",
    "D = np.dtype('V5')",
)
function(
    "numpy array's shape",
    "N = np.zeros((@V@, 5))\n",
    "return N.shape[0]",
    "N.shape = (5, 1)",
    "N = np.zeros((5, 1))",
)
function(
    "numpy in a dict",
    "D = {'a': np.full(2, @V@)}\n",
    "return int(D['a'][1])",
    "D['a'][1] = 5",
)
function(
    "numpy in a list in a class",
    "class Cfg:\n    L = [np.full(2, @V@)]\n",
    "return int(Cfg.L[0][1])",
    "Cfg.L[0][1] = 5",
)
# containers
for name, made, read, edit in [
    ("bytearray", "bytearray([@V@])", "X[0]", "X[0] = 5"),
    ("array.array", "__import__('array').array('i', [@V@])", "X[0]", "X[0] = 5"),
    ("memoryview", "memoryview(bytearray([@V@]))", "X[0]", "X[0] = 5"),
    ("deque", "__import__('collections').deque([@V@])", "X[0]", "X[0] = 5"),
    (
        "deque appended",
        "__import__('collections').deque([0] * @V@)",
        "len(X)",
        "X.extend([0] * 4)",
    ),
    (
        "defaultdict",
        "__import__('collections').defaultdict(lambda: 0, a=@V@)",
        "X['a']",
        "X['a'] = 5",
    ),
    (
        "OrderedDict",
        "__import__('collections').OrderedDict(a=@V@)",
        "X['a']",
        "X['a'] = 5",
    ),
    ("Counter", "__import__('collections').Counter(a=@V@)", "X['a']", "X['a'] = 5"),
    (
        "ChainMap",
        "__import__('collections').ChainMap({}, {'a': @V@})",
        "X['a']",
        "X.maps[1]['a'] = 5",
    ),
    ("UserDict", "__import__('collections').UserDict(a=@V@)", "X['a']", "X['a'] = 5"),
    ("UserList", "__import__('collections').UserList([@V@])", "X[0]", "X[0] = 5"),
    ("mappingproxy", "types.MappingProxyType(M0)", "X['a']", "M0['a'] = 5"),
    ("dict view", "M0.values()", "list(X)[0]", "M0['a'] = 5"),
    ("list in a tuple", "((0, [@V@]),)", "X[0][1][0]", "X[0][1][0] = 5"),
    ("dict in a tuple", "({'a': @V@},)", "X[0]['a']", "X[0]['a'] = 5"),
    ("set in a dict", "{'a': {@V@}}", "max(X['a'])", "X['a'].add(5)"),
    ("list of lists", "[[[@V@]]]", "X[0][0][0]", "X[0][0][0] = 5"),
    ("list subclass", "type('L', (list,), {})([@V@])", "X[0]", "X[0] = 5"),
    ("dict subclass", "type('L', (dict,), {})(a=@V@)", "X['a']", "X['a'] = 5"),
    ("set subclass", "type('L', (set,), {})([@V@])", "max(X)", "X.add(5)"),
    (
        "int subclass",
        "type('I', (int,), {})(@V@)",
        "int(X)",
        "X = type('I', (int,), {})(5)",
    ),
    ("int subclass's attribute", "I0", "X.n", "X.n = 5"),
    ("str subclass's attribute", "S0", "X.n", "X.n = 5"),
    ("ctypes struct", "CT(@V@)", "X.n", "X.n = 5"),
    ("ctypes array", "(CTI * 2)(0, @V@)", "X[1]", "X[1] = 5"),
    ("weakref", "WR(O0)", "X().n", "O0.n = 5"),
    ("weak dict", "WD", "X['a'].n", "O0.n = 5"),
    ("Fraction", "FR(@V@, 1)", "int(X)", "X = FR(5, 1)"),
    ("Decimal", "DC(@V@)", "int(X)", "X = DC(5)"),
    ("range", "range(@V@)", "len(X)", "X = range(5)"),
    ("slice", "slice(@V@)", "X.stop", "X = slice(5)"),
    (
        "frozenset of tuples",
        "frozenset([(0, @V@)])",
        "max(X)[1]",
        "X = frozenset([(0, 5)])",
    ),
    ("bound method", "O1.f", "X()", "O1.n = 5"),
    ("bound method of a list", "L0.count", "X(1) * -4 + 5", "L0[0] = 5"),
    ("dict's get", "M0.get", "X('a')", "M0['a'] = 5"),
    ("list's __getitem__", "L0.__getitem__", "X(0)", "L0[0] = 5"),
    ("configparser", "CP", "int(X['s']['n'])", "X['s']['n'] = '5'"),
    ("argparse", "AP(n=@V@)", "X.n", "X.n = 5"),
    ("Path", "PP('a' * @V@)", "len(str(X))", "X = PP('aaaaa')"),
    ("coded bytes", "bytes([@V@])", "X[0]", "X = bytes([5])"),
    (
        "property object in a dict",
        "{'p': property(lambda s: K0)}",
        "X['p'].fget(0)",
        "K0 = 5",
    ),
    (
        "lambda in a list",
        "[lambda: K0]",
        "X[0]()",
        "K0 = 5",
    ),
    ("function's attribute", "F0", "X.n", "F0.n = 5"),
    ("function's attribute by name", "0", "F0.n", "F0.n = 5"),
]:
    before = (
        "import ctypes, weakref, fractions, decimal, configparser, argparse, pathlib\n"
        "K0 = @V@\nM0 = {'a': @V@}\nclass I(int): pass\nI0 = I(3)\nI0.n = @V@\nclass S(str): pass\nS0 = S('x')\nS0.n = @V@\n"
        "class CT(ctypes.Structure):\n    _fields_ = [('n', ctypes.c_int)]\nCTI = ctypes.c_int\nclass O:\n    n = 0\n    def f(self): return self.n\n"
        "O0 = O()\nO0.n = @V@\nWR = weakref.ref\nWD = weakref.WeakValueDictionary()\nWD['a'] = O0\nFR = fractions.Fraction\nDC = decimal.Decimal\nO1 = O()\nO1.n = @V@\nL0 = [@V@]\n"
        "CP = configparser.ConfigParser()\nCP['s'] = {'n': '@V@'}\nAP = argparse.Namespace\nPP = pathlib.Path\ndef F0(): pass\nF0.n = @V@\n"
    )
    function(name, before + f"X = {made}\n", f"return {read}", edit)
# functions
function("generator", "N = @V@\ndef g():\n    yield N\n", "return next(g())", "N = 5")
function(
    "generator expression's global", "N = @V@\n", "return max(N for _ in [0])", "N = 5"
)
function(
    "decorators stacked",
    "N = @V@\ndef d1(f):\n    def g(*a): return f(*a)\n    return g\ndef d2(f):\n    def g(*a): return f(*a)\n    return g\n@d1\n@d2\n@d1\ndef h(): return N\n",
    "return h()",
    "N = 5",
    "h.__closure__[0].cell_contents.__closure__[0].cell_contents.__closure__[0].cell_contents.__code__ = (lambda: 5).__code__",
)
way(
    "constexpr_function above decorators",
    "N = @V@\ndef d1(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g\n@tegula.constexpr_function\n@d1\n@d1\ndef c(): return N\n",
    "c()",
    "N = 5",
)
way(
    "nested constexpr functions",
    "N = @V@\n@tegula.constexpr_function\ndef a(x): return x + N - 1\n@tegula.constexpr_function\ndef b(x): return a(x)\n@tegula.constexpr_function\ndef c(x): return b(x)\n",
    "c(c(1) * 0 + 1)",
    "N = 5",
    "a.fn = lambda x: 5",
)
way(
    "constexpr function of constexpr function given",
    "N = @V@\n@tegula.constexpr_function\ndef a(): return N\n@tegula.constexpr_function\ndef c(f): return f()\n",
    "c(a)",
    "N = 5",
)
function(
    "nested def default", "N = @V@\n", "def f(n=N): return n\n    return f()", "N = 5"
)
function(
    "class in a function",
    "N = @V@\n",
    "class K:\n        n = N\n    return K.n",
    "N = 5",
)
function(
    "nonlocal counter's start",
    "N = [@V@]\n",
    "x = N[-1]\n    def f():\n        nonlocal x\n        return x\n    return f()",
    "N.append(5)",
)
function(
    "try",
    "N = @V@\nclass Err(Exception): pass\ndef r():\n    raise Err(N)\n",
    "try: r()\n    except Err as e: return e.args[0]",
    "N = 5",
)
function(
    "with",
    "import contextlib\nN = @V@\n@contextlib.contextmanager\ndef cm():\n    yield N\n",
    "with cm() as n: return n",
    "N = 5",
)
function(
    "match",
    "N = @V@\n",
    "match N:\n        case 1: return 1\n        case _: return 5",
    "N = 5",
)
function("star args", "A = [@V@]\n", "return (lambda *a: a[0])(*A)", "A[0] = 5")
function("kwargs", "A = {'n': @V@}\n", "return (lambda n: n)(**A)", "A['n'] = 5")
function("f-string", "N = @V@\n", "return int(f'{N}')", "N = 5")
function("global declared", "N = @V@\n", "global N\n    return N", "N = 5")
function(
    "map",
    "N = [@V@]\ndef f(x): return x\n",
    "return list(map(f, N))[0]",
    "N[0] = 5",
    "f = lambda x: 5",
)
function(
    "sorted by a key",
    "N = [1, 5]\nS = 1 if @V@ == 1 else -1\ndef key(x): return x * S\n",
    "return sorted(N, key=key)[0]",
    "S = -1",
)
function(
    "reduce",
    "N = [@V@, 0]\n",
    "return functools.reduce(lambda a, b: a + b, N)",
    "N[0] = 5",
    "N.append(4)",
)
function(
    "recursion",
    "N = @V@\ndef f(n): return N if not n else f(n - 1)\n",
    "return f(3)",
    "N = 5",
)
function(
    "mutual recursion",
    "N = @V@\ndef f(n): return N if not n else g(n - 1)\ndef g(n): return f(n)\n",
    "return f(3)",
    "N = 5",
)
function(
    "wrapped with state",
    "class deco:\n    def __init__(self, f): self.f, self.k = f, @V@\n    def __call__(self): return self.f() * self.k\n@deco\ndef h(): return 1\n",
    "return h()",
    "h.k = 5",
    "h.f = lambda: 5",
)
way(
    "class as a constexpr function",
    "class K:\n    def __init__(self, n): self.n = n + N - 1\nN = @V@\nmk = tegula.constexpr_function(lambda: K(1))\n",
    "mk().n",
    "N = 5",
)
way(
    "static method constexpr",
    "N = @V@\nclass K:\n    @tegula.constexpr_function\n    def f(x): return N\nC = tl.constexpr(K)\n",
    "C.f(0)",
    "N = 5",
)
way(
    "lambda constexpr",
    "N = @V@\nc = tegula.constexpr_function(lambda: N)\n",
    "c()",
    "N = 5",
)
way(
    "lambda constexpr in a tuple",
    "N = @V@\nT = (tegula.constexpr_function(lambda: N),)\n",
    "T[0]()",
    "N = 5",
    "T = (tegula.constexpr_function(lambda: 5),)",
)
way(
    "lambda in a dict",
    "N = @V@\nD = tl.constexpr({'f': tegula.constexpr_function(lambda: N)})\n",
    "D['f']()",
    "N = 5",
    "D.value['f'] = tegula.constexpr_function(lambda: 5)",
)
# jit
HELPER = "@tegula.jit\ndef h(x):\n    return x * 0 + {}\n"
OTHER = HELPER.replace("h(x)", "h5(x)").format(5)
way(
    "helper in an object",
    HELPER.format("@V@")
    + OTHER
    + "class O: pass\no = O()\no.f = h\nC = tl.constexpr(o)\n",
    "C.f(1)",
    "C.value.f = h5",
)
way(
    "helper in a dataclass",
    HELPER.format("@V@")
    + OTHER
    + "@dataclasses.dataclass(frozen=True)\nclass D:\n    f: Any\nC = tl.constexpr(D(h))\n",
    "C.f(1)",
    "object.__setattr__(C.value, 'f', h5)",
    "C = tl.constexpr(D(h5))",
)
way(
    "helper in an enum",
    HELPER.format("@V@")
    + OTHER
    + "class E(enum.Enum):\n    F = (h,)\nC = tl.constexpr(E)\n",
    "C.F.value[0](1)",
    "E.F._value_ = (h5,)",
)
way(
    "named tuple of jit functions",
    HELPER.format("@V@")
    + OTHER
    + "class P(NamedTuple):\n    f: Any\n    g: Any\nT = P(h, h)\n",
    "T.g(1)",
    "T = P(h, h5)",
    "T = T._replace(g=h5)",
)
way(
    "namespace of jit functions",
    HELPER.format("@V@") + OTHER + "C = tl.constexpr(types.SimpleNamespace(f=h))\n",
    "C.f(1)",
    "C.value.f = h5",
)
full(
    "named tuple of jit functions given",
    HELPER.format("@V@")
    + OTHER
    + "class P(NamedTuple):\n    f: Any\n    g: Any\nT = P(h, h)\n@tegula.jit\ndef kernel(out, p: tl.constexpr):\n    tl.store(out, p.g(1))\ndef launch(out): return kernel[(1,)](out, T)\n",
    "T = P(h, h5)",
)
way(
    "reduce's function",
    "@tegula.jit\ndef add(a, b):\n    return a + b\n@tegula.jit\ndef five(a, b):\n    return a * 0 + b * 0 + 5\nif @V@ == 5: add = five\n",
    "tl.reduce(tl.arange(0, 2), 0, add)",
    "add = five",
)
way(
    "reduce's function's global",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef f(a, b):\n    return a * 0 + b * 0 + N\n",
    "tl.reduce(tl.arange(0, 2), 0, f)",
    "N = tl.constexpr(5)",
)
way(
    "map_elementwise's function",
    HELPER.format("@V@") + OTHER,
    "tl.max(tl.map_elementwise(h, tl.arange(0, 2)), 0)",
    "h = h5",
)
way(
    "scan's function's constexpr function",
    "N = @V@\n@tegula.constexpr_function\ndef c(): return N\n@tegula.jit\ndef f(a, b):\n    return a * 0 + b * 0 + c()\n",
    "tl.max(tl.associative_scan(tl.arange(0, 2), 0, f), 0)",
    "N = 5",
)
way(
    "function in a kernel",
    "N = tl.constexpr(@V@)\n",
    "(lambda x: x * 0 + N)(1)",
    "N = tl.constexpr(5)",
)
way(
    "kernel's f-string",
    "N = tl.constexpr(@V@)\nD = tl.constexpr({'1': 1, '5': 5})\n",
    "D[f'{N}']",
    "N = tl.constexpr(5)",
)
way(
    "kernel's comprehension",
    "T = (tl.constexpr(@V@), tl.constexpr(0))\n",
    "[x for x in T][0]",
    "T = (tl.constexpr(5), tl.constexpr(0))",
)
way(
    "isinstance",
    "class A: pass\nclass B: pass\nC = tl.constexpr(A() if @V@ == 1 else B())\nB0 = tl.constexpr(B)\n@tegula.constexpr_function\ndef isb(x, b): return isinstance(x, b)\n",
    "5 if isb(C, B0) else 1",
    "C = tl.constexpr(B())",
    "C.value.__class__ = B",
)
way(
    "hasattr",
    "class A: pass\nif @V@ == 5: A.x = 1\nC = tl.constexpr(A())\n",
    "5 if hasattr(C, 'x') else 1",
    "A.x = 1",
    "C.value.x = 1",
)
way(
    "getattr with a default",
    "class A: pass\nif @V@ == 5: A.x = 5\nC = tl.constexpr(A())\n",
    "getattr(C, 'x', 1)",
    "A.x = 5",
    "C.value.x = 5",
)
way(
    "is",
    "X = None\nif @V@ == 5: X = tl.constexpr(3)\n",
    "1 if X is None else 5",
    "X = tl.constexpr(3)",
)
way(
    "in",
    "T = tl.constexpr((1, 2) if @V@ == 1 else (1, 2, 3))\n",
    "5 if 3 in T else 1",
    "T = tl.constexpr((1, 2, 3))",
)
way(
    "in a set",
    "S = tl.constexpr({1, 2} if @V@ == 1 else {1, 2, 3})\n",
    "5 if 3 in S else 1",
    "S.value.add(3)",
    "S = tl.constexpr({3})",
)
way(
    "in a dict",
    "S = tl.constexpr({1: 0} if @V@ == 1 else {1: 0, 3: 0})\n",
    "5 if 3 in S else 1",
    "S.value[3] = 0",
    "S = tl.constexpr({3: 0})",
)
way(
    "len of a list",
    "S = tl.constexpr([0] * @V@)\n",
    "len(S)",
    "S.value.extend([0] * 4)",
    "S.value += [0] * 4",
)
way(
    "len of a dict",
    "S = tl.constexpr(dict.fromkeys(range(@V@)))\n",
    "len(S)",
    "S.value.update(dict.fromkeys(range(5)))",
)
way(
    "iteration of a list",
    "S = tl.constexpr([0] * @V@)\n@tegula.jit\ndef h(x):\n    for _ in S:\n        x += 1\n    return x\n",
    "h(0)",
    "S.value.extend([0] * 4)",
)
way(
    "iteration of a dict",
    "S = tl.constexpr({'a': @V@})\n@tegula.constexpr_function\ndef c(d): return max(v for k, v in d.items())\n",
    "c(S)",
    "S.value['a'] = 5",
    "S.value['b'] = 5",
)
way(
    "constexpr of constexpr",
    "N = tl.constexpr(tl.constexpr(@V@))\n",
    "N",
    "N = tl.constexpr(tl.constexpr(5))",
)
way(
    "constexpr in an object",
    "C = tl.constexpr(types.SimpleNamespace(n=tl.constexpr(@V@)))\n",
    "C.n",
    "C.value.n = tl.constexpr(5)",
    "C.value.n.value = 5",
)
way(
    "constexpr in a class",
    "class K:\n    n = tl.constexpr(@V@)\nC = tl.constexpr(K)\n",
    "C.n",
    "K.n = tl.constexpr(5)",
    "K.n.value = 5",
)
way(
    "aggregate's class attribute",
    "@tegula.aggregate\nclass G:\n    a: tl.tensor\n    K = tl.constexpr(@V@)\n    def __init__(self, a):\n        self.a = a\n    @tegula.jit\n    def f(self):\n        return self.a * 0 + self.K\n",
    "G(tl.program_id(0)).f()",
    "G.K = tl.constexpr(5)",
)
way(
    "named tuple's class attribute",
    "class P(NamedTuple):\n    a: Any\nP.n = tl.constexpr(@V@)\n",
    "P(1).n",
    "P.n = tl.constexpr(5)",
)
way(
    "named tuple inherits",
    "class B(NamedTuple):\n    a: Any\nclass M:\n    @tegula.jit\n    def f(self): return self.a * 0 + @V@\n    @tegula.jit\n    def g(self): return self.a * 0 + 5\nclass P(M, B): pass\n",
    "P(tl.program_id(0)).f()",
    "M.f = M.g",
    "P.f = M.g",
)
# arguments
ARG = "@tegula.jit\ndef kernel(out, c: tl.constexpr):\n    tl.store(out, {})\ndef launch(out): return kernel[(1,)](out, C)\n"


def given(name: str, before: str, expr: str, *edits: str) -> None:
    full(name, before + ARG.format(expr), *edits)


given(
    "compare=False",
    "@dataclasses.dataclass(frozen=True)\nclass Cfg:\n    n: int = dataclasses.field(compare=False)\nC = Cfg(@V@)\n",
    "c.n",
    "C = Cfg(5)",
)
given(
    "__eq__ says so",
    "class Cfg:\n    def __init__(self, n): self.n = n\n    def __eq__(self, o): return True\n    def __hash__(self): return 0\nC = Cfg(@V@)\n",
    "c.n",
    "C = Cfg(5)",
    "C.n = 5",
)
given(
    "numpy zero",
    "C = np.float64(-0.0 if @V@ == 1 else 0.0)\n",
    "5 if f'{c}' == '0.0' else 1",
    "C = np.float64(0.0)",
)
given(
    "complex zero",
    "C = complex(0.0, -0.0 if @V@ == 1 else 0.0)\n@tegula.constexpr_function\ndef w(c): return 1 if str(c) == '-0j' or '-0' in str(c) else 5\n",
    "w(c)",
    "C = complex(0.0, 0.0)",
)
given(
    "Decimal digits",
    "import decimal\nC = decimal.Decimal('1.0' if @V@ == 1 else '1.0000')\n@tegula.constexpr_function\ndef w(c): return 1 if str(c) == '1.0' else 5\n",
    "w(c)",
    "C = decimal.Decimal('1.0000')",
)
given(
    "ranges",
    "C = range(1, 1) if @V@ == 1 else range(5, 5)\n@tegula.constexpr_function\ndef w(c): return c.start\n",
    "w(c)",
    "C = range(5, 5)",
)
given(
    "frozensets",
    "C = frozenset([1 if @V@ == 1 else True])\n@tegula.constexpr_function\ndef w(c): return 5 if True is list(c)[0] else 1\n",
    "w(c)",
    "C = frozenset([True])",
)
given(
    "frozenset of zeros",
    "C = frozenset([-0.0 if @V@ == 1 else 0.0])\n@tegula.constexpr_function\ndef w(c): return 5 if str(list(c)[0]) == '0.0' else 1\n",
    "w(c)",
    "C = frozenset([0.0])",
)
given(
    "tuple of zeros",
    "C = (1, (-0.0 if @V@ == 1 else 0.0,))\n",
    "5 if f'{c[1][0]}' == '0.0' else 1",
    "C = (1, (0.0,))",
)
given(
    "frozen dataclass of zeros",
    "@dataclasses.dataclass(frozen=True)\nclass Cfg:\n    z: float\nC = Cfg(-0.0 if @V@ == 1 else 0.0)\n",
    "5 if f'{c.z}' == '0.0' else 1",
    "C = Cfg(0.0)",
)
given(
    "frozen dataclass of bool",
    "@dataclasses.dataclass(frozen=True)\nclass Cfg:\n    z: Any\nC = Cfg(1 if @V@ == 1 else True)\n@tegula.constexpr_function\ndef w(c): return 5 if c.z is True else 1\n",
    "w(c)",
    "C = Cfg(True)",
)
given(
    "frozen dataclass's list",
    "@dataclasses.dataclass(frozen=True, eq=False)\nclass Cfg:\n    z: Any\nC = Cfg([@V@])\n@tegula.constexpr_function\ndef w(c): return c.z[0]\n",
    "w(c)",
    "C.z[0] = 5",
)
given(
    "int subclass given",
    "class I(int): pass\nC = I(3)\nC.n = @V@\n@tegula.constexpr_function\ndef w(c): return c.n\n",
    "w(c)",
    "C.n = 5",
    "C = I(3); C.n = 5",
)
given(
    "str subclass given",
    "class I(str): pass\nC = I('a')\nC.n = @V@\n@tegula.constexpr_function\ndef w(c): return c.n\n",
    "w(c)",
    "C.n = 5",
    "C = I('a'); C.n = 5",
)
given(
    "int enum given",
    "class E(enum.IntEnum):\n    A = @V@\nC = E.A\n",
    "c",
    "class E(enum.IntEnum):\n    A = 5\nC = E.A",
)
given(
    "lambda's global given",
    "N = @V@\nC = tegula.constexpr_function(lambda: N)\n",
    "c()",
    "N = 5",
)
given(
    "tuple of objects given",
    "class O: pass\no = O()\no.n = @V@\nC = (o, 1)\n",
    "c[0].n",
    "o.n = 5",
)
given(
    "dtype's subclass",
    "C = tl.int32 if @V@ == 1 else tl.uint32\n",
    "1 if c.is_int_signed() else 5",
    "C = tl.uint32",
)
given("str given", "C = 'a' if @V@ == 1 else 'aaaaa'\n", "len(c)", "C = 'aaaaa'")
given(
    "bytes given",
    "C = b'a' * @V@\n@tegula.constexpr_function\ndef w(c): return len(c)\n",
    "w(c)",
    "C = b'aaaaa'",
)
given("module given", "C = types.ModuleType('m')\nC.N = @V@\n", "c.N", "C.N = 5")
full(
    "default object",
    "class O: pass\no = O()\no.n = @V@\n@tegula.jit\ndef kernel(out, c: tl.constexpr = o):\n    tl.store(out, c.n)\n",
    "o.n = 5",
)
full(
    "kernel's default replaced",
    "@tegula.jit\ndef kernel(out, c: tl.constexpr = @V@):\n    tl.store(out, c)\n",
)
full(
    "kernel's closure",
    "def make():\n    n = tl.constexpr(@V@)\n    @tegula.jit\n    def kernel(out):\n        tl.store(out, n)\n    def change():\n        nonlocal n\n        n = tl.constexpr(5)\n    return kernel, change\nkernel, change = make()\n",
    "change()",
)
full(
    "kernel of a factory",
    "def make(n):\n    @tegula.jit\n    def kernel(out):\n        tl.store(out, n)\n    return kernel\nkernel = make(tl.constexpr(@V@))\n",
    "kernel = make(tl.constexpr(5))",
)
full(
    "kernel of a class",
    "class K:\n    @staticmethod\n    @tegula.jit\n    def kernel(out):\n        tl.store(out, @V@)\n    @staticmethod\n    @tegula.jit\n    def k5(out):\n        tl.store(out, 5)\ndef launch(out): K.kernel[(1,)](out)\n",
    "K.kernel = K.k5",
)
full(
    "private name",
    "class K:\n    __n = @V@\n    @staticmethod\n    @tegula.jit\n    def kernel(out, c: tl.constexpr):\n        tl.store(out, c._K__n)\ndef launch(out): K.kernel[(1,)](out, K)\n",
    "K._K__n = 5",
)
full(
    "autotune's configs",
    "@tegula.autotune([tegula.Config({'n': @V@})], key=[])\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
    "kernel.configs[0].kwargs['n'] = 5",
    "kernel.configs[:] = [tegula.Config({'n': 5})]",
    "kernel.configs = [tegula.Config({'n': 5})]",
)
full(
    "heuristics' values",
    "@tegula.heuristics({'n': lambda a: @V@})\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
    "kernel.values['n'] = lambda a: 5",
)
full("run-time default", "@tegula.jit\ndef kernel(out, n=@V@):\n    tl.store(out, n)\n")
full(
    "bound launcher kept",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef kernel(out):\n    tl.store(out, N)\nbound = kernel[(1,)]\ndef launch(out): return bound(out)\n",
    "N = tl.constexpr(5)",
)
full(
    "run()",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef kernel(out):\n    tl.store(out, N)\ndef launch(out): return kernel.run(out, grid=(1,), warmup=False)\n",
    "N = tl.constexpr(5)",
)
full(
    "helper's class's private constant",
    "class K:\n    N = tl.constexpr(@V@)\n@tegula.jit\ndef kernel(out, k: tl.constexpr):\n    tl.store(out, k.N)\ndef launch(out): return kernel[(1,)](out, K)\n",
    "K.N = tl.constexpr(5)",
    "K.N.value = 5",
)
way(
    "module rebound",
    "m = types.ModuleType('m')\nm.N = tl.constexpr(@V@)\nm5 = types.ModuleType('m')\nm5.N = tl.constexpr(5)\n",
    "m.N",
    "m = m5",
)
function(
    "function's module rebound",
    "m = types.ModuleType('m')\nm.N = @V@\nm5 = types.ModuleType('m')\nm5.N = 5\n",
    "return m.N",
    "m = m5",
)
