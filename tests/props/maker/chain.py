"""Chains of a few operations, element by element, over every value of 8 and 16 bits.

An assembler looks for two or three instructions that it can do as one. Whole kernels of
kernel.py show it hardly any pair; these are nothing else, and meet each with all operands.
"""

from __future__ import annotations

from .case import Case, Param
from .draw import Draw
from .kernel import Kernel, typed
from .scope import BITS, FLOATS, INTS, SIGNED, UNSIGNED, Scope, Var, Want, is_float

N_CHAINS = 12
MAIN = ["int16", "int8", "int32", "uint16", "uint8", "float16", "bfloat16", "uint32"]
MORE = [*MAIN, "int64", "float32", "uint64", "float64"]
HEAD = """\
import tegula
import tegula.language as tl


@tegula.jit
def sound(x):
    return tl.where(x == x, x, 1.0).to(x.dtype)
"""


class Chain(Kernel):
    has_nans = True

    def __init__(self, draw: Draw, n: int) -> None:
        self.block = draw.pick([128, 256, 512, 1024, 2048])
        Scope.__init__(self, draw)
        self.params, self.inputs = {}, []
        self.kinds = [draw.pick(MAIN), draw.pick(MORE)]
        self.n = n

    # ---- leaves ----------------------------------------------------------------------

    def constant(self, dtype: str, whole: bool = True) -> str:
        if dtype in INTS:
            return str(self.edge(dtype))
        return super().constant(dtype, whole)

    def leaf(self, w: Want) -> str:
        d = self.d
        fitting = [
            v.name
            for v in self.vars
            if v.dtype == w.dtype and len(v.shape) == len(w.shape)
        ]
        if not w.shape or d.chance(20):
            return self.full(w)
        if fitting:
            return d.pick(fitting)
        v = d.pick(self.vars)
        if w.dtype == "int1":
            return f"({v.name} {d.pick(['<', '==', '>'])} {self.constant(v.dtype)})"
        return f"{v.name}.to(tl.{w.dtype})"

    def simple(self, w: Want) -> str:
        return self.leaf(w)

    # ---- what is usual in such a chain -----------------------------------------------

    def across(self, w: Want, depth: int) -> str:
        return self.called(w, depth)

    def called(self, w: Want, depth: int) -> str:
        if w.dtype == "int1":
            return self.arith(w, depth)
        if is_float(w.dtype):
            return self.usual_float(w, depth)
        return self.usual_int(w, depth)

    def usual_int(self, w: Want, depth: int) -> str:
        d, t, bits = self.d, w.dtype, BITS[w.dtype]
        a, b, c = (self.expr(w, depth - 1) for _ in range(3))
        k, j = d.below(bits), d.below(bits)
        low, high = sorted((self.edge(t), self.edge(t)))
        extreme = [f"tl.{d.pick(['minimum', 'maximum'])}" for _ in range(2)]
        lowest = "0" if t in UNSIGNED else f"-({a})"
        wide = d.pick([u for u in INTS if BITS[u] >= bits])
        narrow = d.pick(INTS)
        forms = [
            f"{extreme[0]}({extreme[1]}({a}, {b}), {c})",
            f"{extreme[0]}({extreme[1]}(-({a}), -({b})), {c})",
            f"{extreme[0]}({a} + {b}, {c})",
            f"tl.minimum(tl.maximum({a}, {low}), {high})",
            f"tl.maximum({a} - {b}, 0)",
            f"(({a} >> {k}) & {self.constant(t)})",
            f"(({a} << {k}) >> {j})",
            f"(({a} & {self.constant(t)}) << {k})",
            f"({a} * {b} + {c})",
            f"({a} * {self.constant(t)} + {b})",
            f"(({a}.to(tl.{wide}) * {b}.to(tl.{wide})) >> {k})",
            f"({a} < {b}).to(tl.{t}) + {c}",
            f"-({a} == {b}).to(tl.{t})",
            f"tl.where({a} < {b}, {b}, {a})",
            f"tl.where({a} < 0, {lowest}, {a})",
            f"({a} & ({a} - 1))",
            f"(({a} & {b}) | (~({a}) & {c}))",
            f"({a} ^ ({a} >> {bits - 1}))",
            f"(({a} << {k}) | ({b} >> {bits - 1 - k}))",
            f"{a}.to(tl.{narrow}).to(tl.{t})",
            f"(({a} >> {k}).to(tl.{narrow}).to(tl.{t}) + {b})",
            f"({a} {d.pick(['//', '%'])} {self.edge(t) or 7})",
            f"(-(~({a} {d.pick('+-')} {b})))",
        ]
        if t in SIGNED:
            forms += [
                f"tl.abs({a} - {b})",
                f"-tl.abs({a})",
                f"{extreme[0]}(tl.abs({a}), {b})",
                f"(-({a}) >> {k})",
            ]
        return f"({d.pick(forms)}).to(tl.{t})"

    def usual_float(self, w: Want, depth: int) -> str:
        """Of a zero that min or max gives no sign is seen: abs is last."""
        d, t = self.d, w.dtype
        a, b, c = (self.expr(w, depth - 1) for _ in range(3))
        low, high = sorted(
            d.pick([-448.0, -6.0, -1.0, -0.5, 0.25, 1.0, 6.0, 127.0]) for _ in range(2)
        )
        nan = d.pick(["", ", propagate_nan=tl.PropagateNan.ALL"])
        extreme = [f"tl.{d.pick(['minimum', 'maximum'])}" for _ in range(2)]
        small = d.pick(["int8", "uint8", "int16", "uint16", "int32"])
        forms = [
            f"tl.minimum(tl.maximum({a}, {low}{nan}), {high}{nan})",
            f"tl.abs(tl.maximum({a} * {b} + {c}, 0.0{nan}))",
            f"tl.abs({extreme[0]}({extreme[1]}({a}, {b}{nan}), {c}{nan}))",
            f"tl.abs({extreme[0]}(-({a}), -({b}){nan}))",
            f"tl.abs({extreme[0]}({a} + {b}, {c}{nan}))",
            f"({a} - {b} * {c})",
            f"-({a} * {b})",
            f"(-({a}) * {b} + {c})",
            f"-tl.abs({a})",
            f"tl.where({a} < {b}, {a}, {c})",
            f"tl.where({a} {d.pick(['<', '>=', '!=', '=='])} {self.constant(t)}, {b}, 0.0)",
            f"{a}.to(tl.{small}).to(tl.{t})",
            f"{a}.to(tl.float32).to(tl.float8e4nv).to(tl.float32)",
            f"({a}.to(tl.float32) * {b}.to(tl.float32))",
            f"({a}.to(tl.float32) + {self.constant('float32')})",
            f"({a} == {b}).to(tl.{t}) * {c}",
        ]
        return f"({d.pick(forms)}).to(tl.{t})"

    # ---- the whole -------------------------------------------------------------------

    def chains(self) -> Case:
        d, shape = self.d, (self.block,)
        every: list[Param] = []
        for t in dict.fromkeys(self.kinds):
            every += [Param(f"{x}_{t}", "in", t, False, self.n, True) for x in "abc"]
        is_masked = d.chance(30)
        body: list[str] = []
        for p in every:
            masked = f", mask={'i % 3 > 0' if d.chance(50) else 'i >= C * 16'}, other=0"
            at = masked if is_masked and d.chance(60) else ""
            body.append(f"    {p.name} = tl.load({p.name} + i{at})")
            self.vars.append(Var(p.name, p.dtype, shape, whole=False))
        outs: list[Param] = []
        for k in range(N_CHAINS):
            t = d.pick(self.kinds) if d.chance(80) else d.pick([*INTS, *FLOATS])
            text = self.expr(Want(t, shape, whole=False), d.pick([2, 2, 2, 3]))
            outs.append(Param(f"o{k}", "out", t, False, self.n))
            body.append(f"    tl.store(o{k} + i, {text})")
        case = Case(
            "", params=every + outs, n=5, seed=d.below(1000), grid=self.n // self.block
        )
        names = ", ".join(p.name for p in case.params)
        head = [
            "@tegula.jit",
            f"def kernel({names}, n, big, scale, C: tl.constexpr):",
            *typed(case),
            f"    i = tl.program_id(0) * {self.block} + tl.arange(0, {self.block})",
        ]
        case.text = HEAD + "\n\n" + "\n".join(head + body) + "\n"
        case.options = {"C": d.pick([1, 2, 5]), "num_warps": 4}
        return case


def chains(draw: Draw, n: int) -> Case:
    """A kernel of chains over n elements."""
    return Chain(draw, n).chains()
