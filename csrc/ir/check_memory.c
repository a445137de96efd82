/* check_memory: what must hold for ops that touch memory, the user's or shared. check.h
 * says how a check is written.
 */
#include "ir/check.h"

#include <inttypes.h>

/* ---- memory ---------------------------------------------------------------------- */

/* Operand 0 is a pointer, and one that may be written when asked. */
static const char *
want_pointer(const Op *o, bool writes)
{
    if (!at(o, 0)->is_ptr)
        return refuse(o, "operand 0 is %s, expected a pointer", type_text(o, at(o, 0)));
    if (writes && at(o, 0)->is_const)
        return refuse(o, "through a const pointer");
    return NULL;
}

const char *
check_load(const Op *o)
{
    const char *err = ALL(want_count(o, 1, 3), want_pointer(o, false));
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    return ALL(want_mask(o, 1, t), o->n_args > 2 ? want_arg(o, 2, t) : NULL,
               want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_CV),
               want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST), want_result(o, 0, t));
}

const char *
check_store(const Op *o)
{
    const char *err = ALL(want_count(o, 2, 3), want_pointer(o, true));
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    return ALL(want_arg(o, 1, t), want_mask(o, 2, t),
               want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_WT),
               want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST));
}

static const char *
want_order(const Op *o)
{
    return ALL(want_word(o, ATTR_SEM, SEM_ACQ_REL, SEM_RELAXED),
               want_word(o, ATTR_SCOPE, SCOPE_GPU, SCOPE_SYS));
}

const char *
check_atomic(const Op *o)
{
    int64_t rmw = ir_attr(o, ATTR_RMW);
    const char *err = ALL(want_count(o, 2, 3), want_pointer(o, rmw != RMW_LOAD),
                          want_order(o), want_word(o, ATTR_RMW, RMW_ADD, RMW_STORE));
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    int64_t sem = ir_attr(o, ATTR_SEM);
    bool one_way = rmw == RMW_LOAD || rmw == RMW_STORE;
    if (one_way && sem != SEM_RELAXED &&
        sem != (rmw == RMW_LOAD ? SEM_ACQUIRE : SEM_RELEASE))
        return refuse(o, "a load acquires, a store releases");
    bool wide = ty_bits(t) >= 32, narrow_float = ty_is_float(t) && ty_bits(t) == 16;
    bool bitwise = rmw == RMW_AND || rmw == RMW_OR || rmw == RMW_XOR;
    if (!(wide || one_way || (narrow_float && rmw != RMW_XCHG)) ||
        (bitwise && ty_is_float(t)))
        return refuse(o, "not for %s", type_text(o, t));
    return ALL(want_arg(o, 1, t), want_mask(o, 2, t), want_result(o, 0, t));
}

const char *
check_cas(const Op *o)
{
    const char *err = ALL(want_count(o, 3, 4), want_pointer(o, true), want_order(o));
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    if (ty_bits(t) < 16)
        return refuse(o, "not for %s", type_text(o, t));
    return ALL(want_arg(o, 1, t), want_arg(o, 2, t), want_mask(o, 3, t),
               want_result(o, 0, t));
}

const char *
check_prefetch(const Op *o)
{
    const char *err = want_count(o, 1, 2);
    if (!err)
        err = want_pointer(o, false);
    if (!err)
        err = want_mask(o, 1, ty_pointee(comp(o), at(o, 0)));
    return err ? err : want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_CA);
}

/* ---- tiles ----------------------------------------------------------------------- */

static bool
is_index(const Type *t)
{
    return !t->rank && (is_elem(t, E_I64) || is_elem(t, E_I32));
}

