/* disasm: the machine code of a host object as text, for asm["asm"].
 *
 * Reading the code back costs a tenth of generating it a second time as assembly. Targets
 * of branches become labels: a first pass collects them, a second prints.
 */
#include "codegen/codegen.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Object.h>
#include <stdlib.h>

typedef struct Disasm {
    Comp *c;
    LLVMDisasmContextRef cx;
    const uint8_t *code;
    size_t n;
    bool *is_target; /* by byte of code */
    bool is_printing;
    char label[16]; /* what name_of gave last; LLVM copies it at once */
    Sb out;
} Disasm;

/* Called for operands that are addresses of code: names the label. LLVM is on the stack, so
 * nothing here may raise. */
static const char *
name_of(void *data, uint64_t value, uint64_t *type, uint64_t pc, const char **ref)
{
    Disasm *d = data;
    (void)pc;
    bool is_branch = *type == LLVMDisassembler_ReferenceType_In_Branch;
    *type = LLVMDisassembler_ReferenceType_InOut_None;
    *ref = NULL;
    if (!is_branch || value >= d->n)
        return NULL;
    d->is_target[value] = true;
    snprintf(d->label, sizeof d->label, "L%x", (unsigned)value);
    return d->label;
}

static void
pass(Disasm *d)
{
    char text[256];
    for (size_t at = 0; at < d->n;) {
        size_t n = LLVMDisasmInstruction(d->cx, (uint8_t *)d->code + at, d->n - at, at,
                                         text, sizeof text);
        if (d->is_printing && d->is_target[at])
            sb_printf(&d->out, "L%x:\n", (unsigned)at);
        if (d->is_printing)
            sb_printf(&d->out, "%s\n", n ? text : "\t.byte\t?");
        at += n ? n : 1;
    }
}

static void
drop_context(void *cx)
{
    LLVMDisasmDispose(cx);
}

static void
disassemble(Disasm *d, const char *triple, const char *cpu)
{
    d->cx = LLVMCreateDisasmCPU(triple, cpu, d, 0, NULL, name_of);
    if (!d->cx)
        err_at(d->c, NULL, LLVM, "no disassembler for this machine");
    arena_defer(d->c->arena, drop_context, d->cx);
    d->is_target = NEW_N(d->c->arena, bool, d->n + 1);
    pass(d);
    d->is_printing = true;
    pass(d);
}

static void
find_text(Disasm *d, LLVMBinaryRef object)
{
    LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(object);
    for (; !LLVMObjectFileIsSectionIteratorAtEnd(object, s); LLVMMoveToNextSection(s)) {
        const char *name = LLVMGetSectionName(s);
        if (!name || strcmp(name, ".text") != 0)
            continue;
        d->code = (const uint8_t *)LLVMGetSectionContents(s);
        d->n = LLVMGetSectionSize(s);
    }
    LLVMDisposeSectionIterator(s);
}

void
ll_disassemble(Ll *l, Binary *out)
{
    const Stage *obj = binary_stage(out, "obj");
    Disasm d = {.c = l->c, .out = {.a = l->c->arena}};
    sb_printf(&d.out, "%s:\n", out->symbol);
    /* Nothing may jump while the object is open. */
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange(obj->data, obj->size, "obj", false);
    char *error = NULL;
    LLVMBinaryRef object = LLVMCreateBinary(buffer, l->cx, &error);
    if (object)
        find_text(&d, object); /* points into the stage, which stays */
    LLVMDisposeMessage(error);
    if (object)
        LLVMDisposeBinary(object);
    LLVMDisposeMemoryBuffer(buffer);
    if (d.code) {
        const char *triple = ll_message(l->c, LLVMGetTargetMachineTriple(l->tm));
        const char *cpu = ll_message(l->c, LLVMGetTargetMachineCPU(l->tm));
        disassemble(&d, triple, cpu);
    }
    if (!binary_add(out, "asm", d.out.at, (size_t)d.out.n))
        err_at(l->c, NULL, MEMORY);
}
