# ruff: noqa: E501 (sources as texts)
"""More ways for edits.py: state that objects of C's keep, slots of bases, results that are made anew,
values that print alike.
"""

from __future__ import annotations

from edits import HEAD, Way, function, way
from edits_more import WAYS


def full(name: str, source: str, *edits: str) -> None:
    WAYS.append(Way(name, HEAD + source, edits))


OBJECT = "class O: pass\no = O()\no.n = @V@\n"

# ---- what objects of C's hold --------------------------------------------------------------
function(
    "cell", "N = types.CellType(@V@)\n", "return N.cell_contents", "N.cell_contents = 5"
)
function(
    "arguments of an exception",
    "E = Exception(@V@)\n",
    "return E.args[0]",
    "E.args = (5,)",
)
function(
    "arguments of an exception of one's own",
    "class Err(Exception): pass\nE = Err(@V@)\n",
    "return E.args[0]",
    "E.args = (5,)",
)
function(
    "arguments of a value error",
    "E = ValueError(@V@)\n",
    "return E.args[0]",
    "E.args = (5,)",
)
function(
    "exception's attribute", "E = KeyError()\nE.n = @V@\n", "return E.n", "E.n = 5"
)
function(
    "exception's cause",
    "E = Exception()\nE.__cause__ = Exception(@V@)\n",
    "return E.__cause__.args[0]",
    "E.__cause__ = Exception(5)",
)
function("stop's value", "E = StopIteration(@V@)\n", "return E.value", "E.value = 5")
function(
    "frozen set of objects",
    OBJECT + "S = frozenset([o])\n",
    "return list(S)[0].n",
    "o.n = 5",
)
function(
    "slice of an object", OBJECT + "S = slice(o, None)\n", "return S.start.n", "o.n = 5"
)
function(
    "property made again",
    "P = property(lambda: @V@)\n",
    "return P.fget()",
    "P.__init__(lambda: 5)",
)
function(
    "property of a class made again",
    "class O:\n    n = property(lambda s: @V@)\no = O()\n",
    "return o.n",
    "vars(O)['n'].__init__(lambda s: 5)",
)
way(
    "property of a class made again, constexpr",
    "class O:\n    n = property(lambda s: @V@)\nC = tl.constexpr(O())\n",
    "C.n",
    "vars(O)['n'].__init__(lambda s: 5)",
)
function(
    "static method made again",
    "class O:\n    @staticmethod\n    def f(): return @V@\n",
    "return O.f()",
    "vars(O)['f'].__init__(lambda: 5)",
)
function(
    "class method made again",
    "class O:\n    @classmethod\n    def f(cls): return @V@\n",
    "return O.f()",
    "vars(O)['f'].__init__(lambda c: 5)",
)
function(
    "pointer's object",
    "import ctypes\nB = ctypes.c_int(@V@)\nN = ctypes.pointer(B)\n",
    "return N.contents.value",
    "B.value = 5",
    "N[0] = 5",
    "N.contents = ctypes.c_int(5)",
)
function(
    "structure's pointer",
    "import ctypes\nB = ctypes.c_int(@V@)\nclass S(ctypes.Structure):\n    _fields_ = [('p', ctypes.POINTER(ctypes.c_int))]\nN = S(ctypes.pointer(B))\n",
    "return N.p[0]",
    "B.value = 5",
)
function(
    "py_object",
    OBJECT + "import ctypes\nN = ctypes.py_object(o)\n",
    "return N.value.n",
    "o.n = 5",
)
function(
    "element of a ctypes array",
    "import ctypes\nN = (ctypes.c_int * 2)(0, @V@)\n",
    "return N[1]",
    "N[1] = 5",
)
function(
    "ctypes function's restype",
    "import ctypes\nF = ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: @V@)\n",
    "return F()",
    "F = lambda: 5",
)
function(
    "names of a dtype",
    "D = np.dtype([('a', 'i4'), ('b', 'i4')])\nif @V@ == 5: D.names = ('b', 'a')\n",
    "return 1 if D.names[0] == 'a' else 5",
    "D.names = ('b', 'a')",
)
function(
    "array's subclass's attribute",
    "class A(np.ndarray): pass\nN = np.zeros(1).view(A)\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "array's subclass's method",
    "class A(np.ndarray):\n    def f(self): return @V@\nN = np.zeros(1).view(A)\n",
    "return N.f()",
    "A.f = lambda s: 5",
)
function(
    "array's subclass's class attribute",
    "class A(np.ndarray):\n    n = @V@\nN = np.zeros(1).view(A)\n",
    "return N.n",
    "A.n = 5",
    "N.n = 5",
)
function(
    "mask of an array",
    "N = np.ma.array([1, 5], mask=[@V@ == 5, False])\n",
    "return 5 if N.mask[0] else 1",
    "N.mask[0] = True",
    "N[0] = np.ma.masked",
    "N.mask = [True, False]",
)
function(
    "fill value of a masked array",
    "N = np.ma.array([1], mask=[True], fill_value=@V@)\n",
    "return int(N.filled()[0])",
    "N.fill_value = 5",
    "N.set_fill_value(5)",
)
function(
    "flags of an array",
    "N = np.zeros(1)\nN.flags.writeable = @V@ == 1\n",
    "return 1 if N.flags.writeable else 5",
    "N.flags.writeable = False",
    "N.setflags(write=False)",
)
function(
    "array's strides",
    "N = np.array([[1, 5], [5, 1]])\nif @V@ == 5: N.strides = N.strides[::-1]\n",
    "return int(N.strides[1] == 16) * 4 + 1",
    "N.strides = N.strides[::-1]",
)
function(
    "array's type in place",
    "N = np.array([1], 'i4')\nif @V@ == 5: N.dtype = 'f4'\n",
    "return 5 if N.dtype.kind == 'f' else 1",
    "N.dtype = 'f4'",
)
function(
    "array resized",
    "N = np.zeros(@V@)\n",
    "return len(N)",
    "N.resize(5, refcheck=False)",
)
function(
    "array's elements by a view",
    "N = np.zeros(1, 'i4')\nN[0] = @V@\n",
    "return int(N[0])",
    "memoryview(N)[0] = 5",
    "np.copyto(N, 5)",
    "np.put(N, 0, 5)",
    "N.flat[0] = 5",
    "N.view('u4')[:] = 5",
    "N[:1] += 4",
    "np.add(N, 4, out=N)",
)
function(
    "record of an array",
    "A = np.array([(@V@,)], [('n', 'i4')])\nN = A[0]\n",
    "return int(N['n'])",
    "A['n'] = 5",
    "N['n'] = 5",
)
function(
    "recarray",
    "N = np.rec.array([(@V@,)], dtype=[('n', 'i4')])\n",
    "return int(N.n[0])",
    "N.n[0] = 5",
    "N.n = 5",
)
function("matrix", "N = np.matrix([[@V@]])\n", "return int(N[0, 0])", "N[0, 0] = 5")
function(
    "bytes of a class's",
    "class B(bytes): pass\nN = B(b'a')\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "method of bytes of a class's",
    "class B(bytes):\n    def f(self): return @V@\nN = B(b'a')\n",
    "return N.f()",
    "B.f = lambda s: 5",
)
function(
    "element of a bytearray",
    "N = bytearray([@V@])\n",
    "return N[0]",
    "N[0] = 5",
    "N[:] = b'\\x05\\x00'",
)
function(
    "bytearray of a class's",
    "class B(bytearray): pass\nN = B(b'a')\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "element of an array.array",
    "import array\nN = array.array('i', [@V@])\n",
    "return N[0]",
    "N[0] = 5",
    "N.insert(0, 5)",
)
function(
    "array.array of a class's",
    "import array\nclass A(array.array): pass\nN = A('i', [1])\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "bytes of a memoryview",
    "B = bytearray([@V@])\nN = memoryview(B)\n",
    "return N[0]",
    "B[0] = 5",
)
function(
    "random generator",
    "import random\nR = random.Random(@V@)\nT = {random.Random(1).getstate(): 1, random.Random(5).getstate(): 5}\n",
    "return T[R.getstate()]",
    "R.seed(5)",
)
function(
    "compiled pattern",
    "import re\nP = re.compile('a' * @V@)\n",
    "return len(P.pattern)",
    "P = re.compile('aaaaa')",
)
function(
    "weak reference",
    "import weakref\n" + OBJECT + "R = weakref.ref(o)\n",
    "return R().n",
    "o.n = 5",
)
function(
    "item of a weak dict",
    "import weakref\n" + OBJECT + "R = weakref.WeakValueDictionary(a=o)\n",
    "return R['a'].n",
    "o.n = 5",
    "p = O(); p.n = 5; R['a'] = p",
)
function(
    "weak set",
    "import weakref\nclass O: pass\nL = [O() for _ in range(5)]\nR = weakref.WeakSet(L[:@V@])\n",
    "return len(R)",
    "R.update(L)",
)
function(
    "user's list",
    "import collections\nN = collections.UserList([@V@])\n",
    "return N[0]",
    "N[0] = 5",
    "N.data = [5]",
)
function(
    "user's dict",
    "import collections\nN = collections.UserDict(a=@V@)\n",
    "return N['a']",
    "N['a'] = 5",
)
function(
    "counter",
    "import collections\nN = collections.Counter(a=@V@)\n",
    "return N['a']",
    "N['a'] += 4",
    "N.update(a=4)",
)
function(
    "element of a deque",
    "import collections\nN = collections.deque([@V@, 5])\n",
    "return N[0]",
    "N[0] = 5",
    "N.rotate(1)",
)
function(
    "mapping proxy",
    "D = {'a': @V@}\nN = types.MappingProxyType(D)\n",
    "return N['a']",
    "D['a'] = 5",
)
function(
    "view of a dict",
    "D = {'a': @V@}\nN = D.values()\n",
    "return list(N)[0]",
    "D['a'] = 5",
)
function(
    "generic alias",
    OBJECT + "G = types.GenericAlias(list, (o,))\n",
    "return G.__args__[0].n",
    "o.n = 5",
)
function(
    "list of a class's",
    "class L(list): pass\nN = L([1])\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
    "N.__dict__['n'] = 5",
)
function(
    "iterator of a list's class",
    "class L(list):\n    def __iter__(self): return iter([@V@])\nN = L([0])\n",
    "return list(N)[0]",
    "L.__iter__ = lambda s: iter([5])",
)
function(
    "set of a class's",
    "class S(set): pass\nN = S()\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "frozen set of a class's",
    "class S(frozenset): pass\nN = S()\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "dict of a class's",
    "class D(dict): pass\nN = D()\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "tuple of a class's",
    "class T(tuple): pass\nN = T()\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)
function(
    "float of a class's",
    "class F(float): pass\nN = F(0)\nN.n = @V@\n",
    "return N.n",
    "N.n = 5",
)

# ---- functions' own attributes --------------------------------------------------------------
function(
    "attribute of a function",
    "def f(): pass\nf.n = @V@\n",
    "return f.n",
    "f.n = 5",
    "f.__dict__['n'] = 5",
    "f.__dict__ = {'n': 5}",
)
function(
    "function's attribute by another name",
    "def f(): pass\nf.n = @V@\n",
    "g = f\n    return g.n",
    "f.n = 5",
)
function(
    "method's attribute",
    "class O:\n    def f(self): pass\nO.f.n = @V@\no = O()\n",
    "return o.f.n",
    "O.f.n = 5",
)
function(
    "attribute of a function in a list",
    "def f(): pass\nf.n = @V@\nL = [f]\n",
    "return L[0].n",
    "f.n = 5",
)
function(
    "attribute of a function in a closure",
    "def f(): pass\nf.n = @V@\ndef make(g):\n    return lambda: g.n\nh = make(f)\n",
    "return h()",
    "f.n = 5",
)
function(
    "partial's attribute",
    "f = functools.partial(int)\nf.n = @V@\n",
    "return f.n",
    "f.n = 5",
)
function("its own attribute", "", "return c.n", "c.n = 5", "c.__dict__['n'] = 5")
WAYS[-1] = WAYS[-1]._replace(source=WAYS[-1].source + "c.n = @V@\n")
function(
    "attribute of a kernel's helper",
    "@tegula.jit\ndef h(x): return x\nh.n = @V@\n",
    "return h.n",
    "h.n = 5",
)
function(
    "attribute of the helper's function",
    "@tegula.jit\ndef h(x): return x\nh.fn.n = @V@\n",
    "return h.fn.n",
    "h.fn.n = 5",
)
function(
    "parameters of a kernel's helper",
    "@tegula.jit\ndef h(x): return x\n@tegula.jit\ndef h5(x, a, b, c, d): return x\nif @V@ == 5: h = h5\n",
    "return len(h.arg_names)",
    "h = h5",
)
function(
    "partial method's keywords",
    "class O:\n    def f(self, n): return n\n    g = functools.partialmethod(f, n=@V@)\no = O()\n",
    "return o.g()",
    "vars(O)['g'].keywords['n'] = 5",
)
function(
    "cached property's own",
    "K = @V@\nclass O:\n    @functools.cached_property\n    def n(self): return K\no = O()\n",
    "return o.n",
    "o.__dict__['n'] = 5",
    "o.__dict__.pop('n', None); K = 5",
)
function(
    "single dispatch method",
    "class O:\n    @functools.singledispatchmethod\n    def f(self, x): return @V@\no = O()\n",
    "return o.f(1)",
    "O.f.register(int, lambda s, x: 5)",
)
function(
    "comparison of cmp_to_key",
    "S = 1 if @V@ == 1 else -1\ndef cmp(a, b): return (a - b) * S\nkey = functools.cmp_to_key(cmp)\n",
    "return sorted([1, 5], key=key)[0]",
    "S = -1",
)
function(
    "method caller",
    "import operator\nclass O:\n    def f(self): return @V@\no = O()\nget = operator.methodcaller('f')\n",
    "return get(o)",
    "O.f = lambda s: 5",
)
function(
    "attribute getter of a module",
    "import operator\nm = types.ModuleType('m')\nm.N = @V@\nget = operator.attrgetter('N')\n",
    "return get(m)",
    "m.N = 5",
)
function(
    "item getter",
    "import operator\nD = {'a': @V@}\nget = operator.itemgetter('a')\n",
    "return get(D)",
    "D['a'] = 5",
)
function(
    "wrapper's inner function",
    "def deco(f):\n    @functools.wraps(f)\n    def g(): return g.__wrapped__()\n    return g\n@deco\ndef d(): return @V@\n",
    "return d()",
    "d.__wrapped__ = lambda: 5",
)
function(
    "default's function",
    "def d(): return @V@\ndef e(f=d): return f()\n",
    "return e()",
    "d.__code__ = (lambda: 5).__code__",
)
function(
    "keyword default's dict",
    "def e(*, d={'a': @V@}): return d['a']\n",
    "return e()",
    "e.__kwdefaults__['d']['a'] = 5",
)
function(
    "context of exit stack",
    "import contextlib\nN = @V@\n@contextlib.contextmanager\ndef cm(): yield N\n",
    "with contextlib.ExitStack() as s: return s.enter_context(cm())",
    "N = 5",
)
function(
    "operator as an object",
    "class F:\n    def __init__(self): self.n = @V@\n    def __call__(self, *a): return self.n\nclass O:\n    __len__ = F()\no = O()\n",
    "return len(o)",
    "vars(O)['__len__'].n = 5",
    "O.__len__ = lambda s: 5",
)
function(
    "operator as a partial",
    "class O:\n    __add__ = functools.partialmethod(lambda s, o, n: n, n=@V@)\no = O()\n",
    "return o + 1",
    "vars(O)['__add__'].keywords['n'] = 5",
    "O.__add__ = lambda s, o: 5",
)

# ---- slots, names --------------------------------------------------------------------------
SLOTS = "class B:\n    __slots__ = {}\nclass O(B):\n    __slots__ = {}\no = O()\no.n = @V@\n"
function("slot of a base", SLOTS.format("('n',)", "()"), "return o.n", "o.n = 5")
way(
    "slot of a base, constexpr",
    SLOTS.format("('n',)", "()") + "C = tl.constexpr(o)\n",
    "C.n",
    "o.n = 5",
)
function(
    "slot beside a base's", SLOTS.format("('n',)", "('m',)"), "return o.n", "o.n = 5"
)
function(
    "slot beside a dict",
    SLOTS.format("('n',)", "('__dict__',)"),
    "return o.n",
    "o.n = 5",
)
function("one slot's name", SLOTS.format("()", "'n'"), "return o.n", "o.n = 5")
function(
    "slots by a dict", SLOTS.format("()", "{'n': 'text'}"), "return o.n", "o.n = 5"
)
function(
    "private slot",
    "class O:\n    __slots__ = ('__n',)\n    def __init__(self): self.__n = @V@\n    def f(self): return self.__n\no = O()\n",
    "return o.f()",
    "o._O__n = 5",
)
function(
    "empty slot filled",
    "class O:\n    __slots__ = ('n',)\no = O()\nif @V@ == 5: o.n = 5\n",
    "return getattr(o, 'n', 1)",
    "o.n = 5",
)
function(
    "empty slot filled, tried",
    "class O:\n    __slots__ = ('n',)\no = O()\nif @V@ == 5: o.n = 5\n",
    "try: return o.n\n    except AttributeError: return 1",
    "o.n = 5",
)
function(
    "slot's object",
    "class O:\n    __slots__ = ('n',)\no = O()\no.n = O()\no.n.n = @V@\n",
    "return o.n.n",
    "o.n.n = 5",
    "p = O(); p.n = 5; o.n = p",
)
function(
    "list in a slot of a base",
    SLOTS.format("('n',)", "()").replace("= @V@", "= [@V@]"),
    "return o.n[0]",
    "o.n[0] = 5",
)
function(
    "private attribute",
    "class O:\n    def __init__(self): self.__n = @V@\n    def f(self): return self.__n\no = O()\n",
    "return o.f()",
    "o._O__n = 5",
)
function(
    "private class attribute",
    "class O:\n    __n = @V@\n    def f(self): return self.__n\no = O()\n",
    "return o.f()",
    "O._O__n = 5",
)
function(
    "fields of a named tuple",
    "class P(NamedTuple):\n    a: Any\n    b: Any\nif @V@ == 5: P._fields = ('b', 'a')\n",
    "return P(1, 5)._asdict()['a']",
    "P._fields = ('b', 'a')",
)
function(
    "members of an enum",
    "class E(enum.Enum):\n    A = 1\n    B = 5\nif @V@ == 5: E._member_map_['A'] = E.B\n",
    "return E['A'].value",
    "E._member_map_['A'] = E.B",
)
function(
    "enum's value table",
    "class E(enum.Enum):\n    A = 1\n    B = 5\nif @V@ == 5: E._value2member_map_[1] = E.B\n",
    "return E(1).value",
    "E._value2member_map_[1] = E.B",
)
function(
    "enum's order",
    "class E(enum.Enum):\n    A = 1\n    B = 5\nif @V@ == 5: E._member_names_.reverse()\n",
    "return list(E)[0].value",
    "E._member_names_.reverse()",
)
way(
    "enum's member replaced",
    "class E(enum.Enum):\n    A = 1\n    B = 5\nif @V@ == 5: type.__setattr__(E, 'A', E.B)\nC = tl.constexpr(E)\n",
    "C.A.value",
    "type.__setattr__(E, 'A', E.B)",
)
way(
    "enum member's name",
    "class E(enum.Enum):\n    A = 1\nE.A._name_ = 'x' * @V@\nC = tl.constexpr(E)\n",
    "len(C.A.name)",
    "E.A._name_ = 'xxxxx'",
)
way(
    "enum's attribute",
    "class E(enum.Enum):\n    A = 1\n    def __init__(self, v): self.w = [@V@]\nC = tl.constexpr(E)\n",
    "C.A.w[0]",
    "E.A.w[0] = 5",
    "E.A.w = [5]",
)
function(
    "dunder of a class",
    "class O:\n    __match_args__ = ('a', 'b') if @V@ == 1 else ('b', 'a')\n    a, b = 1, 5\no = O()\n",
    "match o:\n        case O(x, y): return x",
    "O.__match_args__ = ('b', 'a')",
)
function(
    "abstract methods",
    "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): pass\nif @V@ == 5: A.__abstractmethods__ = frozenset()\n",
    "try:\n        A(); return 5\n    except TypeError: return 1",
    "A.__abstractmethods__ = frozenset()",
)

# ---- many, and deep ------------------------------------------------------------------------
function(
    "one of many objects",
    "class O: pass\nL = [O() for _ in range(6000)]\nfor x in L: x.n = @V@\n",
    "return L[-1].n",
    "L[-1].n = 5",
)
function(
    "a long chain",
    "class O: pass\no = O()\no.n = @V@\nfor _ in range(70):\n    p = O(); p.p = o; p.n = 0; o = p\n",
    "x = o\n    while x.n == 0: x = x.p\n    return x.n",
    "x = o\nwhile x.n == 0: x = x.p\nx.n = 5",
)
function(
    "deep lists",
    "L = [@V@]\nfor _ in range(70): L = [L]\n",
    "x = L\n    while isinstance(x, list): x = x[0]\n    return x",
    "x = L\nwhile isinstance(x[0], list): x = x[0]\nx[0] = 5",
)
way(
    "deep lists, constexpr",
    "L = [@V@]\nfor _ in range(3): L = [L]\nL = tl.constexpr(L)\n",
    "L[0][0][0][0]",
    "L.value[0][0][0][0] = 5",
    "L.value[0][0] = [[5]]",
)
function(
    "a ring of objects",
    "class O: pass\na, b = O(), O()\na.o, b.o = b, a\na.n, b.n = 0, @V@\n",
    "return a.o.o.o.n",
    "b.n = 5",
)

# ---- results that are made anew --------------------------------------------------------------
MADE = "m = types.ModuleType('m_of_mine')\nimport sys\nsys.modules['m_of_mine'] = m\nm.N = @V@\nclass O:\n    def __init__(self, n): self.n = n\n@dataclasses.dataclass\nclass D:\n    n: Any\n@dataclasses.dataclass(eq=False)\nclass D0:\n    n: Any\nclass P(NamedTuple):\n    n: Any\nclass S:\n    __slots__ = ('n',)\n    def __init__(self, n): self.n = n\n"
for what, made, read in [
    ("a list", "[m.N]", "c()[0]"),
    ("a list of lists", "[[m.N]]", "c()[0][0]"),
    ("a tuple of lists", "([m.N],)", "c()[0][0]"),
    ("a dict of lists", "{'a': [m.N]}", "c()['a'][0]"),
    ("a set", "{m.N}", "5 if 5 in c() else 1"),
    ("a frozen set", "frozenset([m.N])", "5 if 5 in c() else 1"),
    ("an array", "np.array([m.N, 0])", "c()[0]"),
    ("an object", "O(m.N)", "c().n"),
    ("an object with slots", "S(m.N)", "c().n"),
    ("a data class", "D(m.N)", "c().n"),
    ("a data class without ==", "D0(m.N)", "c().n"),
    ("a data class of lists", "D([m.N])", "c().n[0]"),
    ("a named tuple", "P(m.N)", "c().n"),
    ("a namespace", "types.SimpleNamespace(n=m.N)", "c().n"),
    ("a namespace of lists", "types.SimpleNamespace(n=[m.N])", "c().n[0]"),
    ("a constexpr", "tl.constexpr(m.N)", "c()"),
    ("a constexpr of a list", "tl.constexpr([m.N])", "c()[0]"),
    ("a deque", "__import__('collections').deque([m.N])", "c()[0]"),
    ("a bytearray", "bytearray([m.N])", "c()[0]"),
    ("a range", "range(m.N)", "len(c())"),
    (
        "a dtype's name",
        "'int32' if m.N == 1 else 'int64'",
        "5 if c() == 'int64' else 1",
    ),
]:
    way(
        f"made anew: {what}",
        MADE
        + f"@tegula.constexpr_function\ndef c():\n    import m_of_mine as m\n    return {made}\n",
        read,
        "m.N = 5",
    )
way(
    "made anew: a function",
    MADE
    + "@tegula.constexpr_function\ndef c():\n    import m_of_mine as m\n    return tegula.constexpr_function(lambda: m.N)\n",
    "c()()",
    "m.N = 5",
)

# ---- values that print alike ---------------------------------------------------------------------
way(
    "long array",
    "A = np.zeros(5000, 'i4')\nA[2500] = @V@\nA = tl.constexpr(A)\n",
    "A[2500]",
    "A.value[2500] = 5",
    "B = np.zeros(5000, 'i4'); B[2500] = 5; A = tl.constexpr(B)",
    "A.value = A.value.copy(); A.value[2500] = 5",
)
way(
    "digits of an array",
    "A = tl.constexpr(np.array([0.5 if @V@ == 1 else 0.5 + 1e-12]))\n@tegula.constexpr_function\ndef c(a): return 1 if float(a[0]) == 0.5 else 5\n",
    "c(A)",
    "A = tl.constexpr(np.array([0.5 + 1e-12]))",
)
way(
    "field that is not printed",
    "@dataclasses.dataclass\nclass D:\n    n: int = dataclasses.field(repr=False)\nC = tl.constexpr(D(@V@))\n",
    "C.n",
    "C = tl.constexpr(D(5))",
    "C.value = D(5)",
)
way(
    "object that prints nothing",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\nC = tl.constexpr(O(@V@))\n",
    "C.n",
    "C = tl.constexpr(O(5))",
    "C.value = O(5)",
)
function(
    "object that prints nothing in a function",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\no = O(@V@)\n",
    "return o.n",
    "o = O(5)",
)
function(
    "object that prints nothing in a list",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\nL = [O(@V@)]\n",
    "return L[0].n",
    "L[0] = O(5)",
    "L = [O(5)]",
    "L[0].n = 5",
)
function(
    "object that prints nothing in a class",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\nclass K:\n    o = O(@V@)\n",
    "return K.o.n",
    "K.o = O(5)",
)
function(
    "object that prints nothing in a dict",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\nD = {'a': O(@V@)}\n",
    "return D['a'].n",
    "D['a'] = O(5)",
    "D = {'a': O(5)}",
)
function(
    "object that prints nothing in a set",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\nD = {O(@V@)}\n",
    "return list(D)[0].n",
    "D.clear(); D.add(O(5))",
)
way(
    "attribute of an int's class",
    "class I(int): pass\nI5 = I(3)\nI5.n = 5\nC = I(3)\nC.n = @V@\nC = tl.constexpr(C)\n@tegula.constexpr_function\ndef c(i): return i.n\n",
    "c(C)",
    "C = tl.constexpr(I5)",
    "C.value = I5",
)
way(
    "element of another class",
    "class I(int):\n    def __repr__(self): return '1'\nT = tl.constexpr([1] if @V@ == 1 else [I(1)])\n@tegula.constexpr_function\ndef c(t): return 1 if type(t[0]) is int else 5\n",
    "c(T)",
    "T = tl.constexpr([I(1)])",
)
way(
    "keys of another class",
    "class I(str): pass\nT = tl.constexpr({'a': 1} if @V@ == 1 else {I('a'): 1})\n@tegula.constexpr_function\ndef c(t): return 1 if type(list(t)[0]) is str else 5\n",
    "c(T)",
    "T = tl.constexpr({I('a'): 1})",
)
way(
    "names of a named tuple",
    "class P(NamedTuple):\n    a: Any\n    b: Any\n    def __repr__(self): return 'P'\nT = tl.constexpr(P(1, 5) if @V@ == 1 else P(5, 1))\n",
    "T.a",
    "T = tl.constexpr(P(5, 1))",
)

# ---- in a kernel ---------------------------------------------------------------------------------
OP = "K = @V@\nclass O:\n    def {}: return {}\nC = tl.constexpr(O())\n"
for method, value, read in [
    ("__len__(self)", "K", "len(C)"),
    ("__eq__(self, o)", "K == 5", "5 if C == 3 else 1"),
    ("__bool__(self)", "K == 5", "5 if C else 1"),
    ("__contains__(self, o)", "K == 5", "5 if 3 in C else 1"),
    ("__str__(self)", "'x' * K", "len(f'{C}')"),
    ("__format__(self, s)", "'x' * K", "len(f'{C}')"),
    ("__add__(self, o)", "K", "C + 1"),
    ("__neg__(self)", "K", "-C"),
    ("__int__(self)", "K", "int(C)"),
    ("__getitem__(self, i)", "K", "C['a']"),
    ("__lt__(self, o)", "K == 5", "5 if C < 3 else 1"),
]:
    name = method.split("(")[0]
    way(
        f"kernel's operator {name}",
        OP.format(method, value),
        read,
        "K = 5",
        f"O.{name} = lambda *a: {value.replace('K', '5')}",
    )
way(
    "kernel's method call",
    "K = @V@\nclass O:\n    @tegula.constexpr_function\n    def f(self): return K\nC = tl.constexpr(O())\n",
    "C.f()",
    "K = 5",
)
way(
    "kernel's hasattr of a module",
    "m = types.ModuleType('m')\nif @V@ == 5: m.N = 1\n",
    "5 if hasattr(m, 'N') else 1",
    "m.N = 1",
)
way(
    "kernel's getattr of a module",
    "m = types.ModuleType('m')\nif @V@ == 5: m.N = tl.constexpr(5)\n",
    "getattr(m, 'N', 1)",
    "m.N = tl.constexpr(5)",
)
way(
    "constexpr in a tuple",
    "T = (tl.constexpr(0), tl.constexpr(@V@))\n",
    "T[1]",
    "T[1].value = 5",
)
way(
    "constexpr in a named tuple",
    "class P(NamedTuple):\n    a: Any\nT = P(tl.constexpr(@V@))\n",
    "T.a",
    "T.a.value = 5",
)
way(
    "constexpr in a module",
    "m = types.ModuleType('m')\nm.N = tl.constexpr(@V@)\n",
    "m.N",
    "m.N.value = 5",
)
way(
    "constexpr in a list",
    "L = tl.constexpr([tl.constexpr(@V@)])\n",
    "L[0]",
    "L.value[0].value = 5",
)
way(
    "constexpr in a dict",
    "L = tl.constexpr({'a': tl.constexpr(@V@)})\n",
    "L['a']",
    "L.value['a'].value = 5",
)
way(
    "constexpr of a constexpr",
    "N = tl.constexpr(@V@)\nM = tl.constexpr(N)\n",
    "M",
    "M.value = 5",
)
way(
    "constexpr in a helper",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef h(x): return x * 0 + N\n",
    "h(1)",
    "N.value = 5",
)
way(
    "constexpr of a branch",
    "N = tl.constexpr(@V@ == 5)\n",
    "5 if N else 1",
    "N.value = True",
)
way(
    "constexpr of a shape",
    "N = tl.constexpr(@V@ + 3)\n",
    "tl.sum(tl.full((N // 4 * 4,), 1, tl.int32), 0) * 0 + N - 3",
    "N.value = 8",
)
way("constexpr's text", "N = tl.constexpr('a' * @V@)\n", "len(N)", "N.value = 'aaaaa'")
way(
    "constexpr's float",
    "N = tl.constexpr(@V@ + 0.5)\n",
    "int(N - 0.5)",
    "N.value = 5.5",
)
way(
    "constexpr's dtype",
    "N = tl.constexpr(tl.int8 if @V@ == 1 else tl.int64)\n",
    "5 if N.primitive_bitwidth == 64 else 1",
    "N.value = tl.int64",
)
way(
    "constexpr in a closure",
    "def make():\n    n = tl.constexpr(@V@)\n    @tegula.jit\n    def h(x): return x * 0 + n\n    return h, n\nh, inner = make()\n",
    "h(1)",
    "inner.value = 5",
)
way(
    "constexpr in a default",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef h(n: tl.constexpr = N): return n\n",
    "h()",
    "N.value = 5",
)
function(
    "constexpr in a function",
    "N = tl.constexpr(@V@)\n",
    "return N.value",
    "N.value = 5",
    "N = tl.constexpr(5)",
)
function(
    "constexpr in a function, as a number",
    "N = tl.constexpr(@V@)\n",
    "return N + 0",
    "N.value = 5",
)
function(
    "constexpr as a function's default",
    "",
    "return n",
    "c.fn.__defaults__[0].value = 5",
    args="n=tl.constexpr(@V@)",
)
way(
    "constexpr in an aggregate",
    "@tegula.aggregate\nclass G:\n    a: tl.tensor\n    k: tl.constexpr\n    def __init__(self, a, k):\n        self.a = a\n        self.k = k\nN = tl.constexpr(@V@)\n",
    "G(tl.program_id(0), N).k",
    "N.value = 5",
)

# ---- made again, and then changed ------------------------------------------------------------------
AGAIN = "\nkernel[(1,)](np.zeros(1, np.int32))\n"
SILENT = "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\n    def __eq__(self, o): return True\n"
for what, made, read, change in [
    ("constexpr", "N = tl.constexpr({})", "N", "N.value = 5"),
    ("constexpr in a tuple", "N = (None, tl.constexpr({}))", "N[1]", "N[1].value = 5"),
    ("list", "N = tl.constexpr([{}])", "N[0]", "N.value[0] = 5"),
    ("list of lists", "N = tl.constexpr([[{}]])", "N[0][0]", "N.value[0][0] = 5"),
    ("dict", "N = tl.constexpr({{'a': {}}})", "N['a']", "N.value['a'] = 5"),
    ("tuple of lists", "N = tl.constexpr(([{}],))", "N[0][0]", "N.value[0][0] = 5"),
    (
        "namespace",
        "N = tl.constexpr(types.SimpleNamespace(n={}))",
        "N.n",
        "N.value.n = 5",
    ),
    ("silent object", "N = tl.constexpr(O({}))", "N.n", "N.value.n = 5"),
    ("array", "N = tl.constexpr(np.array([{}]))", "N[0]", "N.value[0] = 5"),
    ("class", "class K: n = {}\nN = tl.constexpr(K)", "N.n", "K.n = 5"),
    (
        "function",
        "@tegula.constexpr_function\ndef f(n={}): return n",
        "f()",
        "f.fn.__defaults__ = (5,)",
    ),
]:
    way(
        f"made again: {what}",
        SILENT + made.format("@V@") + "\n",
        read,
        made.format(1) + AGAIN + change,
    )
for what, made, read, change in [
    ("constexpr", "N = tl.constexpr({})", "N.value", "N.value = 5"),
    ("list", "N = [{}]", "N[0]", "N[0] = 5"),
    ("dict", "N = {{'a': {}}}", "N['a']", "N['a'] = 5"),
    ("set", "N = {{{}}}", "list(N)[0]", "N.clear(); N.add(5)"),
    ("silent object", "N = O({})", "N.n", "N.n = 5"),
    ("list of silent objects", "N = [O({})]", "N[0].n", "N[0].n = 5"),
    (
        "dict of constexprs",
        "N = {{'a': tl.constexpr({})}}",
        "N['a'].value",
        "N['a'].value = 5",
    ),
    ("array", "N = np.array([{}])", "int(N[0])", "N[0] = 5"),
    (
        "array in a dict",
        "N = {{'a': np.array([{}])}}",
        "int(N['a'][0])",
        "N['a'][0] = 5",
    ),
    ("attribute", "o.n = [{}]", "o.n[0]", "o.n[0] = 5"),
    ("item", "D['a'] = [{}]", "D['a'][0]", "D['a'][0] = 5"),
    (
        "item's constexpr",
        "D['a'] = tl.constexpr({})",
        "D['a'].value",
        "D['a'].value = 5",
    ),
    ("element", "L[0] = [{}]", "L[0][0]", "L[0][0] = 5"),
    ("class attribute", "K.n = [{}]", "K.n[0]", "K.n[0] = 5"),
    ("default", "f.__defaults__ = ([{}],)", "f()[0]", "f.__defaults__[0][0] = 5"),
    ("slot", "s.n = [{}]", "s.n[0]", "s.n[0] = 5"),
    (
        "cell",
        "c5.cell_contents = [{}]",
        "c5.cell_contents[0]",
        "c5.cell_contents[0] = 5",
    ),
]:
    function(
        f"made again in a function: {what}",
        SILENT
        + "o, D, L, c5 = O(0), {}, [0], types.CellType()\nclass K: pass\ndef f(n=0): return n\nclass S:\n    __slots__ = ('n',)\ns = S()\n"
        + made.format("@V@")
        + "\n",
        f"return {read}",
        made.format(1) + AGAIN + change,
    )

# ---- arguments -----------------------------------------------------------------------------------
ARG = "@tegula.jit\ndef kernel(out, c: tl.constexpr):\n    tl.store(out, {})\ndef launch(out): return kernel[(1,)](out, C)\n"


def given(name: str, before: str, expr: str, *edits: str) -> None:
    full(name, before + ARG.format(expr), *edits)


READ = "@tegula.constexpr_function\ndef w(c): return {}\n"
given("constexpr given", "C = tl.constexpr(@V@)\n", "c", "C.value = 5")
given(
    "tuple of constexprs given",
    "C = (tl.constexpr(0), tl.constexpr(@V@))\n",
    "c[1]",
    "C[1].value = 5",
)
given(
    "slots given",
    "class O:\n    __slots__ = ('n',)\nC = O()\nC.n = @V@\n",
    "c.n",
    "C.n = 5",
)
given(
    "slots of a base given", SLOTS.format("('n',)", "()") + "C = o\n", "c.n", "C.n = 5"
)
given(
    "object's property given",
    "K = @V@\nclass O:\n    @property\n    def n(self): return K\nC = O()\n",
    "c.n",
    "K = 5",
    "O.n = property(lambda s: 5)",
)
given(
    "object that prints nothing given",
    "class O:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'O'\n    def __eq__(self, o): return True\n    def __hash__(self): return 0\nC = O(@V@)\n",
    "c.n",
    "C = O(5)",
    "C.n = 5",
)
given(
    "repr=False given",
    "@dataclasses.dataclass(frozen=True)\nclass D:\n    n: int = dataclasses.field(repr=False, compare=False)\nC = D(@V@)\n",
    "c.n",
    "C = D(5)",
)
given(
    "default list",
    "L = [@V@]\nclass O:\n    n = L\nC = O()\n",
    "c.n[0]",
    "L[0] = 5",
    "O.n = [5]",
)
full(
    "default constexpr itself",
    "@tegula.jit\ndef kernel(out, c: tl.constexpr = tl.constexpr(@V@)):\n    tl.store(out, c)\n",
    "kernel.fn.__defaults__[0].value = 5",
)
full(
    "named tuple with an object",
    "class O: pass\no = O()\no.n = @V@\nclass P(NamedTuple):\n    a: Any\n    b: Any\n@tegula.jit\ndef kernel(out, p):\n    tl.store(out, p.b.n)\ndef launch(out): return kernel[(1,)](out, P(3, tl.constexpr(o)))\n",
    "o.n = 5",
)
full(
    "constexpr in a tuple given",
    "N = tl.constexpr(@V@)\nT = (3, N)\n@tegula.jit\ndef kernel(out, t):\n    tl.store(out, t[1])\ndef launch(out): return kernel[(1,)](out, T)\n",
    "N.value = 5",
)
full(
    "constexpr given as a number",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef kernel(out, n):\n    tl.store(out, n)\ndef launch(out): return kernel[(1,)](out, N)\n",
    "N.value = 5",
)
full(
    "keyword constexpr given",
    "N = tl.constexpr(@V@)\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\ndef launch(out): return kernel[(1,)](out, n=N)\n",
    "N.value = 5",
)
full(
    "function of a heuristic's object",
    "class O: pass\no = O()\no.n = @V@\n@tegula.heuristics({'n': lambda args: o.n})\n@tegula.jit\ndef kernel(out, n: tl.constexpr):\n    tl.store(out, n)\n",
    "o.n = 5",
)

# ---- what a call changes of what it reads: its own notes -------------------------------------
function(
    "object's memo",
    "class O:\n    k = @V@\n    m = None\n    def f(self):\n        if self.m is None: self.m = self.k\n        return self.m\no = O()\n",
    "return o.f()",
    "o.m = 5",
    "O.k = 5; o.m = None",
    "O.k = 5; del o.m",
)
function(
    "table of results",
    "N = @V@\nT = {}\n",
    "if 0 not in T: T[0] = N\n    return T[0]",
    "T[0] = 5",
    "N = 5; T.clear()",
)
function(
    "list of results",
    "N = @V@\nT = []\n",
    "if not T: T.append(N)\n    return T[0]",
    "T[0] = 5",
    "N = 5; del T[0]",
)
function(
    "global memo",
    "N = @V@\nT = None\n",
    "global T\n    if T is None: T = N\n    return T",
    "T = 5",
    "N = 5; T = None",
)
function(
    "nonlocal memo",
    "N = @V@\ndef make():\n    m = None\n    def f():\n        nonlocal m\n        if m is None: m = N\n        return m\n    def clear():\n        nonlocal m\n        m = None\n    return f, clear\nf, clear = make()\n",
    "return f()",
    "N = 5; clear()",
)
function(
    "slot's memo",
    "class O:\n    __slots__ = ('m', 'k')\no = O()\no.k, o.m = @V@, None\n",
    "if o.m is None: o.m = o.k\n    return o.m",
    "o.m = 5",
    "o.k = 5; o.m = None",
)
function(
    "object beside a count of calls",
    OBJECT + "o.calls = 0\n",
    "o.calls += 1\n    return o.n",
    "o.n = 5",
)
function(
    "global beside a count of calls",
    "N = @V@\ncalls = 0\n",
    "global calls\n    calls += 1\n    return N",
    "N = 5",
)
function(
    "list with a count of calls",
    "L = [0, @V@]\n",
    "L[0] += 1\n    return L[1]",
    "L[1] = 5",
)
function(
    "array with a count of calls",
    "A = np.array([@V@, 0])\n",
    "A[1] += 1\n    return int(A[0])",
    "A[0] = 5",
)
function(
    "table of a class",
    "N = @V@\nclass R:\n    items = {}\n    @classmethod\n    def get(cls): return cls.items.setdefault('a', N)\n",
    "return R.get()",
    "R.items['a'] = 5",
    "N = 5; R.items.clear()",
)
way(
    "object whose calls another function counts",
    OBJECT
    + "o.calls = 0\n@tegula.constexpr_function\ndef c(): return o.n\n@tegula.constexpr_function\ndef d():\n    o.calls += 1\n    return 0\n",
    "c() + d()",
    "o.n = 5",
)
way(
    "memo of another function",
    "N = @V@\nT = {}\n@tegula.constexpr_function\ndef c(i):\n    if i not in T: T[i] = N\n    return T[i]\n",
    "c(0) * 3 - c(1) * 2",
    "N = 5; T.clear()",
    "T[0] = T[1] = 5",
    "T.update({0: 5, 1: 5})",
)
way(
    "cached property beside what another function reads",
    "class O:\n    k = @V@\n    @functools.cached_property\n    def n(self): return self.k\n    def f(self): return self.k\no = O()\n@tegula.constexpr_function\ndef c(): return o.f()\n@tegula.constexpr_function\ndef d(): return o.n\n",
    "c() * 2 - d()",
    "O.k = 5; del o.n",
    "o.k = 5; del o.n",
)


def with_tensor(name: str, before: str, body: str, *edits: str) -> None:
    """What a function of constants reads that is given a tensor, too."""
    full(
        name,
        before
        + f"@tegula.constexpr_function\ndef c(x):\n    {body}\n@tegula.jit\ndef kernel(out):\n    tl.store(out, c(tl.program_id(0)))\n",
        *edits,
    )


with_tensor(
    "environment of a function that is given a tensor",
    "import os\nos.environ['EDITED_N'] = '@V@'\n",
    "return int(os.environ['EDITED_N'])",
    "os.environ['EDITED_N'] = '5'",
)
with_tensor(
    "list with a count of calls of a function that is given a tensor",
    "L = [@V@, 0]\n",
    "L[1] += 1\n    return L[0]",
    "L[0] = 5",
)
with_tensor(
    "array with a count of calls of a function that is given a tensor",
    "A = np.array([@V@, 0])\n",
    "A[1] += 1\n    return int(A[0])",
    "A[0] = 5",
)
with_tensor(
    "cached property of a function that is given a tensor",
    "class O:\n    k = @V@\n    @functools.cached_property\n    def n(self): return self.k\no = O()\n",
    "return o.n",
    "o.n = 5",
    "O.k = 5; del o.n",
)
with_tensor(
    "count of calls of a function that is given a tensor",
    OBJECT + "o.calls = 0\n",
    "o.calls += 1\n    return o.n",
    "o.n = 5",
)

# ---- what Python's library finds by itself ---------------------------------------------------
function(
    "copy by copyreg",
    OBJECT + "import copy, copyreg\n",
    "return copy.copy(o).n",
    "copyreg.pickle(O, lambda r: (types.SimpleNamespace, (), {'n': 5}))",
    "O.__copy__ = lambda s: types.SimpleNamespace(n=5)",
    "o.n = 5",
)
function(
    "deep copy",
    OBJECT + "import copy\no.p = O()\no.p.n = @V@\n",
    "return copy.deepcopy(o).p.n",
    "O.__deepcopy__ = lambda s, memo: types.SimpleNamespace(p=s, n=5)\no.n = 5",
    "o.p.n = 5",
)
function(
    "type hints",
    "import typing\nclass P:\n    n: int if @V@ == 1 else float\n",
    "return 5 if typing.get_type_hints(P)['n'] is float else 1",
    "P.__annotations__['n'] = float",
)
function(
    "type hints by a name",
    "import typing\nT = int if @V@ == 1 else float\nclass P:\n    n: 'T'\n",
    "return 5 if typing.get_type_hints(P)['n'] is float else 1",
    "T = float",
)
function(
    "part of a fraction",
    "import fractions\nF = fractions.Fraction(@V@)\n",
    "return F.numerator",
    "F._numerator = 5",
    "F = fractions.Fraction(5)",
)
function(
    "fraction's floor",
    "import fractions\nF = fractions.Fraction(@V@)\n",
    "return int(F)",
    "F._numerator = 5",
)