/* The window of a block of type t, and the block, which may lack dims in front. */
static const char *
want_tile(const Op *o, const Type *t, bool writes)
{
    int rank = MAX(o->n_args / 3, t->rank), n = 3 * rank + writes;
    const char *err = ALL(want_count(o, n, n), want_pointer(o, writes));
    if (err)
        return err;
    const Type *p = at(o, 0);
    if (p->rank || p->elem == E_I1)
        return refuse(o, "operand 0 is %s", type_text(o, p));
    if (!t->rank || !same_element(t, ty_pointee(comp(o), p)))
        return refuse(o, "of %s through %s", type_text(o, t), type_text(o, p));
    for (int i = 1; i < 3 * rank; i++) {
        bool is_coordinate = i >= 2 * rank;
        if (is_coordinate ? !is_index(at(o, i)) : at(o, i) != ty_scalar(comp(o), E_I64))
            return refuse(o, "operand %d is %s", i, type_text(o, at(o, i)));
    }
    return NULL;
}

const char *
check_tile_load(const Op *o)
{
    const Type *t = res(o, 0);
    return ALL(want_tile(o, t, false), want_word(o, ATTR_PADDING, PAD_ZERO, PAD_BEHIND),
               ir_attr(o, ATTR_PADDING) == PAD_NAN && !ty_is_float(t)
                   ? refuse(o, "NaN is no %s", type_text(o, t))
                   : NULL);
}

const char *
check_tile_store(const Op *o)
{
    return ALL(want_count(o, 4, 3 * MAX_RANK + 1),
               want_tile(o, at(o, o->n_args - 1), true));
}

/* ---- tensor maps ----------------------------------------------------------------- */

/* Sides that a copy takes, in lines that the swizzle is of. */
static const char *
want_box(const Op *o, int rank, int elem_bytes)
{
    int64_t box = ir_attr(o, ATTR_BOX), swizzle = ir_attr(o, ATTR_SWIZZLE);
    bool ok = box >> (BOX_BITS * rank) == 0;
    for (int d = 0; d < rank; d++)
        ok = ok && box_side(box, d) >= 1 && box_side(box, d) <= MAX_BOX_SIDE;
    int line = box_side(box, rank - 1) * elem_bytes;
    if (!ok || line % 16)
        return refuse(o, "no box of a tensor of %d dims", rank);
    if (swizzle &&
        ((swizzle != 32 && swizzle != 64 && swizzle != 128) || line != swizzle))
        return refuse(o, "swizzle %" PRId64 " of lines of %d bytes", swizzle, line);
    return NULL;
}

const char *
check_tensor_map(const Op *o)
{
    int rank = o->n_args / 2;
    const char *err = want_count(o, 2, 2 * MAX_TMAP_RANK);
    if (!err && o->n_args % 2)
        err = refuse(o, "%d operands", o->n_args);
    if (!err)
        err = want_pointer(o, false);
    if (!err && at(o, 0)->rank)
        err = refuse(o, "operand 0 is %s", type_text(o, at(o, 0)));
    for (int i = 1; !err && i < o->n_args; i++)
        err = want_arg(o, i, ty_scalar(comp(o), E_I64));
    if (err)
        return err;
    Elem e = at(o, 0)->elem;
    return ALL(want_box(o, rank, elem_info[e].bytes),
               want_word(o, ATTR_PADDING, PAD_ZERO, PAD_BEHIND),
               o->block != o->block->func->body
                   ? refuse(o, "it is made at the launch, in no loop and no if")
                   : NULL,
               want_result(o, 0, ty_tmap(comp(o))));
}

const char *
check_launch_test(const Op *o)
{
    return ALL(want_arg(o, 0, ty_scalar(comp(o), E_I1)),
               o->block != o->block->func->body
                   ? refuse(o, "it is made at the launch, in no loop and no if")
                   : NULL);
}

