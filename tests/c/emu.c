/* emu: kernels written in C against emu.h; each rule of the machine broken on purpose. */
#include "runtime/emu/emu.h"

#include <math.h>

#include "layout/mma.h"
#include "ir/ir.h"
#include "test.h"

static const EmuPlace here = {"kernel.py", "kernel", 7, 4, 0};

static EmuRun
run_of(EmuKernel *k, const uint64_t *params, int warps, int shared)
{
    return (EmuRun){.kernel = k,
                    .params = params,
                    .grid = {1, 1, 1},
                    .num_warps = warps,
                    .shared_bytes = shared,
                    .n_host_threads = 1};
}

/* Runs with warps in order and in shuffled orders; all must agree. */
static void
expect(Test *t, EmuRun r, EmuFault fault, const char *part)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        EmuReport report;
        r.seed = seed;
        bool ok = emu_run(&r, &report);
        CHECKF(t, ok == (fault == EMU_OK) && report.fault == fault,
               "fault %d, not %d: %s", report.fault, fault, report.text);
        CHECKF(t, !part || strstr(report.text, part), "'%s' lacks '%s'", report.text,
               part);
        if (fault != EMU_OK)
            CHECKF(t, report.line == 7 && !strcmp(report.file, "kernel.py"),
                   "no place");
    }
}

/* Every thread hands its number to the next one through shared memory. */
static void
k_rotate(EmuThread *t, const uint64_t *p)
{
    int id = emu_thread_id(t), got;
    emu_shared_store(t, 4 * id, 4, 4, &id, &here);
    if (p[1])
        emu_barrier(t, &here);
    emu_shared_load(t, 4 * ((id + 1) % 128), 4, 4, &got, &here);
    int *out = emu_global(t, p[0] + 4 * (uint64_t)id, 4, 4, 1, &here);
    *out = got;
}

/* The same within a warp, ordered by warp_sync. */
static void
k_rotate_warp(EmuThread *t, const uint64_t *p)
{
    int id = emu_thread_id(t), base = id & ~31, got;
    emu_shared_store(t, 4 * id, 4, 4, &id, &here);
    if (p[1])
        emu_warp_sync(t, &here);
    emu_shared_load(t, 4 * (base + (id + 1) % 32), 4, 4, &got, &here);
    int *out = emu_global(t, p[0] + 4 * (uint64_t)id, 4, 4, 1, &here);
    *out = got;
}

void
test_emu_races(Test *t)
{
    int out[128];
    uint64_t p[] = {(uint64_t)(uintptr_t)out, 1};
    expect(t, run_of(k_rotate, p, 4, 512), EMU_OK, NULL);
    for (int i = 0; i < 128; i++)
        CHECK(t, out[i] == (i + 1) % 128);
    expect(t, run_of(k_rotate_warp, p, 4, 512), EMU_OK, NULL);
    for (int i = 0; i < 128; i++)
        CHECK(t, out[i] == (i & ~31) + (i + 1) % 32);
    p[1] = 0;
    /* Without the barrier the reader comes before the writer, or after it in the same epoch. */
    for (uint64_t seed = 0; seed < 8; seed++) {
        EmuReport report;
        EmuRun r = run_of(seed % 2 ? k_rotate : k_rotate_warp, p, 4, 512);
        r.seed = seed;
        CHECK(t, !emu_run(&r, &report));
        CHECK(t, report.fault == EMU_RACE || report.fault == EMU_UNWRITTEN);
    }
}

static void
k_same_value(EmuThread *t, const uint64_t *p)
{
    int v = p[0] ? emu_thread_id(t) : 42;
    emu_shared_store(t, 0, 4, 4, &v, &here);
}

static void
k_write_after_read(EmuThread *t, const uint64_t *p)
{
    int id = emu_thread_id(t), zero = 0, got;
    if (id == 0)
        emu_shared_store(t, 0, 4, 4, &zero, &here);
    emu_barrier(t, &here);
    emu_shared_load(t, 0, 4, 4, &got, &here);
    if (p[0])
        emu_barrier(t, &here);
    if (id == 5)
        emu_shared_store(t, 0, 4, 4, &id, &here);
}

