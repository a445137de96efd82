"""The machine code of a cubin as text, with what the hardware's scheduler is told.

    06:-:0:Y:4       LDG.E R2, [R2.64] ;

In front of each instruction of NVIDIA's GPUs since Volta stand five fields: the barriers it
waits for (a mask, in hexadecimal), the barrier that its reads and that its result set, Y
where the warp may give way, and how many cycles the next instruction has to wait. Targets
of branches are labels.

Needs ``cuobjdump``: on PATH, in CUDA_HOME, or where knobs.nvidia.cuobjdump says.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile

_FUNCTION = re.compile(r"^\s*Function\s*:\s*(\S+)")
_CODE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s*(.*?;)\s*/\*\s*0x([0-9a-f]{16})\s*\*/")
_SECOND = re.compile(r"^\s*/\*\s*0x([0-9a-f]{16})\s*\*/")
_TARGET = re.compile(r"\b(BRA|BSSY|CALL|JMP|RET)\b(.*?)\b0x([0-9a-f]+)")


def _control(high: int) -> str:
    """The fields of the upper 64 bits of an instruction."""
    stall, may_yield = high >> 41 & 15, not high >> 45 & 1
    result, reads, waits = high >> 46 & 7, high >> 49 & 7, high >> 52 & 63
    return ":".join(
        (
            f"{waits:02x}" if waits else "--",
            "-" if reads == 7 else str(reads),
            "-" if result == 7 else str(result),
            "Y" if may_yield else "-",
            f"{stall:x}",
        )
    )


def _program() -> str:
    from tegula import knobs
    from tegula.compiled import tool

    return str(knobs.nvidia.cuobjdump or tool("cuobjdump"))


def _dump(path: str) -> str:
    return subprocess.run(
        [_program(), "-sass", path], capture_output=True, text=True, check=True
    ).stdout


def _functions(text: str) -> dict[str, list[tuple[int, str, str]]]:
    """By name of the function: (address, fields, instruction) in order."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    rows: list[tuple[int, str, str]] = []
    first: tuple[int, str] | None = None
    for line in text.splitlines():
        name, code, second = _FUNCTION.match(line), _CODE.match(line), None
        if name:
            rows = found.setdefault(name[1], [])
        elif code:
            first = int(code[1], 16), code[2]
        elif first and (second := _SECOND.match(line)):
            rows.append((first[0], _control(int(second[1], 16)), first[1]))
            first = None
    return found


def _listing(name: str, rows: list[tuple[int, str, str]]) -> str:
    places = {at for at, _, _ in rows}
    targets = {int(m[3], 16) for _, _, s in rows if (m := _TARGET.search(s))}
    label = {at: f".L_{i}" for i, at in enumerate(sorted(targets & places))}

    def named(m: re.Match[str]) -> str:
        at = int(m[3], 16)
        return f"{m[1]}{m[2]}{label[at]}" if at in label else m[0]

    lines = [f"Function:{name}"]
    for at, fields, instruction in rows:
        if at in label:
            lines.append(f"{label[at]}:")
        lines.append(f"{fields}\t{_TARGET.sub(named, instruction)}")
    return "\n".join(lines)


def extract(file_path: str, fun: str | None = None) -> str:
    """The listing of a file: of all its functions, or of one."""
    found = _functions(_dump(file_path))
    return "\n\n".join(_listing(n, r) for n, r in found.items() if fun in (None, n))


@functools.lru_cache(maxsize=64)
def get_sass(cubin_asm: bytes, fun: str | None = None) -> str:
    """The listing of a cubin: ``get_sass(compiled.asm["cubin"])``."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin_asm)
        file.flush()
        return extract(file.name, fun)
