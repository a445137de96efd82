/* atomic: atom and red. One lane after the other, in the order of the lanes: the order is
 * the machine's to choose, and a result that depends on it is wrong.
 *
 * atom.add.f32 flushes subnormals in global memory and not in shared, as the ISA says.
 */
#include "ptx/async.h"
#include "ptx/half.h"

#include <math.h>

enum { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS };
static const char *const op_words[] = {"add", "min", "max",  "inc", "dec", "and",
                                       "or",  "xor", "exch", "cas", NULL};

static uint64_t
add_floats(Type t, uint64_t a, uint64_t b, bool flush)
{
    if (t == T_F64)
        return bits_of_f64(f64_of_bits(a) + f64_of_bits(b));
    if (t == T_F32) {
        float x = (float)lane_float(T_F32, a, flush) +
                  (float)lane_float(T_F32, b, flush);
        return x != x ? 0x7fffffff : bits_of_f32(flush ? flushed(x) : x);
    }
    if (type_info[t].bytes == 4) {
        Type h = t == T_F16X2 ? T_F16 : T_BF16;
        return add_floats(h, a & 0xffff, b & 0xffff, false) |
               add_floats(h, a >> 16, b >> 16, false) << 16;
    }
    return half_bits(t, half_value(t, a) + half_value(t, b));
}

static uint64_t
extreme_floats(Type t, uint64_t a, uint64_t b, bool is_max)
{
    if (t == T_F16X2 || t == T_BF16X2) {
        Type h = t == T_F16X2 ? T_F16 : T_BF16;
        return extreme_floats(h, a & 0xffff, b & 0xffff, is_max) |
               extreme_floats(h, a >> 16, b >> 16, is_max) << 16;
    }
    double x = lane_float(t, a, false), y = lane_float(t, b, false);
    if (x != x || y != y)
        return x == x ? a : b;
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    return less != is_max ? a : b;
}

static uint64_t
combine(const Ins *i, uint64_t old, uint64_t b, uint64_t c)
{
    Type t = (Type)i->type;
    int shift = 64 - 8 * type_info[t].bytes;
    bool is_signed = type_info[t].kind == 's', is_float = type_info[t].kind == 'f';
    bool less = is_signed ? (int64_t)(old << shift) < (int64_t)(b << shift) : old < b;
    switch (i->op) {
    case ADD: return is_float ? add_floats(t, old, b, i->flags) : old + b;
    case MIN: return is_float ? extreme_floats(t, old, b, false) : less ? old : b;
    case MAX: return is_float ? extreme_floats(t, old, b, true) : less ? b : old;
    case INC: return old >= b ? 0 : old + 1;
    case DEC: return old == 0 || old > b ? b : old - 1;
    case AND: return old & b;
    case OR: return old | b;
    case XOR: return old ^ b;
    case EXCH: return b;
    default: return old == b ? c : old;
    }
}

int
dec_atomic_op(Dec *d)
{
    int op = dec_one(d, op_words);
    return op >= EXCH ? -1 : op;
}

uint64_t
atomic_combined(int op, Type t, uint64_t old, uint64_t b)
{
    return combine(&(Ins){.op = (uint8_t)op, .type = (uint8_t)t}, old, b, 0);
}

/* One element, against other threads of this process as well: what was there. */
#define EXCHANGE(T)                                                                    \
    {                                                                                  \
        T old = __atomic_load_n((T *)(void *)p, __ATOMIC_RELAXED), next;               \
        do                                                                             \
            next = (T)combine(i, old, b, c);                                           \
        while (!__atomic_compare_exchange_n((T *)(void *)p, &old, next, false,         \
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));      \
        return old;                                                                    \
    }

static uint64_t
exchange(const Ins *i, uint8_t *p, uint64_t b, uint64_t c)
{
    switch (i->bytes) {
    case 2: EXCHANGE(uint16_t)
    case 4: EXCHANGE(uint32_t)
    default: EXCHANGE(uint64_t)
    }
}

