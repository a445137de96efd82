"""VALUE: must_use_result of a method, and of one that computes a constant."""

import pytest

import tegula
import tegula.language as tl


@tegula.aggregate
class Square:
    side: tl.tensor

    @tegula.must_use_result
    @tegula.constexpr_function
    def power(self):
        return 2

    @tegula.must_use_result("it is a new tensor")
    @tegula.jit
    def area(self):
        return self.side * self.side


@tegula.jit
def area_dropped(p):
    s = Square(tl.load(p))
    tl.store(p, s.area())
    s.area()


@tegula.jit
def power_dropped(p):
    s = Square(tl.load(p))
    n: tl.constexpr = s.power()
    s.power()
    tl.store(p, n)


def run():
    with pytest.raises(tegula.CompileError) as e:
        area_dropped.lower("*fp32")
    assert (
        e.value.message == "The result of s.area is not being used. it is a new tensor"
    )
    power_dropped.lower("*fp32")


# ----
# value_method_unused.py:35:5: CompileError[VALUE]: The result of s.power is not being used
#     s.power()
#     ^~~~~~~~~