void
test_emu_writes(Test *t)
{
    uint64_t p[] = {0};
    expect(t, run_of(k_same_value, p, 2, 4), EMU_OK, NULL);
    p[0] = 1;
    expect(t, run_of(k_same_value, p, 2, 4), EMU_RACE, "different values");
    expect(t, run_of(k_write_after_read, p, 2, 4), EMU_OK, NULL);
    p[0] = 0;
    expect(t, run_of(k_write_after_read, p, 2, 4), EMU_RACE, "race");
}

static void
k_half_barrier(EmuThread *t, const uint64_t *p)
{
    (void)p;
    if (emu_thread_id(t) < 32)
        emu_barrier(t, &here);
}

static void
k_past_end(EmuThread *t, const uint64_t *p)
{
    int *x = emu_global(t, p[0] + 4 * (uint64_t)emu_thread_id(t), 4, 4, (int)p[1],
                        &here);
    if (p[1])
        *x = 1;
}

static void
k_misaligned(EmuThread *t, const uint64_t *p)
{
    emu_global(t, p[0] + 4, 16, 16, 0, &here);
}

static void
k_assert(EmuThread *t, const uint64_t *p)
{
    (void)p;
    if (emu_thread_id(t) == 3)
        emu_assert(t, "three", &here);
    emu_barrier(t, &here);
}

static void
k_unwritten(EmuThread *t, const uint64_t *p)
{
    int v;
    (void)p;
    emu_shared_load(t, 0, 4, 4, &v, &here);
}

void
test_emu_faults(Test *t)
{
    _Alignas(16) int x[64];
    uint64_t p[] = {(uint64_t)(uintptr_t)x, 1};
    EmuRegion whole[] = {{.start = p[0], .bytes = sizeof x, .param = 2}};
    expect(t, run_of(k_half_barrier, p, 2, 0), EMU_BARRIER, "32 of 64");
    EmuRun r = run_of(k_past_end, p, 2, 0);
    r.regions = whole;
    r.n_regions = 1;
    expect(t, r, EMU_OK, NULL);
    whole[0].bytes = 4 * 40;
    expect(t, r, EMU_BOUNDS, "argument 2");
    whole[0].bytes = sizeof x;
    whole[0].read_only = true;
    expect(t, r, EMU_READ_ONLY, "read-only");
    expect(t, run_of(k_misaligned, p, 1, 0), EMU_MISALIGNED, "16");
    expect(t, run_of(k_assert, p, 1, 0), EMU_ASSERT, "three");
    expect(t, run_of(k_unwritten, p, 1, 4), EMU_UNWRITTEN, "nobody has written");
    expect(t, run_of(k_unwritten, p, 1, 2), EMU_BOUNDS, "of 2");
}

static void
k_shuffles(EmuThread *t, const uint64_t *p)
{
    int id = emu_thread_id(t), lane = id % 32;
    int *out = (int *)(uintptr_t)p[0] + 4 * id;
    out[0] = emu_shuffle_xor(t, id, 5);
    out[1] = emu_shuffle_idx(t, id, 31 - lane);
    out[2] = emu_shuffle_up(t, id, 4);
    out[3] = emu_ballot(t, lane % 3 == 0);
}

void
test_emu_shuffles(Test *t)
{
    int out[64][4];
    uint64_t p[] = {(uint64_t)(uintptr_t)out};
    expect(t, run_of(k_shuffles, p, 2, 0), EMU_OK, NULL);
    uint32_t ballot = 0;
    for (int i = 0; i < 32; i++)
        ballot |= (uint32_t)(i % 3 == 0) << i;
    for (int i = 0; i < 64; i++) {
        CHECK(t, out[i][0] == (i ^ 5));
        CHECK(t, out[i][1] == (i & ~31) + 31 - i % 32);
        CHECK(t, out[i][2] == (i % 32 < 4 ? i : i - 4));
        CHECK(t, (uint32_t)out[i][3] == ballot);
    }
}

/* A warp-wide product whose operands come by ldmatrix, as compiled kernels do it:
 * params: a [16][16] f16, b [8][16] f16 (column n of B is row n), c [16][8] f32. */
