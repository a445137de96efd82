"""What can be raised. Each class says whose fault it is.

Triton's names stand beside ours, so ``except triton.CompilationError`` keeps working.
"""

from __future__ import annotations

import sys
from typing import Any


class TegulaError(Exception):
    """The root of all of them.

    >>> issubclass(tegula.CompileError, tegula.TegulaError)
    True
    """


class CompileError(TegulaError):
    """A kernel cannot be compiled. ``str(e)`` has the file, the line and a caret.

    code      the row of errors.def: SHAPE, TYPE, NAME, ...
    message   the one line without place and code
    filename, lineno, offset   the place; both from 1, as in SyntaxError
    help      what to write instead, or None

    >>> @tegula.jit
    ... def double(x_ptr):
    ...     tl.store(x_ptr, tl.laod(x_ptr) * 2)
    >>> try:
    ...     done = double.compile("*fp32")
    ... except tegula.CompileError as e:
    ...     mistake = e
    >>> mistake.code, mistake.offset, mistake.help
    ('ATTRIBUTE', 21, "did you mean 'load'?")
    """

    def __init__(
        self,
        text: str = "",
        code: str = "",
        message: str = "",
        filename: str | None = None,
        lineno: int | None = None,
        offset: int | None = None,
        help: str | None = None,
    ) -> None:
        # All of them in args: an exception travels between processes by its args.
        super().__init__(text, code, message, filename, lineno, offset, help)
        self.text = text
        self.code = code
        self.message = message or text
        self.filename = filename
        self.lineno = lineno
        self.offset = offset
        self.help = help

    def __str__(self) -> str:
        return self.text

    @property
    def error_message(self) -> str:
        """Triton's name for ``message``."""
        return self.message

    @property
    def src(self) -> str | None:
        """The function where it is, from ``def`` on; None where its text is not known."""
        return self._function()[0]

    @property
    def node(self) -> Any:
        """What is wrong there, a node of ``ast.parse(e.src)``; or None."""
        import ast

        src, first, indent = self._function()
        if src is None or self.lineno is None or self.offset is None:
            return None
        place = self.lineno - first + 1, self.offset - 1 - indent
        at = [
            n
            for n in ast.walk(ast.parse(src))
            if (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)) == place
        ]
        return at[0] if at else None

    def _function(self) -> tuple[str | None, int, int]:
        """The text of the function around the place, its first line and indentation."""
        import ast
        import linecache
        import textwrap

        lines = linecache.getlines(self.filename or "")
        line = self.lineno or 0
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            return None, 0, 0
        around = [
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.FunctionDef)
            and n.lineno <= line <= (n.end_lineno or 0)
        ]
        if not around:
            return None, 0, 0
        n = max(around, key=lambda n: n.lineno)
        text = textwrap.dedent("".join(lines[n.lineno - 1 : n.end_lineno]))
        return text, n.lineno, n.col_offset


class UnsupportedLanguageConstruct(CompileError):
    """The kernel uses Python that is not part of the language."""


class CompileTimeAssertionFailure(CompileError):
    """A ``tl.static_assert`` is false."""


class UnsupportedError(CompileError):
    """The kernel is right and we cannot compile it, or not for this machine."""


class InternalError(CompileError):
    """Our fault. The text names the .tir file to send with a report."""


class OutOfResources(TegulaError):
    """The kernel needs more of something than the machine has: required, limit and name.

    >>> str(tegula.OutOfResources(300000, 232448, "shared memory"))[:55]
    'out of resource: shared memory, Required: 300000, Hardw'
    """

    def __init__(self, required: int, limit: int, name: str) -> None:
        super().__init__(required, limit, name)
        self.required = required
        self.limit = limit
        self.name = name

    def __str__(self) -> str:
        needs = f"out of resource: {self.name}, Required: {self.required}, "
        if self.name in (
            "registers of a thread",
            "local memory of a thread",
            "instructions",
        ):
            advice = "Smaller blocks or more `num_warps` may help."
            return f"{needs}Limit: {self.limit}. {advice}"
        less = (
            "`num_warps`" if self.name == "threads" else "block sizes or `num_stages`"
        )
        return f"{needs}Hardware limit: {self.limit}. Reducing {less} may help."


class PTXASError(TegulaError):
    """ptxas refused the PTX, or could not be run. The text is its own."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message or ""


class AutotunerError(TegulaError):
    """No configuration is left to try."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message or ""


class GridError(TegulaError, ValueError, RuntimeError):
    """The GPU takes no grid of such sides.

    A ValueError, for that is what it is; and a RuntimeError, as everything that CUDA
    refuses is one for programs written for Triton.
    """


