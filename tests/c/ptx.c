/* ptx: assembly of kernels, read and run: what it gives, what is refused, and that no text
 * does harm: good ones are damaged at random, and what is still accepted is run. */
#include "test.h"

#include "ptx/asm.h"

#include <stdlib.h>

static bool
nowhere(const PtxRun *r, const PtxAccess *a)
{
    (void)r, (void)a;
    return false;
}

enum { N = 70 }; /* elements: two turns of 32 lanes, and six */

/* One operand and one result of 32 bits; false: err says why. */
static bool
run(const PtxAsm *a, int pack, uint32_t *x, uint32_t *y, char err[PTX_ERROR])
{
    static const int32_t zero[3], one[3] = {1, 1, 1};
    PtxBlock in = {x, 32, 4}, out = {y, 32, 4};
    PtxRun r = {.n = N,
                .pack = pack,
                .n_in = 1,
                .n_out = 1,
                .in = &in,
                .out = &out,
                .pid = zero,
                .grid = one,
                .most = 20000,
                .may = nowhere};
    return ptx_asm_run(a, &r, err);
}

void
test_ptx_run(Test *t)
{
    static const struct {
        const char *text;
        uint32_t add, times;
    } rows[] = {
        {"=r,r\nadd.u32 $0, $1, 5;", 5, 1},
        {"=r,0\n{ mad.lo.u32 $0, $0, 3, 7; }", 7, 3},
        {"=r,r\nmul.lo.u32 $0, $1, 3; bra END; mov.u32 $0, 9; END:", 0, 3},
        {"=r,r\n{ .reg .u32 n; mov.u32 n, 3; mov.u32 $0, 0;\n"
         "TOP: add.u32 $0, $0, $1; sub.u32 n, n, 1;\n"
         "{ .reg .pred p; setp.ne.u32 p, n, 0; @p bra TOP; } }",
         0, 3},
        {"=r,r\n{ .reg .pred p; .reg .u32 n; and.b32 n, $1, 7; mov.u32 $0, $1;\n"
         "setp.eq.u32 p, n, 0; @p bra OUT;\n" /* lanes part, and meet again */
         "TOP: add.u32 $0, $0, 1; sub.u32 n, n, 1; setp.ne.u32 p, n, 0;\n"
         "@p bra TOP; OUT: and.b32 n, $1, 7; sub.u32 $0, $0, n; }",
         0, 1},
    };
    uint32_t x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint32_t)test_random(t);
    for (size_t k = 0; k < COUNT(rows); k++) {
        char err[PTX_ERROR];
        PtxAsm *a = NULL;
        if (!CHECKF(t, ptx_asm_new(rows[k].text, 80, &a, err) == PTX_OK, "%s", err))
            continue;
        CHECKF(t, run(a, 1, x, y, err), "%s", err);
        for (int i = 0; i < N; i++)
            CHECKF(t, y[i] == x[i] * rows[k].times + rows[k].add, "%s: %d",
                   rows[k].text, i);
        ptx_asm_free(a);
    }
}

void
test_ptx_refused(Test *t)
{
    static const struct {
        const char *text;
        PtxStatus status;
        const char *err;
    } rows[] = {
        {"=r,r\nshfl.sync.bfly.b32 $0, $1, 1, 31, -1;", PTX_UNKNOWN,
         "'shfl.sync.bfly.b32' in line 1 of the assembly"},
        {"=r,r\n\nfrob $0, $1;", PTX_UNKNOWN, "'frob' in line 2 of the assembly"},
        {"=r,r\nadd.u32 $0, $1;", PTX_BAD, "line 1: add.u32: operand 3 is missing"},
        {"=r,r\nadd.u32 $0, $1, $2;", PTX_BAD,
         "line 1: there is no $2: the constraints name 2 registers"},
        {"=r,r\n{ mov.u32 $0, $1;", PTX_BAD, "line 1: expected '}', found 'the end'"},
        {"=r,r\nmov.u32 $0, $1; }", PTX_BAD, "line 1: expected a name, found '}'"},
        {"=r,r\nret;", PTX_BAD, "line 1: ret: assembly cannot leave the kernel"},
        {"=r,r\n.shared .b32 x; mov.u32 $0, $1;", PTX_UNKNOWN,
         "'.shared' in line 1 of the assembly"},
        {"=r,r\n.local .b32 x; mov.u32 $0, $1;", PTX_UNKNOWN,
         "'.local' in line 1 of the assembly"},
        {"=r,r\n.reg .b32 x<9999>; .reg .b64 y<9999>; mov.u32 $0, $1;", PTX_BAD,
         "line 1: too many registers"},
        {"r,=r\nmov.u32 $0, $1;", PTX_BAD,
         "a result's constraint stands behind an operand's"},
        {"=r,9\nmov.u32 $0, $1;", PTX_BAD, "the constraint '9' names no result"},
        {"=r,r\nmov.b128 $0, $1;", PTX_BAD, "line 1: mov.b128: .b128 is not simulated"},
        {"=r,r\nmov.b32 $0, {{{{{{{{{{$1}}}}}}}}}};", PTX_BAD,
         "line 1: operands nested too deeply"},
        {"=r,r\nmov.b32 \xc3\xa9, $1;", PTX_BAD, "line 1: expected an operand"},
        {"=r,r\nadd.rn.f32x2 $0, $1, $1;", PTX_BAD,
         "line 1: add.rn.f32x2: from sm_100 on"},
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        char err[PTX_ERROR];
        PtxAsm *a = NULL;
        CHECKF(t, ptx_asm_new(rows[k].text, 80, &a, err) == rows[k].status, "%s: %s",
               rows[k].text, err);
        CHECK_STR(t, err, rows[k].err);
    }
}