/* A map, coordinates, and a block of type t that is whole boxes and may lack dims in front. */
static const char *
want_boxes(const Op *o, const Type *t, int n_more)
{
    const Op *map = arg(o, 0)->def;
    if (!map || map->op != OP_TENSOR_MAP)
        return refuse(o, "operand 0 is %s", type_text(o, at(o, 0)));
    int rank = map->n_args / 2, lead = rank - t->rank, n = 1 + rank + n_more;
    if (lead < 0 || !t->rank || !is_elem(t, at(map, 0)->elem))
        return refuse(o, "%s of a map of %d dims", type_text(o, t), rank);
    const char *err = want_count(o, n, n);
    for (int d = 0; !err && d < rank; d++) {
        int box = box_side(ir_attr(map, ATTR_BOX), d);
        err = want_arg(o, 1 + d, i32(o));
        if (!err && (d < lead ? box != 1 : t->shape[d - lead] % box))
            err = refuse(o, "%s is no whole boxes", type_text(o, t));
    }
    return err;
}

const char *
check_map_load(const Op *o)
{
    return ALL(want_count(o, 2, 1 + MAX_TMAP_RANK), want_boxes(o, res(o, 0), 0));
}

const char *
check_map_store(const Op *o)
{
    const char *err = want_count(o, 3, 4 + MAX_TMAP_RANK);
    if (err)
        return err;
    const Type *t = at(o, o->n_args - 1);
    const Val *stage = ir_store_stage(o);
    return ALL(want_boxes(o, t, stage ? 3 : 1),
               stage ? want_arg(o, o->n_args - 2, i32(o)) : NULL,
               at(arg(o, 0)->def, 0)->is_const ? refuse(o, "through a const pointer")
                                               : NULL);
}

/* ---- shared memory --------------------------------------------------------------- */

/* The type of one slot of operand i, which must be shared memory, in layout l. */
static const Type *
slot_type(const Op *o, int i, const Layout *l)
{
    return ty_slot(comp(o), at(o, i), l);
}

static const char *
want_slot(const Op *o, int smem)
{
    if (!at(o, smem)->slots || at(o, smem)->is_local)
        return refuse(o, "operand %d is %s, expected smem", smem,
                      type_text(o, at(o, smem)));
    return want_arg(o, smem + 1, i32(o));
}

/* Is t shared memory whose layout says where elements are? */
static bool
is_place(const Type *t)
{
    const Layout *l = t->layout;
    return t->slots && !t->is_local && t->rank && !t->is_ptr && l &&
           l->n[IN_REG] == layout_n_in(l) && l->n[IN_REG] == layout_bits(l) &&
           layout_is_onto(l);
}

const char *
check_shared_alloc(const Op *o)
{
    const Type *t = res(o, 0);
    int64_t unit = ir_attr(o, ATTR_UNIT);
    if (unit < 0 || unit > 24)
        return refuse(o, "unit %" PRId64, unit);
    return is_place(t)
               ? NULL
               : refuse(o, "of %s: no map of offsets to elements", type_text(o, t));
}

const char *
check_shared_load(const Op *o)
{
    const char *err = want_slot(o, 0);
    const Type *whole = at(o, 0), *t = res(o, 0);
    int64_t axis = ir_attr(o, ATTR_AXIS), start = ir_attr(o, ATTR_START);
    if (err)
        return err;
    if (!t->layout)
        return refuse(o, "result 0 has no layout");
    bool ok = t->rank == whole->rank && axis >= 0 && axis < t->rank && start >= 0;
    for (int d = 0; ok && d < t->rank; d++)
        ok = d == axis
                 ? start % t->shape[d] == 0 && start + t->shape[d] <= whole->shape[d]
                 : t->shape[d] == whole->shape[d];
    if (!ok || !same_element(t, ty_slot(comp(o), whole, NULL)))
        return refuse(o, "%s from %s", type_text(o, t), type_text(o, whole));
    return NULL;
}

const char *
check_shared_store(const Op *o)
{
    return ALL(want_slot(o, 0),
               !at(o, 2)->layout ? refuse(o, "operand 2 has no layout") : NULL,
               want_arg(o, 2, slot_type(o, 0, at(o, 2)->layout)));
}