class EmulatorError(TegulaError):
    """A kernel broke a rule of the machine while it ran on the emulator.

    kind       RACE, UNWRITTEN, BOUNDS, READ_ONLY, BARRIER, ASSERT, MISALIGNED
    filename, lineno, offset   the place in the kernel; both from 1
    program_id, thread         who did it

    >>> @tegula.jit
    ... def beyond(x_ptr):
    ...     tl.store(x_ptr + 64 * tl.program_id(0), 1.0)
    >>> try:
    ...     with tegula.knobs.runtime.scope():
    ...         tegula.knobs.runtime.target = "emu:sm_80"
    ...         done = beyond[(2,)](np.zeros(64, np.float32))
    ... except tegula.EmulatorError as e:
    ...     mistake = e
    >>> mistake.kind, mistake.program_id
    ('BOUNDS', (1, 0, 0))
    """

    kind = ""

    def __init__(
        self,
        text: str = "",
        message: str = "",
        filename: str | None = None,
        lineno: int | None = None,
        offset: int | None = None,
        program_id: tuple[int, int, int] = (0, 0, 0),
        thread: int = 0,
    ) -> None:
        super().__init__(text, message, filename, lineno, offset, program_id, thread)
        self.text = text
        self.message = message or text
        self.filename = filename
        self.lineno = lineno
        self.offset = offset
        self.program_id = program_id
        self.thread = thread

    def __str__(self) -> str:
        return self.text


class RaceError(EmulatorError):
    """Two threads use the same shared memory without a barrier between them."""

    kind = "RACE"


class UnwrittenError(EmulatorError):
    """Shared memory is read that nobody has written."""

    kind = "UNWRITTEN"


class OutOfBoundsError(EmulatorError):
    """An access lies outside of the tensors of the launch.

    The emulator always looks. On the CPU the first launch of new code does, where a stray
    load from memory that is there is only a warning; ``TEGULA_CHECK_BOUNDS=1`` looks at all
    launches, ``0`` at none. A view of a torch tensor reaches as far as its storage.
    """

    kind = "BOUNDS"


class ReadOnlyError(EmulatorError):
    """A store goes to a tensor that may not be written."""

    kind = "READ_ONLY"


class BarrierError(EmulatorError):
    """Not all threads reach the same barrier."""

    kind = "BARRIER"


class DeviceAssertError(EmulatorError, RuntimeError):
    """A ``tl.device_assert`` is false, on the emulator or a CPU.

    A RuntimeError, as what torch raises for one on a GPU is.
    """

    kind = "ASSERT"


class MisalignedError(EmulatorError):
    """An access is wider than its address is aligned."""

    kind = "MISALIGNED"


class InterpreterError(EmulatorError, RuntimeError):
    """A kernel failed in the reference interpreter.

    A false ``device_assert`` is a DeviceAssertError as well, an access outside of the
    tensors an OutOfBoundsError. The traceback ends at the line of the kernel, and its
    frames have the kernel's variables: ``pdb.pm()``.

    >>> @tegula.jit(interpret=True)
    ... def beyond(x_ptr):
    ...     tl.store(x_ptr + 64, 1.0)
    >>> try:
    ...     done = beyond[(1,)](np.zeros(64, np.float32))
    ... except tegula.InterpreterError as e:
    ...     mistake = e
    >>> mistake.kind, type(mistake).__name__
    ('BOUNDS', 'InterpretedOutOfBoundsError')
    """

    @property
    def error_message(self) -> str | None:
        return self.text or None


class InterpretedAssertError(InterpreterError, DeviceAssertError):
    """The two in one."""

    kind = "ASSERT"


class InterpretedOutOfBoundsError(InterpreterError, OutOfBoundsError):
    """The two in one."""

    kind = "BOUNDS"


def interpreter_error(
    kind: str,
    text: str,
    message: str,
    filename: str | None,
    lineno: int,
    offset: int,
    program_id: tuple[int, int, int],
) -> InterpreterError:
    """The exception for what ended a run; ``stepping.c`` calls this."""
    cls = {"ASSERT": InterpretedAssertError, "BOUNDS": InterpretedOutOfBoundsError}
    made = cls.get(kind, InterpreterError)
    return made(text, message, filename, lineno, offset, program_id, -1)


_BY_FAULT_KIND: dict[str, type[EmulatorError]] = {
    cls.kind: cls
    for cls in (
        RaceError,
        UnwrittenError,
        OutOfBoundsError,
        ReadOnlyError,
        BarrierError,
        DeviceAssertError,
        MisalignedError,
    )
}


def emulator_error(
    kind: str,
    message: str,
    kernel: str,
    filename: str | None,
    function: str | None,
    lineno: int,
    offset: int,
    program_id: tuple[int, int, int],
    thread: int,
) -> EmulatorError:
    """The exception for a report of the emulator, or of a check on the CPU.

    ``host_launch.c`` calls this.
    """
    import linecache

    cls = _BY_FAULT_KIND.get(kind, EmulatorError)
    lines = [f"{cls.__name__}: {message}"]
    if filename and lineno > 0:
        lines[0] = f"{filename}:{lineno}:{offset}: {lines[0]}"
        source = linecache.getline(filename, lineno).rstrip()
        if source:
            lines += [source, " " * (offset - 1) + "^"]
    where = f" in {function}()" if function and function != kernel else ""
    who = f", thread {thread}" if thread >= 0 else ""
    lines[0] = _with_cells(lines[0], filename)
    lines.append(f"  program {program_id}{who} of {kernel}(){where}")
    if cls is OutOfBoundsError and " of element " in message:
        lines.append(
            "  help: leave out what lies outside: mask=i < n, where i is added to the "
            "pointer"
        )
    return cls("\n".join(lines), message, filename, lineno, offset, program_id, thread)