static void
k_mma(EmuThread *t, const uint64_t *p)
{
    int lane = emu_thread_id(t);
    const char *a = (const char *)(uintptr_t)p[0], *b = (const char *)(uintptr_t)p[1];
    for (int i = lane; i < 32; i += 32) /* 16 bytes each: a at 0, b at 512 */
        emu_shared_store(t, 16 * i, 16, 16, a + 16 * i, &here);
    if (lane < 16)
        emu_shared_store(t, 512 + 16 * lane, 16, 16, b + 16 * lane, &here);
    emu_warp_sync(t, &here);
    uint32_t fa[4], fb[2], d[4] = {0};
    emu_ldmatrix(t, 32 * (lane % 16) + 16 * (lane / 16), 4, 0, fa, &here);
    emu_ldmatrix(t, 512 + 32 * (lane % 8) + 16 * (lane / 8 % 2), 2, 0, fb, &here);
    emu_mma(t, MMA_F16_M16N8K16, d, fa, fb);
    float *c = (float *)(uintptr_t)p[2];
    for (int r = 0; r < 4; r++)
        memcpy(&c[(lane / 4 + 8 * (r / 2)) * 8 + lane % 4 * 2 + r % 2], &d[r], 4);
}

/* Words go out by stmatrix and come back by ldmatrix: params: out [32][4], n, trans of the
 * one and of the other. Rows of matrix m begin at 128 m + 16 r. */
static void
k_stmatrix(EmuThread *t, const uint64_t *p)
{
    int lane = emu_thread_id(t), n = (int)p[1];
    uint32_t w[4], *out = (uint32_t *)(uintptr_t)p[0] + 4 * lane;
    for (int k = 0; k < n; k++)
        w[k] = (uint32_t)((k * 32 + lane) * 2 | ((k * 32 + lane) * 2 + 1) << 16);
    emu_stmatrix(t, 16 * (lane % (8 * n)), n, (int)p[2], w, &here);
    emu_warp_sync(t, &here);
    emu_ldmatrix(t, 16 * (lane % (8 * n)), n, (int)p[3], out, &here);
}

void
test_emu_stmatrix(Test *t)
{
    for (int n = 1; n <= 4; n *= 2)
        for (int turns = 0; turns < 4; turns++) {
            uint32_t out[32][4];
            bool st = turns & 1, ld = turns & 2;
            uint64_t p[] = {(uint64_t)(uintptr_t)out, (uint64_t)n, st, ld};
            expect(t, run_of(k_stmatrix, p, 1, 512), EMU_OK, NULL);
            for (int l = 0; l < 32; l++)
                for (int k = 0; k < n; k++)
                    for (int h = 0; h < 2; h++) {
                        int row = l / 4, col = l % 4 * 2 + h;
                        if (st != ld) /* transposed once */
                            row = l % 4 * 2 + h, col = l / 4;
                        uint32_t want =
                            (uint32_t)((k * 32 + row * 4 + col / 2) * 2 + col % 2);
                        CHECK(t, (out[l][k] >> 16 * h & 0xffff) == want);
                    }
        }
}

/* Lane l's words of every kind of instruction, at random, and the result:
 * params: kind, a, b, d, and d before, with MMA_MAX_WORDS words of 8 bytes a lane. */
static void
k_any_mma(EmuThread *t, const uint64_t *p)
{
    enum { LANE = MMA_MAX_WORDS * 2 };
    int lane = emu_thread_id(t);
    uint32_t *d = (uint32_t *)(uintptr_t)p[3] + lane * LANE;
    memcpy(d, (const uint32_t *)(uintptr_t)p[4] + lane * LANE, LANE * sizeof *d);
    emu_mma(t, (int32_t)p[0], d, (const uint32_t *)(uintptr_t)p[1] + lane * LANE,
            (const uint32_t *)(uintptr_t)p[2] + lane * LANE);
}

