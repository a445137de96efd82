/* builtins_extern: assembly, and functions of one element.
 *
 * Assembly is PTX. A GPU's assembler reads it; where none is the target it is read here,
 * and run by csrc/ptx, so what is wrong with it is said at the line it stands in.
 * Functions of libraries: builtins_library.c.
 */
#include "frontend/fe.h"
#include "ptx/asm.h"

int
fe_operands(Fe *f, Value args, Val **x)
{
    if (args.kind != V_TUPLE) {
        Value one[1] = {args};
        args = v_tuple(f, 1, one);
    }
    int n = args.tuple->n;
    if (n > MAX_LEAVES)
        fail(f, LIMIT, "%s has too many operands", f->callee);
    for (int i = 0; i < n; i++)
        x[i] = fe_tensor(f, args.tuple->at[i],
                         str_printf(f->a, "an operand of %s", f->callee));
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < n; i++)
            fe_broadcast_pair(f, &x[0], &x[i]);
    return n;
}

static const char *
target_name(const Fe *f)
{
    return f->c->opt.interpret                   ? "the interpreter"
           : f->c->opt.target.kind == TARGET_CPU ? "the CPU"
                                                 : "the emulator";
}

enum { MAX_RESULTS = 64 }; /* of assembly */

/* Bits of an element in a register of the assembly. */
static int
asm_bits(const Type *t)
{
    return MAX(8, ty_bits(t));
}

static bool
runs_on_threads(const char *form_and_text)
{
    char err[PTX_ERROR];
    PtxAsm *a = NULL;
    bool ok = ptx_asm_new(form_and_text, PTX_NEWEST | PTX_THREADS, &a, err) == PTX_OK;
    ptx_asm_free(a);
    return ok;
}

/* What an assembler will see is its to read, but for the operands, which LLVM puts there. */
static void
read_assembly(Fe *f, const char *form_and_text)
{
    const Comp *c = f->c;
    char err[PTX_ERROR];
    PtxAsm *a = NULL;
    bool is_emu = c->opt.target.kind == TARGET_EMU && !c->opt.interpret;
    bool is_ptx = !c->opt.interpret && c->opt.target.kind == TARGET_CUDA;
    int sm = is_ptx   ? PTX_SPELLING
             : is_emu ? c->opt.target.sm | PTX_THREADS
                      : PTX_NEWEST;
    PtxStatus s = ptx_asm_new(form_and_text, sm, &a, err);
    ptx_asm_free(a);
    switch (s) {
    case PTX_OK: return;
    case PTX_NO_MEMORY: err_at(f->c, f->b.loc, MEMORY);
    case PTX_BAD: fail(f, VALUE, "in the assembly, %s", err);
    case PTX_UNKNOWN:
        err_help(f->c,
                 "%s choose by tl.target_info.is_ptx(), or write it in the language",
                 !is_emu && runs_on_threads(form_and_text)
                     ? "threads meet in it, so it runs on GPUs and on the emulator "
                       "(TEGULA_TARGET=emu:sm_90a):"
                 : ptx_asm_meets(form_and_text) ? "it runs on GPUs alone:"
                                                : "where GPUs have it,");
        err_at(f->c, f->b.loc, TARGET, str_intern(f->c, err), target_name(f));
    }
}

/* A piece of assembly. */
typedef struct Assembly {
    const char *constraints, *text;
    int n_in, n_out, pack;
    bool is_pure;
    Val **x;               /* operands */
    Elem out[MAX_RESULTS]; /* types of the results */
} Assembly;

static Op *
assembly(Fe *f, const Assembly *s)
{
    const Type *t[MAX_RESULTS];
    for (int i = 0; i < s->n_out; i++)
        t[i] = s->n_in ? ty_with_elem(f->c, s->x[0]->type, s->out[i])
                       : ty_scalar(f->c, s->out[i]);
    Op *o = ir_op(&f->b, s->is_pure ? OP_INLINE_ASM : OP_INLINE_ASM_IO, s->n_in, s->x,
                  s->n_out, t);
    o->text = str_intern(f->c, str_printf(f->a, "%s\n%s", s->constraints, s->text));
    ir_set_attr(o, ATTR_PACK, s->pack);
    return o;
}