const char *
check_local_alloc(const Op *o)
{
    const Type *t = res(o, 0);
    int64_t begin = ir_attr(o, ATTR_AT);
    if (!t->is_local || !t->rank || !t->layout || !layout_is_onto(t->layout))
        return refuse(o, "of %s: no slices of a block with a layout", type_text(o, t));
    return begin >= 0 && begin % 16 == 0 ? NULL : refuse(o, "at %" PRId64, begin);
}

/* What is in a slot, or a part of that. */
static const Type *
slice_type(const Op *o)
{
    const Type *all = slot_type(o, 0, at(o, 0)->layout);
    int64_t bits = ir_attr(o, ATTR_PART);
    return bits ? ty_part(comp(o), all, (Col)bits) : all;
}

static const char *
want_slice(const Op *o)
{
    if (!at(o, 0)->is_local)
        return refuse(o, "operand 0 is %s, expected local", type_text(o, at(o, 0)));
    if (ir_attr(o, ATTR_PART) && (at(o, 0)->slots > 1 || !slice_type(o)))
        return refuse(o, "of %s: no such parts", type_text(o, at(o, 0)));
    return want_arg(o, 1, i32(o));
}

const char *
check_local_load(const Op *o)
{
    return ALL(want_slice(o), want_result(o, 0, slice_type(o)));
}

const char *
check_local_store(const Op *o)
{
    return ALL(want_slice(o), want_arg(o, 2, slice_type(o)));
}

const char *
check_to_shared(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    return refuse_change(o, !from->layout || from->slots || !is_place(to) ||
                                to->slots != 1 ||
                                ty_slot(comp(o), to, from->layout) != from);
}

const char *
check_shared_view(const Op *o)
{
    const char *err = want_slot(o, 0);
    const Type *from = at(o, 0), *to = res(o, 0);
    int perm[MAX_RANK];
    if (err)
        return err;
    bool ok = is_place(to) && to->slots == 1 && to->rank == from->rank &&
              same_element(from, to) &&
              perm_unpack(from->rank, ir_attr(o, ATTR_PERM), perm);
    for (int d = 0; ok && d < to->rank; d++)
        ok = to->shape[d] == from->shape[perm[d]];
    if (!ok || layout_permute(comp(o), from->layout, perm) != to->layout)
        return refuse(o, "%s of %s", type_text(o, to), type_text(o, from));
    return NULL;
}

const char *
check_async_copy(const Op *o)
{
    const char *err = ALL(want_count(o, 3, 5), want_pointer(o, false), want_slot(o, 1));
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    if (!t->layout || slot_type(o, 1, t->layout) != t)
        return refuse(o, "from %s to %s", type_text(o, at(o, 0)),
                      type_text(o, at(o, 1)));
    return ALL(want_mask(o, 3, t),
               (o->n_args > 4 && at(o, 4) != ty_with_elem(comp(o), t, E_I32))
                   ? refuse(o, "count is %s", type_text(o, at(o, 4)))
                   : NULL,
               want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_CV),
               want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST));
}

/* ---- rings ----------------------------------------------------------------------- */

const char *
check_ring_alloc(const Op *o)
{
    int n = o->n_results - 2;
    if (n < 1)
        return refuse(o, "%d results, expected places, full and empty", o->n_results);
    for (int i = 0; i < n; i++)
        if (!is_place(res(o, i)) || res(o, i)->slots != res(o, 0)->slots)
            return refuse(o, "of %s: no place of as many slots as the others",
                          type_text(o, res(o, i)));
    const Type *mbars = ty_mbar(comp(o), res(o, 0)->slots);
    return ALL(want_word(o, ATTR_ARRIVALS, 1, MAX_ARRIVALS),
               want_word(o, ATTR_PAIR, 0, 2), want_word(o, ATTR_CLOCKS, 0, 1),
               want_word(o, ATTR_CTAS, 0, MAX_SHARES), want_result(o, n, mbars),
               want_result(o, n + 1, mbars));
}

