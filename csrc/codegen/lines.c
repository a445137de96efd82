/* lines: which line of the user's source an instruction of PTX is for.
 *
 *     .loc 1 12 9        of file 1, line 12, column 10: what follows was written there
 *
 * Profilers and sanitizers of GPUs read these and show the kernel's own text. They are all
 * there is of debug information: LLVM is asked for directives only, so no section of PTX is
 * larger for it and no instruction another. A helper of the user's has lines of its own; code
 * out of the library (tl.sum) has the line that called it, as errors have.
 */
#include "codegen/codegen.h"
#include "ptx/asm.h"

#include <llvm-c/DebugInfo.h>

/* DICompileUnit::DebugDirectivesOnly; the C API names the other three. */
static const LLVMDWARFEmissionKind directives_only = (LLVMDWARFEmissionKind)3;

struct LlLines {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef function;
    const char *file;      /* of the function; interned */
    Map scope;             /* another file -> the function as seen from there */
    const Loc *last;       /* what the builder stands at */
    LLVMMetadataRef where; /* the same, as LLVM has it */
    bool is_elsewhere; /* the same: what is there may lead to memory of no argument */
};

static void
drop_lines(void *obj)
{
    struct LlLines *s = obj;
    if (s->builder)
        LLVMDisposeDIBuilder(s->builder);
    s->builder = NULL;
}

static LLVMMetadataRef
file_of(LLVMDIBuilderRef b, const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : 0;
    const char *base = slash ? slash + 1 : name;
    return LLVMDIBuilderCreateFile(b, base, strlen(base), name, n);
}

void
ll_lines_open(Ll *l, const Loc *kernel)
{
    const Loc *at = loc_user(kernel);
    if (!at || !at->file)
        return;
    struct LlLines *s = l->lines = NEW(l->c->arena, struct LlLines);
    arena_defer(l->c->arena, drop_lines, s);
    LLVMDIBuilderRef b = s->builder = LLVMCreateDIBuilder(l->m);
    s->scope.a = l->c->arena;
    s->file = at->file;
    LLVMMetadataRef file = file_of(b, at->file);
    LLVMDIBuilderCreateCompileUnit(b, LLVMDWARFSourceLanguagePython, file, "tegula", 6,
                                   1, "", 0, 0, "", 0, directives_only, 0, 0, 0, "", 0,
                                   "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(b, file, NULL, 0, 0);
    size_t n;
    const char *name = LLVMGetValueName2(l->fn, &n);
    s->function = LLVMDIBuilderCreateFunction(b, file, name, n, name, n, file,
                                              (unsigned)at->line, type, 0, 1,
                                              (unsigned)at->line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->fn, s->function);
    LLVMAddModuleFlag(l->m, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(ll_i32(l, LLVMDebugMetadataVersion())));
    ll_lines_at(l, kernel, false);
}

void
ll_lines_at(Ll *l, const Loc *loc, bool is_elsewhere)
{
    struct LlLines *s = l->lines;
    const Loc *at = s && loc ? loc_user(loc) : NULL;
    if (!at || (at == s->last && is_elsewhere == s->is_elsewhere) || !at->file)
        return;
    s->last = at;
    s->is_elsewhere = is_elsewhere;
    LLVMMetadataRef scope = s->function;
    if (at->file != s->file) {
        LLVMMetadataRef known = map_get(&s->scope, at->file, 0);
        scope = known ? known
                      : LLVMDIBuilderCreateLexicalBlockFile(
                            s->builder, s->function, file_of(s->builder, at->file), 0);
        if (!known)
            map_put(&s->scope, at->file, 0, scope);
    }
    unsigned col = (unsigned)at->col + 1 + (is_elsewhere ? PTX_ELSEWHERE : 0);
    s->where = LLVMDIBuilderCreateDebugLocation(l->cx, (unsigned)at->line, col, scope,
                                                NULL);
    LLVMSetCurrentDebugLocation2(l->b, s->where);
}

void
ll_go_on(Ll *l, LLVMBasicBlockRef here)
{
    LLVMPositionBuilderAtEnd(l->b, here);
    if (l->lines) /* LLVM's builder takes the line of where it was put */
        LLVMSetCurrentDebugLocation2(l->b, l->lines->where);
}

void
ll_lines_close(Ll *l)
{
    if (!l->lines)
        return;
    LLVMDIBuilderFinalize(l->lines->builder);
    drop_lines(l->lines);
    l->lines = NULL;
}
