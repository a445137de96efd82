/* link.h: what the files share that bring functions of the user's libraries in: library.c reads
 * and looks up, extern.c calls, link.c links. */
#ifndef TEGULA_LINK_H
#define TEGULA_LINK_H

#include "codegen/library/foreign.h"

typedef struct LlLibrary LlLibrary;
struct LlLibrary {
    LlLibrary *next;
    const char *path;
    uint64_t hash, n_bytes; /* of what was read: hash_bytes */
    LLVMModuleRef module;   /* NULL: it has been linked */
    int index;              /* in the prefix of its names */
    bool is_wanted;         /* something of it is reached */
    bool has_constructors;
};

/* One EXTERN of the kernel. */
typedef struct Called {
    const Op *o;
    Lv wrapper;
    Lv fn;     /* what it calls: a declaration, which theirs is linked to */
    Lv theirs; /* NULL: fn is LLVM's own */
    Lt type;   /* of theirs */
} Called;

struct LlExterns {
    LlLibrary *libraries;
    int n_libraries;
    VEC(Called *) all;
    Map of_op; /* Op -> Called */
};

/* ---- library.c ---- */
struct LlExterns *lib_externs(Ll *l);
/* Of Op.text: the symbol; the files, from *at on one after the other, NULL: no more. */
const char *lib_symbol(Ll *l, const Op *o);
const char *lib_files(const Op *o);
const char *lib_next_file(Ll *l, const char **at);
/* Read once, verified, renamed; or an error at o. */
LlLibrary *lib_open(Ll *l, const char *path, const Op *o);
/* What the library defines under that name; NULL: nothing. */
Lv lib_defined(Ll *l, const LlLibrary *k, const char *symbol);
NORETURN void lib_bad(Ll *l, const char *path, const Op *o, const char *why);
/* "it has no function 'f'", and what it has instead. */
NORETURN void lib_no_symbol(Ll *l, const LlLibrary *k, const Op *o, const char *symbol);

#endif
