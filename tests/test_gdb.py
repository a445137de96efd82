"""csrc/tools/gdb.py shows a function of tile IR, without calling anything in it.

A program of one file has the tables of ir/ and a loop made by hand; gdb stops in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# make sanitize preloads a library that gdb and the compiler do without.
ENV = {**os.environ, "DEBUGINFOD_URLS": "", "LD_PRELOAD": ""}

# The checks of ops.c and what type.c calls stay unresolved: nothing of them runs.
PROGRAM = """
#include "ir/ops.c"
#include "ir/type.c"

static Val *x, *n, *broken;
static Op *sum;
static Func *f;

__attribute__((noinline)) static void stop(void) { __asm__ volatile(""); }

int
main(void)
{
    static const Type i32 = {.elem = E_I32};
    static const Type rows = {
        .elem = E_F32, .is_ptr = true, .rank = 2, .shape = {64, 32}};
    static const Loc at = {.file = "kernel.py", .line = 12};
    static Func fn = {.name = "k"};
    static Block body = {.func = &fn}, inner = {.func = &fn};
    static Val px = {.type = &rows, .name = "x_ptr"};
    static Val pn = {.type = &i32, .index = 1, .id = 1};
    static Val axis = {.type = &i32, .id = 2}, two = {.type = &i32, .id = 3};
    static Op id = {.op = OP_PROGRAM_ID, .n_results = 1, .attr = {1}, .loc = &at};
    static Op add = {.op = OP_ADD, .n_args = 2, .n_results = 1};
    static Op rmw = {.op = OP_ATOMIC_RMW, .attr = {RMW_MAX, SEM_RELAXED}};
    static Op loop = {.op = OP_FOR, .n_regions = 1, .regions = {&inner}};
    static Use uses[2] = {{.v = &axis}, {.v = &pn}};
    static Val *args[] = {&px, &pn}, *id_out[] = {&axis}, *add_out[] = {&two};
    id.results = id_out, add.results = add_out, add.args = uses;
    axis.def = &id, two.def = &add;
    body.args = args, body.n_args = 2, body.first = &id, id.next = &loop;
    inner.first = &add, inner.owner = &loop, add.next = &rmw;
    fn.body = &body;
    f = &fn, x = &px, n = &two, sum = &add, broken = (Val *)16;
    stop();
    return f == NULL || x == NULL || n == NULL || sum == NULL || broken == NULL;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not shutil.which("gdb") or not compiler:
        pytest.skip("no gdb, or no compiler")
    asked = ["gdb", "-nx", "-batch", "-ex", "python print(6 * 7)"]
    if (
        "42"
        not in subprocess.run(asked, capture_output=True, text=True, env=ENV).stdout
    ):
        pytest.skip("this gdb has no Python")
    out = tmp_path_factory.mktemp("gdb") / "program"
    source = out.with_suffix(".c")
    source.write_text(PROGRAM)
    flags = ["-std=c17", "-D_GNU_SOURCE=", "-g3", "-O0", "-w", f"-I{ROOT / 'csrc'}"]
    loose = ["-Wl,--unresolved-symbols=ignore-all", "-no-pie"]
    subprocess.run(
        [compiler, *flags, str(source), *loose, "-o", str(out)], check=True, env=ENV
    )
    return out


def ask(program: Path, *commands: str) -> str:
    setup = ["set confirm off", f"source {ROOT / 'csrc/tools/gdb.py'}"]
    setup += ["break stop", "run", "up"]
    argv = ["gdb", "-nx", "-batch"]
    for c in [*setup, *commands]:
        argv += ["-ex", c]
    done = subprocess.run(
        [*argv, str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENV,
    )
    text = done.stdout + done.stderr
    if "not permitted" in text:
        pytest.skip(f"gdb may not run a program here: {text[-200:]}")
    return done.stdout


def test_gdb_shows_values(program: Path) -> None:
    text = ask(program, "p *x", "p n", "p *n", "p *sum", "p broken", "p *f")
    assert "= %x_ptr : ptr<f32>[64, 32], argument 0\n" in text
    assert " %3 : i32 = add\n" in text
    assert "= %3 : i32 = add\n" in text
    assert "= %3 = add %2, %1 : i32\n" in text
    assert " 0x10 ? " in text
    assert "= func @k(%x_ptr: ptr<f32>[64, 32], %1: i32)\n" in text


def test_gdb_shows_a_function(program: Path) -> None:
    text = ask(program, "tir f")
    assert text.endswith(
        """\
func @k(%x_ptr: ptr<f32>[64, 32], %1: i32) {
  %2 = program_id {axis=1} : i32  // kernel.py:12
  for
  { ()
    %3 = add %2, %1 : i32
    atomic_rmw {rmw=max, sem=relaxed}
  }
}
"""
    )
