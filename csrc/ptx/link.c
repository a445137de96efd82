/* link: a kernel and the functions it calls become one program.
 *
 * A function's code is appended to the kernel's, with places of its own in the file of
 * registers and in local memory: each thread has one frame of every function, so there is
 * no recursion, which is refused. Arguments and results are bytes copied from the caller's
 * .param variables to the function's and back.
 */
#include "ptx/engine.h"

typedef struct Linker {
    Module *mod;
    Func *kernel;
    const Func *done[64]; /* functions appended so far */
    uint64_t calls[64];   /* of each: those it calls, as bits */
    int entry[64], n_done;
    uint32_t local[64]; /* their frames */
    char *err;
} Linker;

/* How far what is a function's lies behind its own numbers. */
typedef struct Shift {
    uint32_t file, regs, local;
    int code;
} Shift;

static Reg
moved(Reg r, const Shift *s)
{
    r.at += s->file;
    r.id += r.id ? s->regs : 0;
    return r;
}

static void
move_call(Linker *k, Ins *i, const Shift *s)
{
    Call *c = pool_alloc(k->mod->pool, sizeof *c);
    *c = *(const Call *)i->more;
    for (int a = 0; a < c->n_args; a++)
        c->arg[a] += s->local;
    if (c->result >= 0)
        c->result += s->local;
    i->more = c;
}

static Ins
moved_ins(Linker *k, const Ins *from, const Shift *s)
{
    Ins i = *from;
    int n = i.n_out + i.n_in;
    Reg *regs = POOL_NEW(k->mod->pool, Reg, n + 1);
    for (int r = 0; r < n; r++)
        regs[r] = moved(from->out[r], s);
    i.out = regs;
    i.in = regs + i.n_out;
    i.d += s->file, i.a += s->file, i.b += s->file, i.c += s->file;
    i.guard = moved(i.guard, s);
    i.target += i.target >= 0 ? s->code : 0;
    if (i.is_call)
        move_call(k, &i, s);
    return i;
}

static void *
joined(Pool *p, const void *a, int n, const void *b, int m, size_t size)
{
    char *both = pool_alloc(p, size * (size_t)(n + m + 1));
    if (n)
        memcpy(both, a, size * (size_t)n);
    if (m)
        memcpy(both + size * (size_t)n, b, size * (size_t)m);
    return both;
}

static void
append(Linker *k, const Func *f)
{
    Func *to = k->kernel;
    Pool *p = k->mod->pool;
    Shift s = {(to->file_bytes + 63) & ~63u, to->n_regs, (to->local_bytes + 15) & ~15u,
               to->n_code};
    to->code = joined(p, to->code, to->n_code, f->code, f->n_code, sizeof(Ins));
    for (int i = to->n_code; i < to->n_code + f->n_code; i++)
        to->code[i] = moved_ins(k, &to->code[i], &s);
    to->consts = joined(p, to->consts, to->n_consts, f->consts, f->n_consts,
                        sizeof(Const));
    for (int i = to->n_consts; i < to->n_consts + f->n_consts; i++) {
        Const *c = &to->consts[i];
        c->reg = moved(c->reg, &s);
        c->value += c->sym && c->sym->space == SPACE_LOCAL ? s.local : 0;
    }
    to->specials = joined(p, to->specials, to->n_specials, f->specials, f->n_specials,
                          sizeof *f->specials);
    for (int i = to->n_specials; i < to->n_specials + f->n_specials; i++)
        to->specials[i].reg = moved(to->specials[i].reg, &s);
    k->done[k->n_done] = f;
    k->entry[k->n_done] = to->n_code;
    k->local[k->n_done++] = s.local;
    to->n_code += f->n_code;
    to->n_consts += f->n_consts;
    to->n_specials += f->n_specials;
    to->file_bytes = s.file + f->file_bytes;
    to->n_regs += f->n_regs;
    to->local_bytes = s.local + f->local_bytes;
}

/* The place of the function that is called, appended if it was not. False: err. */
static bool
resolve(Linker *k, Ins *i)
{
    Call *c = (Call *)(uintptr_t)i->more; /* its linker's to write */
    const Sym *s = names_get(k->mod->names, c->name);
    const Func *f = s && s->kind == SYM_FUNC ? s->func : NULL;
    if (!f || !f->has_body || f->is_entry || f->n_params != c->n_args) {
        snprintf(k->err, PTX_TEXT,
                 "line %d: a call of %s with %d arguments is not simulated", i->line,
                 c->name, c->n_args);
        return false;
    }
    int at = 0;
    while (at < k->n_done && k->done[at] != f)
        at++;
    if (at == k->n_done) {
        if (at == 64) {
            snprintf(k->err, PTX_TEXT, "more than 64 functions");
            return false;
        }
        append(k, f);
    }
    c->callee = f;
    c->local = k->local[at];
    c->entry = k->entry[at];
    return true;
}

/* The function that an instruction was appended with; -1: the kernel itself. */
static int
owner_of(const Linker *k, int ins)
{
    int f = k->n_done;
    while (f-- > 0 && ins < k->entry[f])
        ;
    return f;
}

/* A function whose calls lead back to it would share its one frame with itself. False: err. */
static bool
want_no_recursion(Linker *k)
{
    for (int via = 0; via < k->n_done; via++)
        for (int f = 0; f < k->n_done; f++)
            if (k->calls[f] >> via & 1)
                k->calls[f] |= k->calls[via];
    for (int f = 0; f < k->n_done; f++)
        if (k->calls[f] >> f & 1) {
            snprintf(k->err, PTX_TEXT,
                     "line %d: %s calls itself: recursion is not simulated",
                     k->done[f]->code[0].line, k->done[f]->name);
            return false;
        }
    return true;
}

bool
link_kernel(Module *m, Func *kernel, char err[PTX_TEXT])
{
    Linker *k = POOL_NEW(m->pool, Linker, 1);
    k->mod = m;
    k->kernel = kernel;
    k->err = err;
    for (int i = 0; i < kernel->n_code; i++) {
        if (kernel->code[i].flow != FLOW_CALL)
            continue;
        Ins one = kernel->code[i]; /* append moves the code */
        if (!resolve(k, &one))
            return false;
        int f = owner_of(k, i);
        for (int to = 0; f >= 0 && to < k->n_done; to++)
            if (k->done[to] == ((const Call *)one.more)->callee)
                k->calls[f] |= UINT64_C(1) << to;
    }
    return want_no_recursion(k);
}
