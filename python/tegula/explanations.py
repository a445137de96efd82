"""``python -m tegula explain CODE``: what stands behind the code of an error."""

from __future__ import annotations

# One for each row of csrc/base/errors.def that a user can meet.
TEXTS = {
    "SYNTAX": (
        "The kernel uses a part of Python that kernels do not have: try, yield, "
        "async, del, classes. A kernel is compiled, so nothing is looked up while it "
        "runs."
    ),
    "NAME": (
        "A name has no value here. It may be misspelt, be assigned in one branch of "
        "an if alone, or in a loop that may run zero times: give it a value ahead of "
        "both."
    ),
    "GLOBAL": (
        "A kernel reads globals as constants of the compile, and only those that say "
        "so: N = tl.constexpr(64). Whatever may change between launches is passed as "
        "an argument."
    ),
    "ATTRIBUTE": (
        "The value has no such method or field. Blocks have those of tl.tensor; what "
        "NumPy and torch call otherwise is named in the help."
    ),
    "ARGUMENT": (
        "A function is called with too many, too few or unknown arguments. The help "
        "shows its signature."
    ),
    "TYPE": (
        "An operation does not work on values of this kind: a float where an integer "
        "is due, a pointer that was not loaded, None, a Python object."
    ),
    "SHAPE": (
        "Two blocks do not fit. As in NumPy sides are compared from the last; 1 "
        "stretches. x[:, None] makes a column, x[None, :] a row. Of a dot the inner "
        "sides are equal."
    ),
    "VALUE": (
        "A value is out of its range, or must be known when the kernel is compiled: "
        "make the parameter a tl.constexpr."
    ),
    "STATIC_ASSERT": (
        "A tl.static_assert is false for these constants. The message shows them."
    ),
    "CONDITION": (
        "An if or while takes one value. Of a block, reduce it (tl.max(x) > 0), or "
        "choose element by element: tl.where(mask, a, b). Combine masks by & and |, "
        "in parentheses."
    ),
    "LOOP_TYPE": (
        "A variable that a loop changes has one type before it and another after a "
        "turn. Start with the final one: acc = tl.zeros((BM, BN), tl.float32), total "
        "= 0.0."
    ),
    "BRANCH_TYPE": (
        "An if gives a variable one type on one side and another on the other. The "
        "machine decides while it runs, so both are one type: x.to(tl.float32)."
    ),
    "RETURN": (
        "A kernel returns nothing: it stores. A helper's returns have one type."
    ),
    "RECURSION": (
        "Functions are inlined, so one that calls itself has no end, unless constants "
        "end it."
    ),
    "TARGET": (
        "The machine that is compiled for lacks this. The kernel may be right for a "
        "newer one."
    ),
    "LIMIT": (
        "The kernel goes beyond what this compiler takes: dims, unrolled steps, sizes."
    ),
    "RESOURCES": (
        "The kernel needs more shared memory or threads than the machine has. Smaller "
        "blocks or fewer num_stages help."
    ),
}


def show(code: str | None) -> int:
    if code is None:
        for name in TEXTS:
            print(name)
        return 0
    name = code.rpartition("[")[2].rstrip("]").upper()
    if name not in TEXTS:
        from tegula.configs import did_you_mean

        print(f"no error has the code {name!r}{did_you_mean(name, TEXTS)}")
        return 1
    print(f"{name}: {TEXTS[name]}")
    return 0