/* One of ours: no operands, one scalar. */
static Val *
own_assembly(Fe *f, const char *constraints, const char *text, Elem e, bool is_pure)
{
    Assembly s = {.constraints = constraints,
                  .text = text,
                  .n_out = 1,
                  .pack = 1,
                  .is_pure = is_pure,
                  .out = {e}};
    return result(assembly(f, &s), 0);
}

/* What the user wrote: the constraints fit, and the text means something. */
static Op *
checked_assembly(Fe *f, const Assembly *s)
{
    PtxForm form;
    char err[PTX_ERROR];
    const char *constraints = s->constraints;
    int bits[MAX_LEAVES + MAX_RESULTS], n_in = s->n_in;
    if (strchr(constraints, '\n'))
        fail(f, VALUE, "the constraints of the assembly are more than one line");
    for (int i = 0; i < n_in; i++)
        bits[i] = asm_bits(s->x[i]->type);
    for (int i = 0; i < s->n_out; i++)
        bits[n_in + i] = asm_bits(ty_scalar(f->c, s->out[i]));
    if (!ptx_form_read(&form, constraints, strlen(constraints), err) ||
        !ptx_form_fits(&form, n_in, s->n_out, bits, s->pack, err)) {
        err_help(f->c,
                 "constraints are =r =f =l =d =h for results, then the same without "
                 "= for operands; pack elements of less than 32 bits share 32-bit "
                 "registers");
        fail(f, VALUE, "in the assembly, %s", err);
    }
    read_assembly(f, str_printf(f->a, "%s\n%s", constraints, s->text));
    return assembly(f, s);
}

Value
bi_inline_asm_elementwise(Fe *f, Value *a)
{
    Val *x[MAX_LEAVES];
    Assembly s = {.text = v_const_str(f, a[0], "asm"),
                  .constraints = v_const_str(f, a[1], "constraints"),
                  .n_in = fe_operands(f, fe_read(f, a[2]), x),
                  .is_pure = v_const_bool(f, a[4], "is_pure"),
                  .x = x};
    int64_t pack = v_const_int(f, a[5], "pack");
    if (pack < 1 || pack > 64)
        fail(f, VALUE, "pack must be 1 .. 64, not %lld", (long long)pack);
    s.pack = (int)pack;
    Value dtype = fe_read(f, a[3]);
    bool is_tuple = dtype.kind == V_TUPLE;
    s.n_out = is_tuple ? dtype.tuple->n : 1;
    if (!s.n_out || s.n_out > MAX_RESULTS)
        fail(f, VALUE, "assembly has 1 .. %d results, dtype names %d", MAX_RESULTS,
             s.n_out);
    for (int i = 0; i < s.n_out; i++)
        s.out[i] = v_elem(f, is_tuple ? dtype.tuple->at[i] : dtype, "dtype");
    Op *o = checked_assembly(f, &s);
    Value out[MAX_RESULTS];
    for (int i = 0; i < s.n_out; i++)
        out[i] = v_val(result(o, i));
    return is_tuple ? v_tuple(f, s.n_out, out) : out[0];
}

/* Programmatic dependent launch: nothing to do where there is none. */
static Value
grid_control(Fe *f, const char *what)
{
    if (f->c->opt.target.kind != TARGET_CPU && f->c->opt.target.sm >= 90 &&
        !f->c->opt.interpret)
        own_assembly(f, "=r,~{memory}",
                     str_printf(f->a, "griddepcontrol.%s; mov.u32 $0, 0;", what), E_I32,
                     false);
    return v_obj(Py_None);
}

Value
bi_gdc_wait(Fe *f, Value *a)
{
    (void)a;
    return grid_control(f, "wait");
}

Value
bi_gdc_launch_dependents(Fe *f, Value *a)
{
    (void)a;
    return grid_control(f, "launch_dependents");
}

Value
bi_globaltimer(Fe *f, Value *a)
{
    (void)a;
    return v_val(
        own_assembly(f, "=l,~{memory}", "mov.u64 $0, %globaltimer;", E_I64, false));
}

/* On a GPU the warp sleeps, on a CPU the thread gives its core away. */
Value
bi_pause(Fe *f, Value *a)
{
    (void)a;
    own_assembly(f, "=r,~{memory}", "nanosleep.u32 40; mov.u32 $0, 0;", E_I32, false);
    return v_obj(Py_None);
}

Value
bi_smid(Fe *f, Value *a)
{
    (void)a;
    return v_val(own_assembly(f, "=r", "mov.u32 $0, %smid;", E_I32, true));
}