/* f64: the chain of fused multiply-adds, bit for bit; s8 of 8 rows: exact. */
void
test_emu_small_mma(Test *t)
{
    static const MmaKind kinds[] = {MMA_F64_M8N8K4, MMA_F64_M16N8K4, MMA_F64_M16N8K8,
                                    MMA_F64_M16N8K16, MMA_S8_M8N8K16};
    for (size_t j = 0; j < COUNT(kinds); j++) {
        const MmaShape *s = &mma_shape[kinds[j]];
        union {
            double f[32][MMA_MAX_WORDS];
            uint32_t w[32][MMA_MAX_WORDS * 2];
        } a, b, d = {{{0}}}, was;
        for (int l = 0; l < 32; l++)
            for (int i = 0; i < MMA_MAX_WORDS; i++) {
                a.f[l][i] = test_below(t, 1 << 20) / 3e3 - 150;
                b.f[l][i] = test_below(t, 1 << 20) / 7e3 - 70;
                was.f[l][i] = test_below(t, 1 << 20) / 11e3;
            }
        uint64_t p[] = {kinds[j], (uint64_t)(uintptr_t)&a, (uint64_t)(uintptr_t)&b,
                        (uint64_t)(uintptr_t)&d, (uint64_t)(uintptr_t)&was};
        expect(t, run_of(k_any_mma, p, 1, 0), EMU_OK, NULL);
        for (int m = 0; m < s->m; m++)
            for (int n = 0; n < 8; n++) {
                int l = m % 8 * 4 + n / 2, r = n % 2 + m / 8 * 2, halves = s->m / 8;
                double sum = was.f[l][r];
                uint32_t isum = was.w[l][r];
                for (int k = 0; k < s->k; k++) {
                    int t_of = k / s->kw % 4, word = k / s->kw / 4;
                    int la = m % 8 * 4 + t_of, wa = word * halves + m / 8,
                        lb = n * 4 + t_of, shift = k % s->kw * 8;
                    if (s->d == MMA_F64)
                        sum = fma(a.f[la][wa], b.f[lb][word], sum);
                    else
                        isum += (uint32_t)((int8_t)(a.w[la][wa] >> shift) *
                                           (int8_t)(b.w[lb][word] >> shift));
                }
                if (s->d == MMA_F64)
                    CHECKF(t, d.f[l][r] == sum, "k%d d[%d][%d]", s->k, m, n);
                else
                    CHECKF(t, d.w[l][r] == isum, "s8 d[%d][%d]", m, n);
            }
    }
}

void
test_emu_mma(Test *t)
{
    uint16_t a[16][16], b[8][16];
    double wide_a[16][16], wide_b[8][16];
    float c[16][8];
    for (int i = 0; i < 16 * 16; i++)
        a[i / 16][i % 16] = (uint16_t)elem_from_double(E_F16,
                                                       test_below(t, 200) / 16.0 - 6);
    for (int i = 0; i < 8 * 16; i++)
        b[i / 16][i % 16] = (uint16_t)elem_from_double(E_F16,
                                                       test_below(t, 200) / 16.0 - 6);
    for (int i = 0; i < 16 * 16; i++)
        wide_a[i / 16][i % 16] = elem_to_double(E_F16, a[i / 16][i % 16]);
    for (int i = 0; i < 8 * 16; i++)
        wide_b[i / 16][i % 16] = elem_to_double(E_F16, b[i / 16][i % 16]);
    uint64_t p[] = {(uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b,
                    (uint64_t)(uintptr_t)c};
    expect(t, run_of(k_mma, p, 1, 768), EMU_OK, NULL);
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            double sum = 0;
            for (int k = 0; k < 16; k++)
                sum += wide_a[m][k] * wide_b[n][k];
            CHECKF(t, c[m][n] == (float)sum, "c[%d][%d] is %g, not %g", m, n, c[m][n],
                   sum);
        }
}

static void
k_count(EmuThread *t, const uint64_t *p)
{
    int one = 1, old;
    emu_atomic(t, RMW_ADD, E_I32, 1, p[0], &one, &old, &here);
    if (emu_thread_id(t) == 0) {
        int pid = emu_program_id(t, 0) + emu_num_programs(t, 0) * emu_program_id(t, 1);
        ((int *)(uintptr_t)p[1])[pid]++;
    }
}

void
test_emu_grid(Test *t)
{
    int count = 0, seen[12] = {0};
    uint64_t p[] = {(uint64_t)(uintptr_t)&count, (uint64_t)(uintptr_t)seen};
    EmuRun r = run_of(k_count, p, 2, 0);
    r.grid[0] = 4;
    r.grid[1] = 3;
    r.n_host_threads = 3;
    expect(t, r, EMU_OK, NULL);
    CHECK(t, count == 4 * 12 * 64);
    for (int i = 0; i < 12; i++)
        CHECK(t, seen[i] == 4); /* expect runs it four times */
}