void
test_ptx_stops(Test *t)
{
    static const char *const rows[][2] = {
        {"=r,r\nTOP: bra TOP;", "no end in sight; bra in line 1 of the assembly"},
        {"=r,r\nmov.u32 $0, $1;\ntrap;", "trap; trap in line 2 of the assembly"},
        {"=r,r\n{ .reg .u64 a; mov.u64 a, 4096; ld.global.b32 $0, [a]; }", ""},
        {"=r,r\n{ .reg .u64 a; mov.u64 a, 0x4000000000000000; ld.b32 $0, [a]; }",
         "only global memory is there; ld.b32 in line 1 of the assembly"},
    };
    uint32_t x[N] = {0}, y[N];
    for (size_t k = 0; k < COUNT(rows); k++) {
        char err[PTX_ERROR];
        PtxAsm *a = NULL;
        if (!CHECKF(t, ptx_asm_new(rows[k][0], 80, &a, err) == PTX_OK, "%s", err))
            continue;
        CHECK(t, !run(a, 1, x, y, err));
        CHECK_STR(t, err, rows[k][1]);
        CHECK(t, !run(a, 2, x, y, err)); /* two registers are not named */
        ptx_asm_free(a);
    }
}

/* ---- damaged texts --------------------------------------------------------------- */