/* ---- map_elementwise ------------------------------------------------------------------ */

/* x as n blocks: elements 0, n, 2n .. are the first. n is a power of two. */
static void
deal(Fe *f, Val *x, int n, Val **out)
{
    if (n == 1) {
        out[0] = x;
        return;
    }
    const Type *t = x->type;
    int32_t shape[MAX_RANK];
    int r = t->rank;
    memcpy(shape, t->shape, sizeof shape);
    if (r == MAX_RANK || shape[r - 1] % n)
        fail(f, VALUE, "pack=%d does not divide the last dimension of %s", n,
             ty_shape_str(f->a, t));
    shape[r - 1] /= 2;
    shape[r] = 2;
    Val *half[2];
    Value pair = bi_split(f, (Value[]){v_val(fe_reshape(f, x, r + 1, shape))});
    Val *part[2][32];
    for (int k = 0; k < 2; k++) {
        half[k] = pair.tuple->at[k].val;
        deal(f, half[k], n / 2, part[k]);
    }
    for (int i = 0; i < n; i++)
        out[i] = part[i & 1][i / 2];
}

/* The inverse. */
static Val *
collect_lanes(Fe *f, int n, Val *const *x)
{
    if (n == 1)
        return x[0];
    Val *part[2][32];
    for (int i = 0; i < n; i++)
        part[i & 1][i / 2] = x[i];
    Value pair[2];
    for (int k = 0; k < 2; k++)
        pair[k] = v_val(collect_lanes(f, n / 2, part[k]));
    return bi_interleave(f, pair).val;
}

/* The function is lowered for scalars, then widened: see widen.c. */
Value
bi_map_elementwise(Fe *f, Value *a)
{
    Val *x[MAX_LEAVES], *part[32];
    int n = fe_operands(f, a[1], x);
    int64_t pack = fe_is_given(a[2]) ? v_const_int(f, a[2], "pack") : 1;
    if (pack < 1 || pack > 32 || pack & (pack - 1))
        fail(f, VALUE, "pack must be 1, 2, 4 .. 32, not %lld", (long long)pack);
    if (!n || !x[0]->type->rank)
        fail(f, VALUE, "map_elementwise needs a block");
    int n_args = n * (int)pack;
    Block *plan = ir_block(f->func, NULL);
    Value *args = NEW_N(f->a, Value, n_args + 1);
    Val **all = NEW_N(f->a, Val *, n_args + 1);
    for (int i = 0; i < n; i++) {
        deal(f, x[i], (int)pack, part);
        for (int k = 0; k < pack; k++) {
            int at = i * (int)pack + k;
            all[at] = part[k];
            args[at] = v_val(ir_block_arg(plan, ty_element(f->c, part[k]->type), NULL));
        }
    }
    Build outer = f->b;
    const char *callee = f->callee;
    fe_build_in(f, plan);
    f->n_silent++;
    Value r = fe_decay(f, fe_read(f, fe_call_value(f, a[0], n_args, args)));
    f->n_silent--;
    f->b.loc = outer.loc;
    f->callee = callee;
    Value one[1] = {r};
    Value t = r.kind == V_TUPLE ? r : v_tuple(f, 1, one);
    int n_out = t.tuple->n / (int)pack;
    bool ok = n_out * pack == t.tuple->n && n_out > 0;
    for (int i = 0; ok && i < t.tuple->n; i++)
        ok = t.tuple->at[i].kind == V_TENSOR;
    if (!ok) {
        err_help(f->c, "it returns pack values for each result, all of them tensors");
        fail(f, TYPE, "the function of map_elementwise returns %s", v_short(f, r));
    }
    Val **res = NEW_N(f->a, Val *, t.tuple->n);
    for (int i = 0; i < t.tuple->n; i++)
        res[i] = t.tuple->at[i].val;
    ir_op(&f->b, OP_YIELD, t.tuple->n, res, 0, NULL);
    f->b = outer;
    fe_widen(f, plan, "a function of map_elementwise", NULL, all, res);
    while (plan->last)
        ir_erase(plan->last);
    Value *out = NEW_N(f->a, Value, n_out);
    for (int i = 0; i < n_out; i++)
        out[i] = v_val(collect_lanes(f, (int)pack, res + i * pack));
    return n_out == 1 ? out[0] : v_tuple(f, n_out, out);
}