/* Registers of the result are some of the operand's: columns above all others in the layout are a rank's. */
const char *
check_reduce_scatter(const Op *o)
{
    const Type *all = at(o, 0), *own = res(o, 0);
    const Op *ring = arg(o, 1)->def;
    bool ok = all->rank == 2 && own->rank == 2 && all->shape[0] == own->shape[0] &&
              all->shape[1] % own->shape[1] == 0 && all->elem == own->elem &&
              (is_elem(all, E_F32) || is_elem(all, E_I32));
    if (!ok)
        return refuse(o, "of %s gives %s", type_text(o, all), type_text(o, own));
    if (!ring || ring->op != OP_RING_ALLOC ||
        ir_attr(ring, ATTR_CTAS) != all->shape[1] / own->shape[1])
        return refuse(o, "operand 1 is of no ring of %d blocks",
                      all->shape[1] / own->shape[1]);
    return NULL;
}

/* Operand i is mbarriers, i + 1 says which. */
static const char *
want_mbar(const Op *o, int i)
{
    if (!at(o, i)->mbars)
        return refuse(o, "operand %d is %s, expected mbar", i, type_text(o, at(o, i)));
    return want_arg(o, i + 1, i32(o));
}

const char *
check_mbar_wait(const Op *o)
{
    enum { MAX_LOOKS = 1 << 10 };
    return ALL(want_mbar(o, 0), want_arg(o, 2, i32(o)),
               want_word(o, ATTR_LOOKS, 0, MAX_LOOKS));
}

const char *
check_mbar_arrive(const Op *o)
{
    enum { MAX_BYTES = (1 << 20) - 1 };
    return ALL(want_count(o, 2, 3), want_mbar(o, 0),
               o->n_args > 2 ? want_arg(o, 2, ty_scalar(comp(o), E_I1)) : NULL,
               want_word(o, ATTR_BYTES, 0, MAX_BYTES));
}

const char *
check_turn(const Op *o)
{
    enum { MAX_CLOCKS = 1 << 16 };
    const Op *ring = o->n_args ? arg(o, 0)->def : NULL;
    return ALL(o->n_args ? want_count(o, 2, 2) : NULL,
               o->n_args ? want_mbar(o, 0) : NULL,
               o->n_args && !(ring && ir_attr(ring, ATTR_CLOCKS))
                   ? refuse(o, "operand 0 is of no ring with clocks")
                   : NULL,
               want_word(o, ATTR_CLOCKS, 0, MAX_CLOCKS));
}

const char *
check_tma_load(const Op *o)
{
    const char *err = want_count(o, 5, 4 + MAX_TMAP_RANK);
    if (!err && !at(o, 0)->is_tmap)
        err = refuse(o, "operand 0 is %s, expected tmap", type_text(o, at(o, 0)));
    if (!err)
        err = want_slot(o, 1);
    if (!err && at(o, 3)->mbars != at(o, 1)->slots)
        err = refuse(o, "operand 3 is %s, expected mbar<%d>", type_text(o, at(o, 3)),
                     at(o, 1)->slots);
    for (int i = 4; !err && i < o->n_args; i++)
        err = want_arg(o, i, i32(o));
    if (!err)
        err = want_word(o, ATTR_START, 0, ty_numel(at(o, 1)) * ty_bytes(at(o, 1)) - 1);
    const Op *ring = arg(o, 3)->def;
    bool is_pairs = ring && ring->op == OP_RING_ALLOC && ir_attr(ring, ATTR_PAIR);
    return err ? err : want_word(o, ATTR_PAIR, 0, is_pairs);
}

const char *
check_pending(const Op *o)
{
    return want_word(o, ATTR_PENDING, 0, MAX_SLOTS);
}
