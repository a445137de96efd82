/* state.h: what one import of the module keeps. Two imports give two of these.
 *
 * The Python objects are rows of state.def; what is not Python follows them. A pointer to the
 * State may be kept by any object whose type was made by this module: the type holds the
 * module, the module holds the State.
 */
#ifndef TEGULA_STATE_H
#define TEGULA_STATE_H

#include <Python.h>

#include "base/base.h"

typedef struct Setter Setter; /* runtime/launch.h */
typedef struct TorchCalls TorchCalls;
typedef struct Cuda Cuda; /* runtime/runtime.h */

enum { N_SETTERS = 64 }; /* Python types of arguments remembered; a power of two */

/* The knobs that C reads, as python/tegula/knobs.py last told them. Strings are owned. */
typedef struct Config {
    bool has_target;      /* TEGULA_TARGET is set */
    Target target;        /* sm 0 for "cuda": whatever the device is */
    int num_threads;      /* 0: as many as the process may use */
    int64_t stream_bytes; /* 0: the machine's part of the last cache */
    bool debug, fp_fusion, no_fp_fusion, always_compile, interpret, line_info;
    bool check_bounds;      /* of every launch on CPUs */
    bool check_first;       /* of the first launch of new code there: trial.c */
    bool override, dump_ir; /* files of stages by hash: runtime/override.c */
    bool dump_nvptx, dump_ptxas_log;
    bool disable_ptxas_opt;
    bool tma;                     /* HopperTrial.no_maps, the other way round */
    bool front_end_debugging;     /* Comp.raw_errors */
    char *ptxas_options;          /* of launches that give no ptx_options; NULL: none */
    uint64_t emu_seed;            /* order of the emulator's warps; 0: ascending */
    char *dump, *dump_dir, *stop; /* NULL: unset */
    char *cache_dir;              /* NULL or "": no cache on disk */
    int64_t cache_max_bytes;
    char *ptxas, *libcuda; /* NULL: look for it */
    bool has_searched;     /* for ptxas in Python's packages */
} Config;

typedef struct State {
#define STATE(name, make) PyObject *name;
#include "runtime/state.def"
#undef STATE
    Config config;
    uint64_t n_configs;      /* configure() was called so often, and once more */
    PyObject **option_names; /* interned, in the order of options.def: bind.c */
    Setter *setters;         /* N_SETTERS of them, by address of the type: setters.c */
    Cuda *cuda;              /* NULL until a launch or an inquiry needs the driver */
    struct Held
        *held; /* capsules of launches that a GPU may still be at: cuda_launch.c */
    bool lacks_cuda; /* cuda_if_any looked for one in vain */
    const struct DLPackExchangeAPI
        *torch_api;          /* static data of torch's; NULL: none, or ... */
    bool has_asked_torch;    /* ... not asked yet: tensor.c */
    TorchCalls *torch_calls; /* owned; NULL: torch lacks some, or ... */
    bool has_asked_calls;    /* ... not asked yet: torch.c */
    enum { DRIVER_UNKNOWN, DRIVER_HOST, DRIVER_CUDA } active; /* tegula.driver.active */
    /* Counts what may change a function of the language, or a kernel's: a name of a module of
     * the language was bound, somebody was given its dict, or the function of a kernel. */
    uint64_t n_edits;
    bool is_language_open; /* FeEnv's */
    bool warned_of_others; /* files of the cache that others may write: disk.c */
    /* Where a launch in the process's first thread has stack enough: launch.c. */
    char *stack_low, *stack_high;
    size_t fail_after; /* tests: which allocation of the next compiles fails; 0: none */
} State;

/* ---- raise.c ------------------------------------------------------------------------- */
/* Turns what comp_run caught into an exception (unless one is set already: a call into
 * Python failed). Always NULL, so that callers return it. */
void *raise_compile_error(State *st, Comp *c);
/* OutOfResources(required, limit, name) of tegula.errors. Always NULL. */
void *raise_out_of_resources(int64_t required, int64_t limit, const char *name);
/* An exception of tegula.errors with one text. Always NULL. */
void *raise_error(const char *cls, const char *text);

/* Replaces an owned reference: Py_SETREF, which the Limited API lacks. Steals v. */
static inline void
set_ref(PyObject **at, PyObject *v)
{
    PyObject *old = *at;
    *at = v;
    Py_XDECREF(old);
}

/* Appends x, and takes the reference. Where x or the list is NULL, or there is no memory, *list is
 * NULL behind it, with an exception. */
static inline void
list_take(PyObject **list, PyObject *x)
{
    if (*list && (!x || PyList_Append(*list, x)))
        set_ref(list, NULL);
    Py_XDECREF(x);
}

/* ---- state.c ------------------------------------------------------------------------- */
/* tegula.language, imported at first use; borrowed, or NULL with an exception. */
PyObject *state_language(State *st);

#endif
