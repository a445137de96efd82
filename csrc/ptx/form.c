/* form: what the constraints of assembly say, and whether elements fit them.
 *
 *     "=r,=&f,r,0,~{memory}"     $0 32 bits, $1 a float; $2 32 bits, $3 the register of $0
 */
#include "ptx/asm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool __attribute__((format(printf, 2, 3)))
refuse_form(char *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err, PTX_ERROR, fmt, ap);
    va_end(ap);
    return false;
}

/* Bits of its registers; 1: a predicate. 0: there is no such letter. */
static int
letter_bits(char letter)
{
    switch (letter) {
    case 'b': return 1;
    case 'h': return 16;
    case 'r':
    case 'f': return 32;
    case 'l':
    case 'd': return 64;
    default: return 0;
    }
}

static bool
read_one(PtxForm *f, const char *p, size_t n, char *err)
{
    bool is_out = n && *p == '=';
    const char *end = p + n;
    p += is_out;
    while (p < end && (*p == '&' || *p == ' '))
        p++;
    if (p == end || *p == '~')
        return true;
    int at = f->n_out + f->n_in;
    if (at == PTX_MAX_OPERANDS)
        return refuse_form(err, "more than %d constraints", PTX_MAX_OPERANDS);
    if (is_out && f->n_in)
        return refuse_form(err, "a result's constraint stands behind an operand's");
    const char *from = p;
    int tied = 0;
    while (p < end && *p >= '0' && *p <= '9' && tied < PTX_MAX_OPERANDS)
        tied = 10 * tied + (*p++ - '0');
    f->tied[at] = -1;
    if (p > from) {
        if (is_out || tied >= f->n_out)
            return refuse_form(err, "the constraint '%.*s' names no result",
                               (int)(end - from), from);
        f->tied[at] = (int16_t)tied;
        f->letter[at] = f->letter[tied];
    } else {
        f->letter[at] = *p++;
        if (!letter_bits(f->letter[at]))
            return refuse_form(err, "the constraint '%.*s' is none of NVIDIA's",
                               (int)(end - from), from);
    }
    while (p < end && *p == ' ')
        p++;
    if (p < end)
        return refuse_form(err, "the constraint '%.*s' is none of NVIDIA's",
                           (int)(end - from), from);
    if (is_out)
        f->n_out++;
    else
        f->n_in++;
    return true;
}

bool
ptx_form_read(PtxForm *f, const char *constraints, size_t n, char err[PTX_ERROR])
{
    f->n_out = f->n_in = 0;
    for (size_t at = 0; at < n;) {
        const char *comma = memchr(constraints + at, ',', n - at);
        size_t len = comma ? (size_t)(comma - constraints) - at : n - at;
        if (!read_one(f, constraints + at, len, err))
            return false;
        at += len + 1;
    }
    return true;
}

int
ptx_per_register(int bits, int pack)
{
    int most = bits < 32 ? 32 / bits : 1;
    return pack < most ? pack : most;
}

int
ptx_registers(int bits, int pack)
{
    int each = ptx_per_register(bits, pack);
    return (pack + each - 1) / each;
}

/* Registers from `at` on against pack elements of so many bits. */
static bool
fits_registers(const PtxForm *f, int at, int bits, int pack, const char *what,
               char *err)
{
    int each = ptx_per_register(bits, pack), n = ptx_registers(bits, pack);
    for (int k = 0; k < n; k++) {
        int have = letter_bits(f->letter[at + k]);
        if (have == 1 && bits == 8 && each == 1)
            continue; /* i1 in a predicate */
        if (have < each * bits)
            return refuse_form(
                err,
                "a register of %s has %d bits by its constraint, its elements "
                "take %d",
                what, have, each * bits);
    }
    return true;
}

bool
ptx_form_fits(const PtxForm *f, int n_in, int n_out, const int *bits, int pack,
              char err[PTX_ERROR])
{
    int in = 0, out = 0;
    for (int i = 0; i < n_in; i++)
        in += ptx_registers(bits[i], pack);
    if (in != f->n_in)
        return refuse_form(
            err, "the constraints name %d registers of operands, the elements take %d",
            f->n_in, in);
    for (int i = 0; i < n_out; i++)
        out += ptx_registers(bits[n_in + i], pack);
    if (out > f->n_out)
        return refuse_form(
            err, "the constraints name %d registers of results, the elements take %d",
            f->n_out, out);
    for (int i = 0, at = f->n_out; i < n_in + n_out; i++) {
        if (i == n_in)
            at = 0;
        if (!fits_registers(f, at, bits[i], pack, i < n_in ? "an operand" : "a result",
                            err))
            return false;
        at += ptx_registers(bits[i], pack);
    }
    return true;
}
