"""Functions inside of kernels, what they see, and calls with stars."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl

N = tl.constexpr(16)
TARGETS = ["cpu", "emu:sm_80"]


@pytest.fixture(params=TARGETS)
def target(request):
    with tegula.knobs.runtime.scope() as group:
        group.target = request.param
        yield request.param


def run(kernel, *args, n=16, dtype=np.float32):
    out = np.zeros(n, dtype)
    kernel[(1,)](out, *args)
    return out


def test_def_sees_what_is_around_it(target):
    @tegula.jit
    def kernel(out, x, s):
        i = tl.arange(0, N)

        def scaled(p, by=2.0):
            return tl.load(p + i) * by + s

        tl.store(out + i, scaled(x) + scaled(x, by=10.0))

    x = np.arange(16, dtype=np.float32)
    np.testing.assert_array_equal(run(kernel, x, 3), 12 * x + 6)


def test_variables_are_those_of_the_call(target):
    @tegula.jit
    def kernel(out, n):
        s = 1

        def add(v):
            return v + s

        a = add(0)
        s = 10
        b = add(0)
        for k in range(n):
            s += k
            b += add(0)
        if n > 2:
            s = 1000
        tl.store(out, a)
        tl.store(out + 1, b)
        tl.store(out + 2, add(0))

    for n in (0, 2, 5):
        s, b = 10, 10
        for k in range(n):
            s += k
            b += s
        want = [1, b, 1000 if n > 2 else s]
        assert run(kernel, n, n=3, dtype=np.int32).tolist() == want


def test_defaults_are_those_of_the_definition(target):
    @tegula.jit
    def kernel(out, n):
        s = n + 1

        def f(x, *, a=s, b: tl.constexpr = 2):
            return x + a * b

        s = 100
        tl.store(out, f(1))
        tl.store(out + 1, f(1, b=3))
        tl.store(out + 2, f(x=0, a=s))

    assert run(kernel, 4, n=3, dtype=np.int32).tolist() == [11, 16, 200]


def test_lambdas(target):
    @tegula.jit
    def kernel(out, x):
        i = tl.arange(0, N)
        square = lambda v: v * v
        pick = (lambda a, b: a, lambda a, b: b)
        v = tl.load(x + i)
        tl.store(out + i, square(v) + pick[1](v, 1.0) + (lambda: 2.0)())

    x = np.arange(16, dtype=np.float32)
    np.testing.assert_array_equal(run(kernel, x), x * x + 3)


def test_as_combine_functions(target):
    @tegula.jit
    def kernel(out, x, s):
        i = tl.arange(0, N)
        v = tl.load(x + i)

        @tegula.jit
        def add(a, b):
            return a + b

        tl.store(out, tl.reduce(v, 0, lambda a, b: a + b))
        tl.store(out + 1, tl.reduce(v, 0, add))
        c = tl.associative_scan(v, 0, lambda a, b: tl.maximum(a, b))
        tl.store(out + i, tl.map_elementwise(lambda a: a + s if a > 3 else a, c), i > 1)

    x = np.float32([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3])
    got = run(kernel, x, 100)
    run_max = np.maximum.accumulate(x)
    want = np.where(run_max > 3, run_max + 100, run_max)
    want[:2] = x.sum()
    np.testing.assert_allclose(got, want)


def test_a_combine_function_with_a_constant_from_outside(target):
    @tegula.jit
    def kernel(out, x, SCALE: tl.constexpr):
        i = tl.arange(0, N)
        zero = 0.0
        tl.store(out, tl.reduce(tl.load(x + i), 0, lambda a, b: (a + b) * SCALE + zero))

    x = np.ones(16, np.float32)
    assert run(kernel, x, 1)[0] == 16


def test_returned_and_passed_on(target):
    @tegula.jit
    def adder(n):
        twice = 2 * n

        def add(x):
            return x + twice

        return add

    @tegula.jit
    def apply(f, x):
        return f(x)

    @tegula.jit
    def kernel(out, n):
        one, two = adder(1), adder(n)
        tl.store(out, apply(one, 0) + 100 * apply(two, 0))

    assert run(kernel, 4, n=1, dtype=np.int32)[0] == 2 + 800


def test_nested_three_deep_with_control_flow(target):
    @tegula.jit
    def kernel(out, n):
        total = 0

        def outer(a):
            def middle(b):
                return (lambda c: a * 100 + b * 10 + c + n)(b + 1)

            if a > 1:
                return middle(a)
            return middle(0)

        for k in range(4):
            total += outer(k)
        tl.store(out, total)

    def want(n):
        return sum(
            a * 100 + (a if a > 1 else 0) * 10 + (a if a > 1 else 0) + 1 + n
            for a in range(4)
        )

    for n in (0, 7):
        assert run(kernel, n, n=1, dtype=np.int32)[0] == want(n)


def test_a_def_in_a_branch_and_in_a_loop(target):
    @tegula.jit
    def kernel(out, n, FLAG: tl.constexpr):
        if FLAG:

            def f(x):
                return x + 1
        else:

            def f(x):
                return x - 1

        s = 0
        for k in range(n):

            def g(x):
                return f(x) * k  # noqa: B023

            s += g(3)
        tl.store(out, s)

    for flag in (True, False):
        want = sum((4 if flag else 2) * k for k in range(5))
        assert run(kernel, 5, flag, n=1, dtype=np.int32)[0] == want


def test_star_arguments_of_helpers(target):
    @tegula.jit
    def total(first, *rest, scale=1, **more):
        s = first
        for r in rest:
            s += r
        for name in more:
            s += more[name]
        return s * scale + len(rest) * 1000 + len(more) * 10000

    @tegula.jit
    def forward(*args, **kwargs):
        return total(*args, **kwargs)

    @tegula.jit
    def kernel(out, a, b):
        tl.store(out, total(a))
        tl.store(out + 1, forward(a, b, 3, scale=2))
        tl.store(out + 2, forward(a, *(b, 1), **{"extra": b}))  # noqa: PIE804
        options = {"scale": 2, "extra": a}
        tl.store(out + 3, forward(a, **options))

    got = run(kernel, 5, 7, n=4, dtype=np.int32)
    assert got.tolist() == [5, 30 + 2000, 20 + 2000 + 10000, 20 + 10000]


def test_unpacking_with_a_star(target):
    @tegula.jit
    def kernel(out, n):
        t = (n, n + 1, n + 2, n + 3)
        a, *b = t
        *c, d = t
        e, (f, *g), *h = (1, (2, 3), *t)
        tl.store(out, a + 10 * len(b) + 100 * b[2])
        tl.store(out + 1, d + 10 * len(c) + 100 * c[0])
        tl.store(out + 2, e + f + g[0] + len(h))

    assert run(kernel, 1, n=3, dtype=np.int32).tolist() == [431, 134, 10]


def test_membership(target):
    @tegula.jit
    def kernel(out, n, MODE: tl.constexpr):
        if MODE in ("add", "sub"):
            tl.store(out, 1)
        if n in (2, 3, 5):
            tl.store(out + 1, 1)
        if n not in (2, 3, 5):
            tl.store(out + 2, 1)
        tl.store(out + 3, 1 if "x" in {"x": n} else 0)
        tl.store(out + 4, 1 if MODE not in ("mul",) and "a" in MODE else 0)
        tl.store(out + 5, 1 if 2.0 in (1, 2) else 0)

    assert run(kernel, 3, "add", n=6, dtype=np.int32).tolist() == [1, 1, 0, 1, 1, 1]
    assert run(kernel, 4, "mul", n=6, dtype=np.int32).tolist() == [0, 0, 1, 1, 0, 1]


def test_comprehensions(target):
    @tegula.jit
    def kernel(out, a, b):
        t = [x * 10 + y for x in (a, b) for y in (1, 2, 3) if y != 2]
        for k in tl.static_range(4):
            tl.store(out + k, t[k])

    got = run(kernel, 5, 7, n=4, dtype=np.int32)
    assert got.tolist() == [51, 53, 71, 73]


def test_with(target):
    @tegula.aggregate
    class Lock:
        p: tl.tensor
        key: tl.tensor

        def __init__(self, p, key):
            self.p = p
            self.key = key

        @tegula.jit
        def __enter__(self):
            tl.atomic_add(self.p, 1)
            return self.key

        @tegula.jit
        def __exit__(self, type, value, traceback):
            tl.atomic_add(self.p + 1, self.key)

    @tegula.jit
    def body(p, n):
        with Lock(p, 100) as k, Lock(p + 2, k + 1) as j:
            if n > 2:
                return k + j
            tl.atomic_add(p + 4, 1)
        return 7

    @tegula.jit
    def kernel(out, n):
        r = body(out, n)
        for i in range(n):
            with Lock(out + 6, i):
                if i == 1:
                    break
        tl.store(out + 5, r)

    assert run(kernel, 1, n=8, dtype=np.int32).tolist() == [1, 100, 1, 101, 1, 7, 1, 0]
    assert run(kernel, 3, n=8, dtype=np.int32).tolist() == [
        1,
        100,
        1,
        101,
        0,
        201,
        2,
        1,
    ]


def test_each_definition_is_its_own():
    """Two kernels from one text: what the inner function sees is not shared."""

    def make(size):
        size = tl.constexpr(size)

        @tegula.jit
        def kernel(out):
            def f(x):
                return x + size

            tl.store(out, f(1))

        return kernel

    assert [run(make(k), n=1)[0] for k in (1, 2, 3)] == [2, 3, 4]


def test_jit_of_a_lambda(target):
    double = tegula.jit(lambda x: x * 2)
    several = (tegula.jit(lambda a, b=3: a + b), tegula.jit(lambda a: a - 1))
    wide = tegula.jit(
        lambda x, *, by: (
            x * by  # over
            + (1 if by > 2 else 0)
        )
    )

    @tegula.jit
    def kernel(out, F0: tl.constexpr, F1: tl.constexpr):
        tl.store(out, double(F0(1) * 10 + F1(5)))
        tl.store(out + 1, wide(4, by=3))

    got = run(kernel, *several, n=2, dtype=np.int32)
    assert got.tolist() == [88, 13]
    store = tegula.jit(lambda out, n: tl.store(out + n, n))
    assert run(store, 3, n=4, dtype=np.int32)[3] == 3
    assert "lambda" in store.compile("*i32", "i32", target="cuda:sm_80").asm["ptx"]


def test_jit_of_a_lambda_whose_text_cannot_be_told_apart():
    one, two = tegula.jit(lambda: 1), tegula.jit(lambda: 2)
    assert one.cache_key != two.cache_key
    store = lambda x=lambda: -1: (1, -0.0), lambda x=lambda: -1: (1, 0.0)
    assert len({tegula.jit(f).cache_key for f in store}) == 2
    hidden = tegula.jit(eval("lambda out: 1"))
    with pytest.raises(ValueError, match="the source of"):
        assert hidden.cache_key


def test_functions_of_python_over_tuples(target):
    @tegula.jit
    def kernel(out, a, b):
        total = 0
        for i, (x, y) in enumerate(zip((a, b, 5), (1, 2), strict=False), start=1):
            total += i * x * y
        for x in reversed((a, b)):
            total = total * 10 + x
        tl.store(out, total)
        tl.store(out + 1, sum((a, b, 1)) + sum(()) + sum((a,), start=10))
        if any((a > b, b > 100, False)):
            tl.store(out + 2, 1)
        if all((a > 0, True, b > 0)):
            tl.store(out + 3, 1)
        tl.static_assert(any((False, True)) and not all((True, False)))

    total = 3 + 2 * 7 * 2
    total = (total * 10 + 7) * 10 + 3
    assert run(kernel, 3, 7, n=4, dtype=np.int32).tolist() == [total, 24, 0, 1]
    assert run(kernel, 7, 3, n=4, dtype=np.int32)[2:].tolist() == [1, 1]
