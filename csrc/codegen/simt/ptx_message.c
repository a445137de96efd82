/* ptx_message: what a kernel says: a failed assertion, device_print.
 */
#include "codegen/simt/ptx.h"

static Lv
text_constant(Ll *l, const char *s)
{
    Lv init = LLVMConstStringInContext2(l->cx, s, strlen(s), 0);
    Lv g = LLVMAddGlobalInAddressSpace(l->m, LLVMTypeOf(init), "text", AS_GLOBAL);
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return LLVMBuildAddrSpaceCast(l->b, g, l->ptr, "");
}

/* What follows runs where pred is true, up to ll_jump to the block that this gives. */
static LLVMBasicBlockRef
open_if(Ll *l, Lv pred)
{
    LLVMBasicBlockRef then = ll_block(l, "on"), after = ll_block(l, "off");
    ll_if(l, pred ? pred : LLVMConstInt(l->i1, 1, false), then, after);
    return after;
}

/* The driver's own assert: prints to stderr and stops the kernel with
 * CUDA_ERROR_ASSERT, which the launcher reports. */
void
ptx_trap_if(Ll *l, Lv cond, const char *text, const Loc *loc)
{
    LLVMBasicBlockRef after = open_if(l, cond);
    Lv args[] = {text_constant(l, text),
                 text_constant(l, loc && loc->file ? loc->file : "?"),
                 ll_i32(l, loc ? loc->line : 0),
                 text_constant(l, loc && loc->func ? loc->func : "?"), ll_i64(l, 1)};
    ll_call_c(l, "__assertfail", l->void_, args, COUNT(args));
    ll_jump(l, after);
}

/* vprintf's buffer: each argument at its natural alignment. */
static Lv
print_buffer(Ll *l, Lv *v, int n)
{
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(v[i]);
    Lt all = LLVMStructTypeInContext(l->cx, types, (unsigned)n, 0);
    Lv at = ll_slot(l, all);
    for (int i = 0; i < n; i++)
        LLVMBuildStore(l->b, v[i], LLVMBuildStructGEP2(l->b, all, at, (unsigned)i, ""));
    return at;
}

/* The element as vprintf takes it, and its conversion. */
static Lv
printable(Ll *l, const Type *t, bool hex, Lv x, Sb *format)
{
    if (t->is_ptr) {
        sb_put(format, "0x%016llx");
        return LLVMBuildPtrToInt(l->b, x, l->i64, "");
    }
    Elem e = t->elem;
    if (hex) {
        sb_printf(format, "0x%%0%dllx", (elem_info[e].bits + 3) / 4);
        return LLVMBuildZExt(l->b, ptx_as_bits(l, e, x), l->i64, "");
    }
    if (elem_is_float(e)) {
        sb_put(format, "%f");
        return cg_cast(l, e, E_F64, x, ROUND_RTNE);
    }
    sb_put(format, elem_is_signed(e) ? "%lld" : "%llu");
    return cg_cast(l, e, elem_is_signed(e) ? E_I64 : E_U64, x, ROUND_RTNE);
}

static void
put_escaped(Sb *sb, const char *s)
{
    for (; *s; s++)
        sb_put(sb, *s == '%' ? "%%" : (char[]){*s, 0});
}

static Lv
coordinate(Ll *l, const Type *t, Lv flat, int dim)
{
    int stride = 1;
    for (int i = dim + 1; i < t->rank; i++)
        stride *= t->shape[i];
    Lv at = LLVMBuildUDiv(l->b, flat, ll_i32(l, stride), "");
    return LLVMBuildURem(l->b, at, ll_i32(l, t->shape[dim]), "");
}

/* "pid (0, 0, 0) idx ( 3, 17)text: value", as the emulator prints it. */
void
ptx_print(Ll *l, const Op *o, int operand, Lv flat_index, Lv value, Lv pred)
{
    enum { PIDS = 3 };
    const Type *t = operand < 0 ? NULL : arg(o, operand)->type;
    Lv v[PIDS + MAX_RANK + 1];
    int n = 0, rank = t ? t->rank : 0;
    int32_t sides[MAX_RANK];
    Sb format = {.a = l->c->arena};
    if (t)
        ty_unpack_sides(t, ir_attr(o, ATTR_SIDES), sides);
    for (int d = 0; d < rank; d++) { /* not the padding */
        if (sides[d] == t->shape[d])
            continue;
        Lv at = coordinate(l, t, flat_index, d);
        Lv in = LLVMBuildICmp(l->b, LLVMIntULT, at, ll_i32(l, sides[d]), "");
        pred = pred ? LLVMBuildAnd(l->b, pred, in, "") : in;
    }
    LLVMBasicBlockRef after = open_if(l, pred);
    for (int axis = 0; axis < PIDS; axis++)
        v[n++] = ptx_program_id(l, axis);
    sb_put(&format, "pid (%d, %d, %d) idx (");
    for (int d = 0; d < rank; d++) {
        v[n++] = coordinate(l, t, flat_index, d);
        sb_printf(&format, "%s%%%dd", d ? ", " : "",
                  snprintf(NULL, 0, "%d", sides[d] - 1));
    }
    sb_put(&format, ")");
    put_escaped(&format, o->text);
    if (ir_n_values(o) > 1)
        sb_printf(&format, "(operand %d) ", operand);
    if (t)
        v[n] = printable(l, t, ir_attr(o, ATTR_HEX) != 0, value, &format), n++;
    sb_put(&format, "\n");
    ll_call_c(l, "vprintf", l->i32,
              (Lv[]){text_constant(l, format.at), print_buffer(l, v, n)}, 2);
    ll_jump(l, after);
}