static const char *const good[] = {
    "=r,r\nadd.u32 $0, $1, 5;",
    "=r,r\n{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $1; mov.b32 $0, {hi, lo}; }",
    "=r,r\n{ .reg .pred p, q; setp.lt.and.s32 p|q, $1, 7, 1; @!p bra L; L: "
    "selp.b32 $0, 1, 2, q; }",
    "=r,r\ncvt.rn.satfinite.e4m3x2.f32 $0, $1, 0f3F800000;",
    "=r,r\n{ .reg .f64 d; cvt.f64.f32 d, $1; fma.rn.f64 d, d, d, 0d3FF0000000000000; "
    "cvt.rn.f32.f64 $0, d; }",
    "=r,r\nlop3.b32 $0, $1, $1, 0x7f, 0xe2; prmt.b32 $0, $0, $1, 0x5410;",
    "=r,r\n{ .reg .u64 a; cvta.to.global.u64 a, 64; ld.global.nc.v2.b32 {$0, _}, [a+8]; }",
    "=r,r\n{ .reg .u64 a; mov.u64 a, 0; atom.global.acq_rel.gpu.cas.b32 $0, [a], $1, 3; "
    "red.global.add.f32 [a], 0f00000000; }",
    "=r,r\n{ .reg .u32 n<4>; mov.u32 n0, %clock; mov.u32 n1, %tid.x; "
    "TOP: add.u32 n1, n1, 1; @p bra TOP; .reg .pred p; }",
    "=r,r\nfma.rn.relu.bf16x2 $0, $1, $1, $1; max.NaN.f16x2 $0, $0, $1;",
    "=r,r\nadd.cc.u32 $0, $1, -1; addc.u32 $0, $0, 0; madc.hi.cc.u32 $0, $0, $0, 1;",
    "=r,r\nbfe.u32 $0, $1, 3, 5; bfi.b32 $0, $0, $1, 2, 9; bfind.shiftamt.s32 $0, $0;",
    "=&r,r,~{memory}\n// words\n/* more */ dp4a.u32.s32 ${0}, ${1:r}, $1, 7;",
    "=r,r\nex2.approx.ftz.f32 $0, $1; tanh.approx.bf16x2 $0, $0; div.full.f32 $0, $0, $1;",
    "=r,r\nslct.f32.s32 $0, $1, 0f40000000, $1; set.geu.f32.f32 $0, $0, $1;",
    "=r,r\nnanosleep.u32 $1; membar.gl; prefetch.global.L2 [64]; mov.u32 $0, %smid;",
    "=r,r\nshf.l.clamp.b32 $0, $1, $1, 40; szext.wrap.s32 $0, $0, 9; bmsk.clamp.b32 $0, "
    "$1, 3;",
    "=r,r\n{ .reg .b64 a; mov.b64 a, {$1, $1}; add.rz.ftz.f32x2 a, a, a; mov.b64 {$0, "
    "_}, a; }",
    "=r,r\n{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $1; cvt.u32.u8 $0, t; }",
    "=r,r\nmul24.lo.s32 $0, $1, $1; sad.u32 $0, $0, $1, $1; testp.finite.f32 p, $1;",
    "=r,r\n{ .shared .align 8 .b32 s[32]; .reg .b32 t; mov.u32 t, %laneid;\n"
    "mad.lo.u32 t, t, 4, 64; st.shared.b32 [t], $1; bar.sync 0;\n"
    "shfl.sync.bfly.b32 $0, $1, 1, 31, -1; mbarrier.init.shared.b64 [s], 4; }",
};
static const char *const pieces[] = {
    ".f32",
    ".f16x2",
    ".b64",
    ".s16",
    ".u8",
    ".pred",
    ".rn",
    ".ftz",
    ".sat",
    ".v4",
    ".global",
    ".shared",
    ".wide",
    "$0",
    "$1",
    "${",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "@p ",
    "@!p ",
    "_",
    "-",
    "0x",
    "1e9",
    "0f",
    ".reg",
    "<99>",
    "bra L;",
    "L:",
    "%tid.x",
    "%clock",
    "mov.b32",
    "cvt.",
    "ld.",
    "st.",
    "setp.",
    "min.",
    "abs.",
    "99999999999999999999",
    "/*",
    "\n",
    "\"",
    "\x80",
    "|",
};

/* text with something in it changed; room holds 2048. */
static void
damage(Test *t, const char *text, char *out)
{
    size_t n = strlen(text);
    memcpy(out, text, n + 1);
    for (int k = test_below(t, 3); k >= 0; k--) {
        size_t at = (size_t)test_below(t, (int)n + 1);
        const char *piece = pieces[test_below(t, COUNT(pieces))];
        size_t len = strlen(piece), gone = 0;
        switch (test_below(t, 5)) {
        case 0: /* a piece more */ break;
        case 1: len = 0, gone = (size_t)test_below(t, 6); break;
        case 2: gone = len; break;
        case 3: { /* a part of another text */
            const char *other = good[test_below(t, COUNT(good))];
            size_t m = strlen(other), from = (size_t)test_below(t, (int)m);
            piece = other + from;
            len = (size_t)test_below(t, (int)MIN(m - from, 40) + 1);
            break;
        }
        default: /* one byte */
            if (at < n)
                out[at] = (char)(test_random(t) >> 8);
            continue;
        }
        gone = MIN(gone, n - at);
        if (n + len > 2000)
            continue;
        memmove(out + at + len, out + at + gone, n - at - gone + 1);
        memcpy(out + at, piece, len);
        n += len - gone;
        n = strlen(out);
    }
}

void
test_ptx_fuzz(Test *t)
{
    char text[2048], err[PTX_ERROR];
    uint32_t x[N], y[N];
    int n_ok = 0;
    for (int i = 0; i < N; i++)
        x[i] = (uint32_t)test_random(t) >> (i & 1 ? 0 : 24);
    for (int i = 0; i < 20000; i++) {
        PtxAsm *a = NULL;
        damage(t, good[test_below(t, COUNT(good))], text);
        int sm = test_below(t, 2) ? 80 : PTX_NEWEST;
        sm |= test_below(t, 4) ? 0 : PTX_THREADS;
        PtxStatus s = ptx_asm_new(text, sm, &a, err);
        if (s != PTX_OK) {
            CHECKF(t, s == PTX_BAD || s == PTX_UNKNOWN, "%s", text);
            CHECKF(t, *err && strlen(err) < PTX_ERROR - 1, "%s: %s", text, err);
            continue;
        }
        n_ok += run(a, 1, x, y, err);
        ptx_asm_free(a);
    }
    CHECKF(t, n_ok > 200, "%d of 20000 ran: too wild", n_ok);
}
