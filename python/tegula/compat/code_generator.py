"""``triton.compiler.code_generator``: from a kernel to IR, for programs that go on from
there stage by stage (``tegula.compat.backends.BaseBackend.make_ttir`` and what follows)."""

from __future__ import annotations

from typing import Any

from tegula.compat.backends import GPUTarget


def ast_to_ttir(
    fn: Any,
    src: Any,
    context: Any,
    options: Any,
    codegen_fns: Any,
    module_map: Any,
    module: Any = None,
) -> Any:
    """The module of an ``ASTSource``, for the target that the options name."""
    if not options.arch:
        raise ValueError("the options have no arch: make them by backend.parse_options")
    arch = int(str(options.arch).removeprefix("sm").rstrip("a"))
    target = GPUTarget("cuda", arch, 32)
    return src.make_ir(target, options, codegen_fns, module_map, context)