def _with_cells(text: str, *files: str | None) -> str:
    """The text, with "Cell In[3]" for the file of a cell, as IPython shows it."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    for file in {f for f in files if f and shell}:
        try:
            label = shell.compile.format_code_name(file)
        except Exception:  # another shell's
            continue
        text = text.replace(f"{file}:", f"{' '.join(label)}:") if label else text
    return text


def _is_for_triton() -> bool:
    """Does the program import Triton, and mean this package?"""
    compat = sys.modules.get("tegula.compat")
    return bool(compat and compat.is_installed())


# What the functions of Triton's language raise; its CompilationError is caused by that.
_CAUSES: dict[str, type[Exception]] = {
    "ARGUMENT": TypeError,
    "TYPE": TypeError,
    "SHAPE": ValueError,
    "VALUE": ValueError,
}


def _cause(exc: CompileError, is_nested: bool) -> Exception | None:
    """For programs that import Triton and look at ``e.__cause__``: the bare error, or, of a
    call in the kernel, the error in what it calls.

    Others see their line and the text once, and no chain of exceptions around them.
    """
    kind = _CAUSES.get(exc.code)
    return kind(exc.message) if kind else type(exc)(*exc.args) if is_nested else None


def _place_in_function(exc: CompileError, function: str) -> str:
    """The place as Triton tells it, for programs that look for that: lines are counted
    from ``def``, from 1, columns from 0. A line of its own, or nothing."""
    src, first, indent = exc._function()
    if src is None or exc.lineno is None or exc.offset is None:
        return ""
    at = f"at {exc.lineno - first + 1}:{exc.offset - 1 - indent}:"
    return f"\n  {at} of {function}()"


_BY_CODE: dict[str, type[CompileError]] = {
    "SYNTAX": UnsupportedLanguageConstruct,
    "STATIC_ASSERT": CompileTimeAssertionFailure,
}
_BY_FAULT: dict[str, type[CompileError]] = {
    "USER": CompileError,
    "LIMIT": UnsupportedError,
    "BUG": InternalError,
}


def compile_error(
    fault: str,
    code: str,
    text: str,
    span: tuple[str, int, int, int, list[tuple[str, str, int, int]]] | None,
    *place: Any,
) -> CompileError:
    """The exception for a row of errors.def; ``runtime/raise.c`` calls this.

    fault is the row's class (USER, LIMIT, BUG); place is message, filename, lineno,
    offset, help; span is the function, the rest of what the caret is drawn from, and the
    calls that lead there, the innermost first: function, filename, lineno, offset.
    """
    cls = _BY_CODE.get(code) or _BY_FAULT[fault]
    text = _with_cells(text, place[1], *(c[1] for c in (span[4] if span else ())))
    exc = cls(text, code, *place)
    if _is_for_triton():
        name, callers = (span[0], span[4]) if span else ("", [])
        inner = cls(text + _place_in_function(exc, name), code, *place)
        for function, file, line, at in reversed(
            callers
        ):  # as Triton: the kernel first
            text += _place_in_function(cls("", "", "", file, line, at), function)
        exc = cls(text + _place_in_function(exc, name), code, *place)
        exc.__cause__ = _cause(inner, bool(callers))
    if span and exc.filename and exc.lineno and exc.lineno > 0:
        _leave_kernel(exc, exc.filename, (exc.lineno, *span[1:4]), span[0])
    return exc


_SPAN = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def _leave_kernel(
    exc: CompileError, filename: str, span: tuple[int, int, int, int], name: str
) -> None:
    """Gives exc a traceback that ends at its place in the kernel.

    Python shows that line and debuggers stop there. A frame cannot be made, only left: so
    a function that is compiled for that very place raises exc. IPython shows its qualified
    name, and numbers lines from its first one.
    """
    import ast

    module = ast.parse("def kernel(): raise take()")
    for node in ast.walk(module):
        if "lineno" in node._attributes:
            for field, at in zip(_SPAN, span, strict=True):
                setattr(node, field, at)
    module.body[0].lineno = min(exc._function()[1] or span[0], span[0])
    code = compile(module, filename, "exec")
    names: dict[str, Any] = {"take": [exc].pop}  # no local: exc is not in a cycle
    exec(code, names)
    kernel = names.pop("kernel")
    kernel.__code__ = kernel.__code__.replace(co_name=name, co_qualname=name)
    try:
        kernel()
    except CompileError as e:
        if e.__traceback__:
            e.__traceback__ = e.__traceback__.tb_next


TritonError = TegulaError
CompilationError = CompileError
