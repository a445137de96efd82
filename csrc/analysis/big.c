/* big: blocks of more registers than a thread should hold at once. Where a kernel has many
 * such (pass chunk decides it), ops take them by loops over chunks of registers.
 */
#include "analysis/analysis.h"

enum { BIG_REGS = 64 };

bool
has_many_registers(const Val *v)
{
    const Type *t = v->type;
    return t->rank && t->layout && !t->slots && 1 << t->layout->n[IN_REG] > BIG_REGS;
}

bool
is_big(const Func *f, const Val *v)
{
    return f->chunk_bits && has_many_registers(v);
}

/* A big value is no more code than one of BIG_REGS. */
int64_t
kernel_code_size(const Func *f)
{
    return code_size(f, f->body, f->chunk_bits ? BIG_REGS : INT32_MAX);
}