/* Double-buffered copies: params: source of 8 rows of 128 ints, destination, kind. kind 0 is
 * right; 1 forgets the wait, 2 the barrier after it, 3 overwrites a slot still read, 4 the
 * source of a copy. */
static void
k_async(EmuThread *t, const uint64_t *p)
{
    enum { ROWS = 8, SLOTS = 2 };
    int id = emu_thread_id(t), kind = (int)p[2], next = (id + 1) % 128;
    for (int row = 0; row < ROWS; row++) {
        if (row == 0)
            emu_async_copy(t, 4 * id, p[0] + 4 * (uint64_t)id, 4, 4, &here);
        if (row == 0)
            emu_async_commit(t);
        if (kind != 1)
            emu_async_wait(t, 0);
        if (kind != 2)
            emu_barrier(t, &here);
        int slot = row % SLOTS, ahead = kind == 3 ? slot : (row + 1) % SLOTS, got;
        if (row + 1 < ROWS)
            emu_async_copy(t, 512 * ahead + 4 * id,
                           p[0] + 512 * (uint64_t)(row + 1) + 4 * (uint64_t)id, 4, 4,
                           &here);
        emu_async_commit(t);
        if (kind == 4 && row == 3)
            ((int *)(uintptr_t)p[0])[128 * (row + 1) + id]++;
        emu_shared_load(t, 512 * slot + 4 * next, 4, 4, &got, &here);
        ((int *)(uintptr_t)p[1])[128 * row + id] = got;
    }
}

void
test_emu_async(Test *t)
{
    int in[8 * 128], out[8 * 128];
    for (int i = 0; i < 8 * 128; i++)
        in[i] = 3 * i;
    uint64_t p[] = {(uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out, 0};
    expect(t, run_of(k_async, p, 4, 1024), EMU_OK, NULL);
    for (int i = 0; i < 8 * 128; i++)
        CHECK(t, out[i] == 3 * (i / 128 * 128 + (i + 1) % 128));
    for (p[2] = 1; p[2] <= 4; p[2]++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            EmuReport report;
            EmuRun r = run_of(k_async, p, 4, 1024);
            r.seed = seed;
            CHECK(t, !emu_run(&r, &report));
            CHECK(t, report.fault == EMU_RACE || report.fault == EMU_UNWRITTEN);
        }
}

/* Two blocks of one warp each send each other a word: params: out, kind. kind 0 is right; 1 reads
 * without waiting, 2 sends twice to one place, 3 expects what nobody sends. */
static void
k_cluster(EmuThread *t, const uint64_t *p)
{
    int id = emu_thread_id(t), rank = id / 32, lane = id % 32, got, kind = (int)p[1];
    emu_cluster_open(t, 0, kind == 3 ? 12 : 8);
    if (lane < 2) {
        emu_cluster_send(t, 0, 4 * rank, 100 + rank, lane, &here);
        if (kind == 2)
            emu_cluster_send(t, 0, 4 * rank, 7, lane, &here);
    }
    if (kind != 1)
        emu_cluster_wait(t, 0, &here);
    emu_shared_load(t, 4 * (lane % 2), 4, 4, &got, &here);
    ((int *)(uintptr_t)p[0])[id] = got;
}

void
test_emu_cluster(Test *t)
{
    int out[64];
    uint64_t p[] = {(uint64_t)(uintptr_t)out, 0};
    EmuRun r = run_of(k_cluster, p, 1, 8);
    r.num_ctas = 2;
    r.grid[0] = 3;
    expect(t, r, EMU_OK, NULL);
    for (int i = 0; i < 64; i++)
        CHECK(t, out[i] == 100 + i % 2);
    p[1] = 2;
    expect(t, r, EMU_RACE, "in use");
    p[1] = 3;
    expect(t, r, EMU_BARRIER, "lacks 4 bytes");
    p[1] = 1;
    for (r.seed = 0; r.seed < 4; r.seed++) {
        EmuReport report;
        CHECK(t, !emu_run(&r, &report));
        CHECK(t, report.fault == EMU_RACE || report.fault == EMU_UNWRITTEN);
    }
}