static void
atomic(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES], b[8][LANES], c[LANES] = {0}, old[8][LANES] = {{0}};
    int size = i->bytes;
    uint32_t n_bytes = (uint32_t)(i->n * size);
    lanes_addresses(w, i, m, address);
    lanes_access(w, i, m, (Space)i->space, address, (int)n_bytes, true);
    for (int k = 0; k < i->n; k++)
        lanes_get(w, i->in[1 + k], b[k]);
    if (i->op == CAS)
        lanes_get(w, i->in[2], c);
    lanes_want_operands(w, i, m);
    EACH_LANE_OF(l, m) {
        w->how = HOW_STRONG;
        uint8_t *p = w->owner->bytes(w, i, l, (Space)i->space, address[l], n_bytes,
                                     true);
        w->how = HOW_PLAIN;
        uint8_t *s = lanes_states(w, (Space)i->space, address[l]);
        for (uint32_t k = 0; s && k < n_bytes; k++)
            if (s[k] == BYTE_UNDEF)
                lanes_fault(w, i, l,
                            "an atomic on shared memory that was never written");
        for (int k = 0; k < i->n; k++)
            old[k][l] = exchange(i, p + k * size, b[k][l], c[l]);
    }
    for (int k = 0; k < i->n_out; k++) {
        lanes_put(w, i->out[k], m, old[k]);
        w->undef[i->out[k].id] &= ~m;
    }
}

void
dec_atomic(Dec *d)
{
    Ins *i = d->ins;
    bool is_red = d->op[0] == 'r';
    i->space = (uint8_t)dec_space(d);
    dec_take_hints(d);
    bool noftz = dec_has(d, "noftz"), policy = dec_has(d, "L2::cache_hint");
    int op = dec_one(d, op_words), n = dec_vector_size(d);
    Type t = dec_type(d);
    dec_refuse(d, op < 0 || t == T_PRED || type_info[t].bytes > 8 ||
                      type_info[t].bytes < 2);
    bool is_float = type_info[t].kind == 'f',
         is_half = is_float && type_info[t].bytes == 2;
    bool is_pair = t == T_F16X2 || t == T_BF16X2;
    if ((is_half || is_pair) && !noftz)
        dec_fail(d, ".noftz is missing");
    if (is_float && op > MAX)
        dec_fail(d, "not of floats");
    if (!is_float && type_info[t].bytes == 2 && op != CAS)
        dec_fail(d, "16 bits only with .cas");
    if ((t == T_F32 || t == T_F64) && op != ADD && (n == 1 || dec_sm(d) < 90))
        dec_fail(d, "f32 and f64 are only added");
    if (n > 1 && dec_sm(d) < 90)
        dec_fail(d, "vectors from sm_90 on");
    if ((t == T_BF16 || t == T_BF16X2) && dec_sm(d) < 90)
        dec_fail(d, "bfloat16 from sm_90 on");
    i->n = (uint8_t)n;
    i->op = (uint8_t)op;
    i->type = (uint8_t)t;
    i->bytes = type_info[t].bytes;
    if (i->n * i->bytes > 16)
        dec_fail(d, "more than 16 bytes");
    int at = is_red ? 0 : 1;
    dec_address(d, at);
    i->flags = t == T_F32 && i->space != SPACE_SHARED && i->space != SPACE_CLUSTER;
    if (!is_red)
        dec_vector(d, 0, i->n, i->bytes, dec_out_opd);
    if (n > 1)
        dec_vector(d, at + 1, i->n, i->bytes, dec_in_opd);
    else
        dec_in_typed(d, at + 1, t);
    if (op == CAS)
        dec_in_typed(d, at + 2, t);
    dec_operands(d, at + 2 + (op == CAS) + policy);
    i->undef = UNDEF_TRACKED;
    i->run = atomic;
}

const OpRow atomic_ops[] = {{"atom", dec_atomic}, {"red", dec_atomic}, {NULL, NULL}};
