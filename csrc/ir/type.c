/* type: element types, and the interning of value types.
 *
 *     f32            ty_scalar                elem F32
 *     ptr<f32>       ty_ptr                   elem F32, is_ptr
 *     f32[64, 32]    ty_block(f32, 2, ..)     elem F32, rank 2
 *     smem<3 x f32[64, 32]>   ty_smem         the same, slots 3
 *     local<8 x f32[64]>      ty_local        the same, is_local
 *     async f32[64, 32]       ty_with_async   the same, is_async
 *     mbar<4>        ty_mbar                  mbars 4
 *     tmap           ty_tmap                  is_tmap
 *
 * A type is found by the bytes of its key, so equal types are one pointer within a Comp
 * and everybody compares with ==.
 */
#include "ir/ir.h"

#include <assert.h>

const ElemInfo elem_info[N_ELEM] = {
#define U KIND_U
#define S KIND_S
#define F KIND_F
#define ELEM(name, text, tl, sig, kind, bits, bytes, dlc, dlb)                         \
    [E_##name] = {text, tl, sig, kind, bits, bytes, dlc, dlb},
#include "ir/types.def"
#undef ELEM
#undef U
#undef S
#undef F
};

/* What makes two types equal, without padding between the fields. */
typedef struct Key {
    uint8_t elem, is_ptr, is_const, rank;
    int32_t shape[MAX_RANK];
    uint16_t slots;
    uint8_t kind, mbars; /* kind: the flags */
    const Layout *layout;
} Key;
_Static_assert(sizeof(Key) == 8 + 4 * MAX_RANK + sizeof(void *),
               "padding in a map key");

static const Type *
intern(Comp *c, const Type *t)
{
    Key k;
    memset(&k, 0, sizeof k);
    k.elem = (uint8_t)t->elem, k.is_ptr = t->is_ptr, k.is_const = t->is_const;
    k.rank = t->rank, k.layout = t->layout, k.slots = t->slots;
    k.kind = (uint8_t)(t->is_async | t->is_tmap << 1 | t->is_local << 2);
    k.mbars = t->mbars;
    memcpy(k.shape, t->shape, t->rank * sizeof t->shape[0]);
    const Type *old = map_get(&c->types, &k, sizeof k);
    if (old)
        return old;
    Type *new = NEW(c->arena, Type);
    *new = *t;
    for (int i = t->rank; i < MAX_RANK; i++)
        new->shape[i] = 0;
    map_put(&c->types, &k, sizeof k, new);
    return new;
}

const Type *
ty_scalar(Comp *c, Elem e)
{
    return intern(c, &(Type){.elem = e});
}

const Type *
ty_ptr(Comp *c, Elem e, bool is_const)
{
    return intern(c, &(Type){.elem = e, .is_ptr = true, .is_const = is_const});
}

const Type *
ty_block(Comp *c, const Type *elem, int rank, const int32_t *shape)
{
    return ty_with_shape(c, elem, rank, shape);
}

const Type *
ty_with_elem(Comp *c, const Type *t, Elem e)
{
    Type n = *t;
    n.elem = e;
    n.is_ptr = n.is_const = false;
    return intern(c, &n);
}

const Type *
ty_with_shape(Comp *c, const Type *t, int rank, const int32_t *shape)
{
    assert(rank >= 0 && rank <= MAX_RANK);
    Type n = *t;
    n.rank = (uint8_t)rank;
    n.layout = NULL;
    n.slots = 0;
    n.is_async = n.is_local = false;
    for (int i = 0; i < rank; i++)
        n.shape[i] = shape[i];
    return intern(c, &n);
}

const Type *
ty_with_side(Comp *c, const Type *t, int dim, int32_t side)
{
    int32_t shape[MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[dim] = side;
    return ty_with_shape(c, t, t->rank, shape);
}

const Type *
ty_without(Comp *c, const Type *t, int dim)
{
    int32_t shape[MAX_RANK];
    for (int d = 0; d < t->rank - 1; d++)
        shape[d] = t->shape[d + (d >= dim)];
    return ty_with_shape(c, t, t->rank - 1, shape);
}

const Type *
ty_with_layout(Comp *c, const Type *t, const Layout *l)
{
    Type n = *t;
    n.layout = l;
    return intern(c, &n);
}

const Type *
ty_smem(Comp *c, const Type *block, int slots, const Layout *offsets)
{
    assert(slots > 0 && slots <= MAX_SLOTS);
    Type n = *block;
    n.slots = (uint16_t)slots;
    n.layout = offsets;
    return intern(c, &n);
}

const Type *
ty_local(Comp *c, const Type *block, int slots)
{
    assert(slots > 0 && slots <= MAX_SLICES);
    Type n = *block;
    n.slots = (uint16_t)slots;
    n.is_local = true;
    return intern(c, &n);
}

const Type *
ty_part(Comp *c, const Type *t, Col bits)
{
    const Layout *l = layout_part(c, t->layout, bits);
    int32_t shape[MAX_RANK];
    for (int d = 0; l && d < t->rank; d++)
        shape[d] = 1 << l->log2_shape[d];
    return l ? ty_with_layout(c, ty_with_shape(c, t, t->rank, shape), l) : NULL;
}

const Type *
ty_mbar(Comp *c, int n)
{
    return intern(c, &(Type){.elem = E_I64, .mbars = (uint8_t)n});
}

const Type *
ty_tmap(Comp *c)
{
    return intern(c, &(Type){.elem = E_U8, .is_tmap = true});
}

const Type *
ty_with_async(Comp *c, const Type *t, bool is_async)
{
    Type n = *t;
    n.is_async = is_async;
    return intern(c, &n);
}

const Type *
ty_slot(Comp *c, const Type *smem, const Layout *l)
{
    Type n = *smem;
    n.slots = 0;
    n.is_local = false;
    n.layout = l;
    return intern(c, &n);
}

const Type *
ty_element(Comp *c, const Type *t)
{
    return ty_with_shape(c, t, 0, NULL);
}

const Type *
ty_pointee(Comp *c, const Type *t)
{
    return ty_with_elem(c, t, t->elem);
}

int64_t
ty_numel(const Type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

int
ty_bits(const Type *t)
{
    return t->is_ptr ? 64 : elem_info[t->elem].bits;
}

int
ty_bytes(const Type *t)
{
    return t->is_ptr ? 8 : elem_info[t->elem].bytes;
}

bool
ty_same_shape(const Type *a, const Type *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

int32_t
ty_padded_side(int32_t n)
{
    return n <= 1 ? 1 : (int32_t)(1u << (32 - __builtin_clz((unsigned)n - 1)));
}

const Type *
ty_padded(Comp *c, const Type *t)
{
    int32_t shape[MAX_RANK];
    bool is_same = true;
    for (int i = 0; i < t->rank; i++) {
        shape[i] = ty_padded_side(t->shape[i]);
        is_same = is_same && shape[i] == t->shape[i];
    }
    return is_same ? t : ty_with_shape(c, t, t->rank, shape);
}

static int
side_bits(int32_t n)
{
    return 31 - __builtin_clz((unsigned)ty_padded_side(n));
}

int64_t
ty_pack_sides(const Type *t)
{
    int64_t packed = 0;
    int at = 0;
    bool is_padded = false;
    for (int i = 0; i < t->rank; i++) {
        packed |= (int64_t)(t->shape[i] - 1) << at;
        at += side_bits(t->shape[i]);
        is_padded = is_padded || ty_padded_side(t->shape[i]) != t->shape[i];
    }
    return is_padded ? packed : 0;
}

void
ty_unpack_sides(const Type *padded, int64_t packed, int32_t *sides)
{
    bool is_padded = packed != 0;
    for (int i = 0; i < padded->rank; i++) {
        int32_t n = padded->shape[i];
        sides[i] = is_padded ? (int32_t)(packed & (n - 1)) + 1 : n;
        packed >>= side_bits(n);
    }
}

void
ty_log2_shape(const Type *t, uint8_t *log2)
{
    for (int i = 0; i < t->rank; i++) {
        log2[i] = 0;
        while (log2[i] < 31 && (1u << log2[i]) < (uint32_t)t->shape[i])
            log2[i]++;
    }
}

static void
put_shape(Sb *sb, const Type *t)
{
    for (int i = 0; i < t->rank; i++)
        sb_printf(sb, "%s%d", i ? ", " : "[", t->shape[i]);
    sb_put(sb, t->rank ? "]" : "");
}

char *
ty_str(Arena *a, const Type *t)
{
    Sb sb = {.a = a};
    const char *elem = elem_info[t->elem].text;
    if (t->is_tmap)
        return str_printf(a, "tmap");
    if (t->mbars)
        return str_printf(a, "mbar<%d>", t->mbars);
    if (t->slots)
        sb_printf(&sb, "%s<%d x ", t->is_local ? "local" : "smem", t->slots);
    if (t->is_async)
        sb_put(&sb, "async ");
    if (t->is_ptr)
        sb_printf(&sb, "ptr<%s%s>", t->is_const ? "const " : "", elem);
    else
        sb_put(&sb, elem);
    put_shape(&sb, t);
    sb_put(&sb, t->slots ? ">" : "");
    return sb.at;
}

char *
ty_shape_str(Arena *a, const Type *t)
{
    Sb sb = {.a = a};
    if (t->rank)
        put_shape(&sb, t);
    else
        sb_put(&sb, "scalar");
    return sb.at;
}
