/* bounds: every access of a kernel against the tensors of the launch (TEGULA_CHECK_BOUNDS).
 *
 *     off = address - start of the tensor the pointer is made from
 *     off <= size  and  size - off >= bytes of the access  ?  go on
 *     : tegula_bounds(..), which looks at all tensors, lane by lane where lanes are masked off,
 *       and says whether there is a fault: then the program is left before the access
 *
 * So the usual access costs a subtraction and two compares, and what is rare (the last step
 * of a row, a pointer of one tensor that reaches into another) a call. Off, nothing is
 * emitted: the check is part of a variant's key.
 */
#include "codegen/host/calls.h"
#include "codegen/host/host.h"
#include "runtime/emu/emu.h"

#include <stddef.h>

static Lv
text_of(Host *h, const char *text)
{
    return LLVMBuildGlobalStringPtr(h->l->b, text ? text : "", "text");
}

Lv
host_access_of(Host *h, const Op *o, int bytes, int lanes)
{
    Ll *l = h->l;
    const Loc *at = o->loc;
    while (at && at->is_library && at->caller)
        at = at->caller;
    bool is_write = op_has(o, OPF_WRITES);
    Lv field[] = {text_of(h, at ? at->file : NULL),
                  text_of(h, at ? at->func : NULL),
                  ll_i32(l, at ? at->line : 0),
                  ll_i32(l, at ? at->col : 0),
                  ll_i32(l, bytes),
                  ll_i32(l, lanes),
                  ll_i32(l, is_write),
                  ll_i32(l, ir_reaches_elsewhere(o))};
    Lv value = LLVMConstStructInContext(l->cx, field, COUNT(field), 0);
    return ll_constant(l, value, "access");
}

/* Field `which` (0: start, 1: bytes) of the span of a parameter. */
static Lv
span_field(Host *h, int param, int which)
{
    Ll *l = h->l;
    Lv run = LLVMBuildLoad2(l->b, l->ptr, h->scratch, "");
    Lv at = ll_byte_at(l, run, ll_i64(l, (int64_t)offsetof(HostRun, spans)));
    Lv spans = LLVMBuildLoad2(l->b, l->ptr, at, "");
    return ll_load_element(l, l->i64, spans, ll_i64(l, 2 * param + which));
}

/* i1, of every lane where address is a vector: do so many bytes from it lie in the span? */
static Lv
is_within(Host *h, int param, Lv address, int64_t bytes)
{
    Ll *l = h->l;
    int lanes = ll_lanes(address);
    Lv start = ll_splat(l, span_field(h, param, 0), lanes),
       size = ll_splat(l, span_field(h, param, 1), lanes);
    Lv off = LLVMBuildSub(l->b, address, start, "");
    Lv begins = LLVMBuildICmp(l->b, LLVMIntULE, off, size, "");
    Lv ends = LLVMBuildICmp(l->b, LLVMIntUGE, LLVMBuildSub(l->b, size, off, ""),
                            ll_splat(l, ll_i64(l, bytes), lanes), "");
    return LLVMBuildAnd(l->b, begins, ends, "");
}

void
host_guard(Host *h, const Op *o, Mode m, int lanes, Lv ptr, Lv mask)
{
    host_note(h, o, m, lanes); /* every access comes by here */
    if (!h->c->opt.check_bounds || (mask && LLVMIsNull(mask)))
        return;
    Ll *l = h->l;
    int bytes = ty_bytes(ty_pointee(h->c, arg(o, 0)->type)), n = MAX(lanes, 1);
    bool is_each = m == M_GATHER && lanes > 1;
    Lt address_type = is_each ? ll_vec(l->i64, lanes) : l->i64;
    Lv address = LLVMBuildPtrToInt(l->b, ptr, address_type, "");
    Lv bad = LLVMBuildNot(l->b,
                          is_within(h, written_origin(h->written, arg(o, 0)), address,
                                    is_each ? bytes : (int64_t)bytes * n),
                          "");
    if (mask && ll_lanes(bad) == ll_lanes(mask))
        bad = LLVMBuildAnd(l->b, bad, mask, "");
    else if (mask)
        bad = LLVMBuildAnd(l->b, host_any(h, bad), host_any(h, mask), "");
    LLVMBasicBlockRef look = ll_block(l, "look"), fine = ll_block(l, "inside");
    ll_if(l, host_any(h, bad), look, fine);
    Lv args[6] = {h->scratch,
                  h->pid,
                  host_access_of(h, o, bytes, n),
                  is_each ? LLVMConstNull(l->i64) : address,
                  is_each ? host_spill(h, address) : LLVMConstNull(l->ptr),
                  mask ? host_bits(h, mask) : ll_i64(l, -1)};
    Lv fault = ll_call_c(l, "tegula_bounds", l->i32, args, COUNT(args));
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, fault, ll_i32(l, 0), ""),
                    h->leave, fine);
    LLVMPositionBuilderAtEnd(l->b, fine);
}
