/* cache: from a launch's key to the variant that serves it.
 *
 *     fine key  --table-->  variant            every launch: one look-up
 *          | absent
 *          v
 *     a variant that was compiled for the same types, constants, options and target, and
 *     whose compile asked only questions that this launch answers alike?
 *          | yes: the fine key becomes another name for it
 *          v no
 *     the frontend (compile.c), whose tile IR names the variant on disk (disk.c)
 *          | not there
 *          v
 *     the rest of the compile
 *
 * So `n = 1000` and `n = 1008` have two fine keys and, when nobody asked whether n is
 * divisible by 16, one variant.
 *
 * Before the look-up the globals that the variants have inside are compared with what they
 * are now (frontend/program/capture.c). Where a function among them was redefined all variants are
 * retired: nobody finds them any more.
 *
 * The GIL guards the tables. A compile lets it go: a second thread that wants the same waits
 * for it (pending.c). The file is one thing, as each step of a miss reads what the one before it
 * asked of the arguments.
 */
#include "runtime/aside.h"
#include "runtime/launch.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- the table ------------------------------------------------------------------------- */

enum { FIRST_SIZE = 16, MAX_ENTRIES = 1 << 16 };

/* The entry of the call's key, NULL when absent or (with an exception) when comparing failed. */
static Entry *
table_find(const Call *c)
{
    Table *t = c->k->table;
    if (!t)
        return NULL;
    for (size_t i = c->hash & t->mask; t->slot[i].key; i = (i + 1) & t->mask) {
        Entry *e = &t->slot[i];
        if (e->key->hash != c->hash)
            continue;
        int r = call_equals(c, e->key);
        if (r)
            return r > 0 ? e : NULL;
    }
    return NULL;
}

static void
table_put(Table *t, Entry e)
{
    size_t i = e.key->hash & t->mask;
    while (t->slot[i].key)
        i = (i + 1) & t->mask;
    t->slot[i].variant = e.variant;
    t->slot[i].key = e.key;
    t->n_used++;
}

/* An empty one; NULL with an exception. */
static Table *
table_new(size_t size)
{
    Table *t = calloc(1, sizeof *t + size * sizeof t->slot[0]);
    if (!t)
        return PyErr_NoMemory(), NULL;
    t->mask = size - 1;
    return t;
}

/* Grows so that one more fits. 0, or -1 with an exception. */
static int
table_grow(Kernel *k)
{
    Table *old = k->table;
    if (old && 2 * (old->n_used + 1) <= old->mask + 1)
        return 0;
    Table *t = table_new(old ? 2 * (old->mask + 1) : FIRST_SIZE);
    if (!t)
        return -1;
    for (size_t i = 0; old && i <= old->mask; i++)
        if (old->slot[i].key)
            table_put(t, old->slot[i]);
    t->older = old; /* a reader may be comparing constants in it */
    k->table = t;
    return 0;
}

int
cache_retire(Kernel *k)
{
    Table *t = k->table ? table_new(FIRST_SIZE) : NULL;
    if (k->table && !t)
        return -1;
    if (t) {
        k->table->is_retired = true;
        t->older = k->table;
        k->table = t;
    }
    k->recent = (Entry){NULL, NULL};
    k->first_variant = k->n_variants;
    fe_captures_free(&k->captures);
    fe_captures_free(&k->quiet);
    return 0;
}

/* Are the globals that the variants have inside as they were? Retires them where a function
 * among those was redefined. 0, or -1 with an exception. */
static int
check_captures(Kernel *k)
{
    FeEnv env;
    if (!kernel_env(k->st, &env))
        return -1;
    uint64_t n_edits = k->st->n_edits;
    int r = k->n_edits == n_edits
                ? 1
                : fe_captures_wake(&env, &k->captures, &k->quiet, k->f);
    if (r == 1)
        k->n_edits = n_edits;
    if (r == 1)
        r = fe_captures_check(&env, &k->captures, k->f);
    return r > 0 ? 0 : r < 0 ? -1 : cache_retire(k);
}

/* Makes the call's key a name of v. A kernel whose launches differ without an end keeps the
 * first MAX_ENTRIES names; the others find their variant by asking. */
static int
remember(Call *c, Compiled *v)
{
    if (c->k->table && c->k->table->n_used >= MAX_ENTRIES)
        return 0;
    Key *key = key_new(c);
    if (!key)
        return -1;
    if (table_grow(c->k)) {
        key_free(key);
        return -1;
    }
    table_put(c->k->table, (Entry){key, (Compiled *)Py_NewRef((PyObject *)v)});
    return 0;
}

/* ---- the miss ----------------------------------------------------------------------------- */

/* The assembler in a wheel: only Python knows where its packages are. Once; 0 or -1. */
static int
find_assembler(State *st)
{
    Config *config = &st->config;
    if (config->ptxas || config->has_searched)
        return 0;
    char path[PATH_MAX];
    if (wheels_find("bin/ptxas", path) && !access(path, X_OK) &&
        !(config->ptxas = strdup(path)))
        return PyErr_NoMemory(), -1;
    config->has_searched = true;
    return 0;
}

/* What the knob runtime.override_arch says instead of the GPU there is. */
static int
override_arch(Target *out)
{
    PyObject *knobs = PyImport_ImportModule("tegula.knobs");
    PyObject *group = knobs ? PyObject_GetAttrString(knobs, "runtime") : NULL;
    PyObject *arch = group ? PyObject_GetAttrString(group, "override_arch") : NULL;
    const char *s = arch && arch != Py_None ? PyUnicode_AsUTF8AndSize(arch, NULL)
                                            : NULL;
    int r = !arch || PyErr_Occurred() ? -1 : s && *s ? parse_arch(s, out) : 0;
    DROP(knobs, group, arch);
    return r;
}

/* A launch with the option instrumentation_mode is the emulator's. 0, or -1 with an exception. */
static int
sanitizer_target(const Call *c, Target *out)
{
    size_t n;
    const char *mode = option_text(call_option_texts(c), "instrumentation_mode=", &n);
    if (!mode || out->kind == TARGET_EMU)
        return 0;
    if (out->kind == TARGET_CUDA || c->opt.flags & OPT_INTERPRET)
        return PyErr_Format(
                   PyExc_ValueError,
                   "option instrumentation_mode of %s(): %s; the emulator checks "
                   "kernels whose tensors are in the memory of the host",
                   c->k->f->name,
                   out->kind == TARGET_CUDA ? "code for GPUs is not instrumented"
                                            : "TEGULA_INTERPRET runs it elsewhere"),
               -1;
    *out = (Target){.kind = TARGET_EMU, .sm = 90, .accelerated = true};
    return 0;
}

/* The machine to compile for. 0, or -1 with an exception. */
static int
call_target(const Call *c, Target *out)
{
    bool on_cuda = c->place.type == kDLCUDA || c->place.type == kDLCUDAManaged,
         anywhere = c->place.type == kDLCUDAManaged || c->place.type == kDLCUDAHost;
    *out = c->want ? *c->want : (Target){.kind = on_cuda ? TARGET_CUDA : TARGET_CPU};
    if (sanitizer_target(c, out))
        return -1;
    if (c->opt.flags & OPT_INTERPRET) {
        if (on_cuda && !anywhere)
            return PyErr_Format(
                       PyExc_ValueError,
                       "TEGULA_INTERPRET runs %s() on the CPU, and its tensors "
                       "are CUDA tensors",
                       c->k->f->name),
                   -1;
        *out = (Target){.kind = TARGET_CPU};
        return 0;
    }
    char name[TARGET_TEXT];
    if (c->place.type && on_cuda != (out->kind == TARGET_CUDA) && !anywhere &&
        !c->types_only)
        return PyErr_Format(
                   PyExc_ValueError,
                   "the tensors of %s() are %s tensors, but TEGULA_TARGET asks "
                   "for %s",
                   c->k->f->name, on_cuda ? "CUDA" : "CPU", target_text(*out, name)),
               -1;
    if (out->kind == TARGET_CUDA && find_assembler(c->k->st))
        return -1;
    if (out->kind == TARGET_CUDA && !out->sm &&
        (cuda_target(c->k->st, c->place.index, out) || override_arch(out)))
        return -1;
    size_t len;
    const char *arch = option_text(call_option_texts(c), "arch=", &len);
    if (!arch || out->kind == TARGET_CPU)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)len, arch);
    return parse_arch(name, out);
}

static Options
word_options(OptWord o, Target target)
{
    return (Options){
        .target = target,
        .num_warps = o.num_warps,
        .num_stages = o.num_stages,
        .num_ctas = o.num_ctas,
        .maxnreg = o.maxnreg,
        .imprecise = o.imprecise,
        .enable_fp_fusion = o.flags & OPT_FUSION,
        .debug = o.flags & OPT_DEBUG,
        .sanitize_overflow = o.flags & OPT_SANITIZE,
        .launch_pdl = o.flags & OPT_PDL,
        .launch_cooperative_grid = o.flags & OPT_COOPERATIVE,
        .interpret = o.flags & OPT_INTERPRET,
        .check_bounds = o.flags & OPT_BOUNDS && target.kind == TARGET_CPU,
        .line_info = o.flags & OPT_LINES && target.kind == TARGET_CUDA,
    };
}

static Options
call_options(const Call *c, Target target)
{
    Options o = word_options(c->opt, target);
    o.enable_fp_fusion &= !c->k->st->config.no_fp_fusion;
    return o;
}

Options
cache_options(const Compiled *v)
{
    return word_options(v->key->opt, v->bin.target);
}

/* A constant that cannot be compared later must not get in: its key would never be found
 * again, or found when it should not. */
static int
check_constants(const Call *c)
{
    for (int i = 0; i < c->n; i++)
        if (code_kind(c->code[i]) == NODE_CONST_OBJECT &&
            PyObject_Hash(c->value[i]) == -1) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError))
                return -1;
            PyErr_Clear();
            PyObject *type = PyType_GetName(Py_TYPE(c->value[i]));
            if (type)
                PyErr_Format(
                    PyExc_TypeError,
                    "a constexpr argument of %s() must be hashable, not of type "
                    "%U: a tuple is; what is data is no constexpr",
                    c->k->f->name, type);
            Py_XDECREF(type);
            return -1;
        }
    return 0;
}

/* Nodes that are leaves, in order: slot -> node. Returns their number. */
static int
leaves(const Call *c, uint16_t *node)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (code_kind(c->code[i]) != NODE_TUPLE)
            node[n++] = (uint16_t)i;
    return n;
}

static void
comp_configure(Comp *c, const State *st, const char *kernel, Options o)
{
    c->opt = o;
    c->kernel = kernel;
    c->ptxas = st->config.ptxas;
    c->ptxas_options = st->config.ptxas_options;
    c->hopper.no_maps = !st->config.tma;
    c->no_ptxas_opt = st->config.disable_ptxas_opt;
    c->raw_errors = st->config.front_end_debugging;
    c->dump = (DumpConfig){.passes = st->config.dump,
                           .dir = st->config.dump_dir,
                           .stop = st->config.stop,
                           .ptx = st->config.dump_nvptx,
                           .ptxas_log = st->config.dump_ptxas_log};
    if (st->fail_after)
        arena_fail_after(c->arena, st->fail_after);
}

/* A variant in the making. */
typedef struct Making {
    Call *c;
    FeEnv env;
    Comp comp;
    ArgSpec *specs;
    Lowered lowered;
    DiskKey disk;
    Overrides files;
    Compiled *v;
} Making;

static void
making_done(Making *m)
{
    overrides_free(&m->files);
    disk_key_done(&m->disk);
    comp_done(&m->comp);
    free(m->specs);
}

/* 0, or -1 with an exception and nothing to free. */
static int
making_begin(Making *m, Call *c, Options o)
{
    State *st = c->k->st;
    *m = (Making){.c = c};
    if (!kernel_env(st, &m->env))
        return -1;
    m->specs = calloc((size_t)MAX(c->n, 1), sizeof *m->specs);
    if (!m->specs || !comp_init(&m->comp)) {
        free(m->specs);
        return PyErr_NoMemory(), -1;
    }
    call_specs(c, m->specs);
    comp_configure(&m->comp, st, c->k->f->name, o);
    m->comp.option_texts = call_option_texts(c);
    /* Failed assertions and checks say where. */
    m->env.has_places = o.debug || o.check_bounds || o.line_info || o.interpret ||
                        o.target.kind == TARGET_EMU;
    return 0;
}

char *
cache_lower(Call *c)
{
    Target target;
    Making m;
    char *text = NULL;
    if (call_target(c, &target) || making_begin(&m, c, call_options(c, target)))
        return NULL;
    if (m.comp.opt.interpret)
        tracing_pause();
    const char *inner = compile_lower(&m.comp, &m.env, c->k->f, m.specs);
    if (m.comp.opt.interpret)
        tracing_resume();
    if (!inner)
        raise_compile_error(c->k->st, &m.comp);
    else if (!(text = strdup(inner)))
        PyErr_NoMemory();
    making_done(&m);
    return text;
}

/* The frontend. A debugger steps into the kernel, not into what reads its source. */
static int
run_front(Making *m)
{
    bool quiet = m->comp.opt.interpret;
    if (quiet)
        tracing_pause();
    bool ok = compile_front(&m->comp, &m->env, m->c->k->f, m->specs, &m->lowered);
    if (quiet)
        tracing_resume();
    return ok ? 0 : (raise_compile_error(m->c->k->st, &m->comp), -1);
}

/* Passes and code. */
static int
run_back(Making *m)
{
    State *st = m->c->k->st;
    m->comp.overrides = m->files.at;
    m->comp.n_overrides = m->files.n;
    bool ok = compile_back(&m->comp, &m->lowered, aside_run, &m->v->bin);
    return ok ? 0 : (raise_compile_error(st, &m->comp), -1);
}

/* Fits the binary to the nodes of the call: which node feeds which parameter, and what was
 * asked of each. 0, or -1 with an exception. */
static int
attach(Call *c, Compiled *v)
{
    uint16_t node[MAX_NODES];
    int n = leaves(c, node);
    v->key = key_new(c);
    v->asked = calloc((size_t)MAX(c->n, 1), sizeof *v->asked);
    v->node = calloc((size_t)MAX(v->bin.n_params, 1), sizeof *v->node);
    v->last_params = calloc((size_t)MAX(v->bin.n_params, 1), sizeof *v->last_params);
    if (!v->key)
        return -1;
    if (!v->asked || !v->node || !v->last_params)
        return PyErr_NoMemory(), -1;
    if (v->bin.n_facts > n)
        return PyErr_Format(PyExc_SystemError, "%s() has %d arguments but %d facts",
                            c->k->f->name, n, v->bin.n_facts),
               -1;
    for (int i = 0; i < v->bin.n_facts; i++)
        v->asked[node[i]] = v->bin.facts[i].asked;
    v->in_order = true;
    for (int i = 0; i < v->bin.n_params; i++) {
        int slot = v->bin.params[i].slot;
        if (slot < 0 || slot >= n)
            return PyErr_Format(PyExc_SystemError, "%s(): parameter %d has no argument",
                                c->k->f->name, i),
                   -1;
        v->node[i] = node[slot];
        v->in_order &= v->node[i] == i;
    }
    for (int i = 0; i < v->bin.n_tried; i++)
        if (v->bin.tried[i].node >= c->n)
            return PyErr_Format(PyExc_SystemError,
                                "%s() has no argument that was tried", c->k->f->name),
                   -1;
    return 0;
}

static int
keep_variant(Kernel *k, Compiled *v)
{
    if (k->n_variants == k->cap_variants) {
        int cap = MAX(4, 2 * k->cap_variants);
        Compiled **p = realloc(k->variants, (size_t)cap * sizeof *p);
        if (!p)
            return PyErr_NoMemory(), -1;
        k->variants = p;
        k->cap_variants = cap;
    }
    k->variants[k->n_variants++] = (Compiled *)Py_NewRef((PyObject *)v);
    return 0;
}

/* 0, or -1 with an exception: what no compile could mend. */
static int
check_limits(const Call *c, const Options *o)
{
    if (o->target.kind == TARGET_CPU)
        return 0;
    if (o->num_warps > 32)
        return raise_out_of_resources(o->num_warps * 32, 1024, "threads"), -1;
    if (o->num_ctas > 1 && o->target.sm < 90)
        return PyErr_Format(
                   PyExc_ValueError,
                   "num_ctas=%d: clusters of thread blocks need sm_90, and %s() "
                   "is compiled for sm_%d",
                   o->num_ctas, c->k->f->name, o->target.sm),
               -1;
    return 0;
}

/* The report of an entry names the lines of this kernel, not those of the one it was compiled from:
 * they have the same IR. 0, or -1 with an exception. */
static int
move_report(Making *m, const char *places)
{
    Binary *b = &m->v->bin;
    const Stage *was = binary_stage(b, PLACES_STAGE),
                *report = binary_stage(b, "report");
    if (!was || !report || !strcmp(was->data, places))
        return 0;
    char *moved = lines_moved(report->data, was->data, places);
    size_t n = moved ? strlen(moved) : 0;
    binary_remove(b, "report");
    bool ok = moved && binary_take(b, "report", moved, n);
    return ok ? 0 : (PyErr_NoMemory(), -1);
}

/* m->v->bin, from the disk or compiled. 1; 0: a hook forbade it; -1 with an exception. */
static int
make_binary_of(Making *m, const char *places)
{
    Call *c = m->c;
    const Config *config = &c->k->st->config;
    const Target target = m->comp.opt.target;
    const char *symbol = m->v->symbol, *name = c->k->f->name;
    if (disk_key(config, &m->comp, &m->lowered, &m->disk))
        return -1;
    if (target.kind == TARGET_CPU) {
        m->v->loads = lines_text(m->lowered.func, false);
        m->v->stores = lines_text(m->lowered.func, true);
    }
    int r = hooks_compile(c, target, m->disk.hash, NULL);
    if (r <= 0)
        return r;
    if (overrides_read(c, target, symbol ? symbol : name, m->disk.hash, &m->files))
        return -1;
    /* Who asks to see the stages asks for a compile. */
    bool is_shown = config->dump || config->dump_dir || config->stop ||
                    config->dump_nvptx || config->dump_ptxas_log;
    bool on_disk = m->disk.dir && !m->files.n;
    if (on_disk && !config->always_compile && !is_shown &&
        disk_load(&m->disk, c, &m->v->bin)) {
        m->v->from_disk = true;
        return move_report(m, places) ? -1 : trial_begin(m->v, &m->disk);
    }
    if (PyErr_Occurred()) /* a warning about its files that is an error */
        return -1;
    bool is_tried = !m->files.n && trial_is_due(config, &m->comp.opt);
    const char *text = is_tried ? lowered_text(&m->comp, &m->lowered) : NULL;
    if (is_tried && !text)
        return raise_compile_error(c->k->st, &m->comp), -1;
    if (run_back(m))
        return -1;
    if ((text && !binary_add(&m->v->bin, TRIAL_STAGE, text, strlen(text))) ||
        !binary_add(&m->v->bin, PLACES_STAGE, places, strlen(places)))
        return PyErr_NoMemory(), -1;
    /* A launch keeps it on the disk when its checks have found nothing. */
    if (on_disk && (!text || c->types_only))
        disk_store(config, &m->disk, name, &m->v->bin);
    return trial_begin(m->v, &m->disk);
}

static int
make_binary(Making *m)
{
    m->comp.symbol = m->v->symbol;
    if (run_front(m))
        return -1;
    char *places = lines_places(m->lowered.func);
    int r = places ? make_binary_of(m, places) : (PyErr_NoMemory(), -1);
    free(places);
    return r;
}

/* Of code that ptxas has optimised less. 0, or -1 with an exception: warnings may be errors. */
static int
warn_of_level(const Compiled *v)
{
    const FeFunction *f = v->kernel->f;
    const char *level = binary_lower_level(&v->bin);
    return level
               ? PyErr_WarnFormat(
                     PyExc_UserWarning, 1,
                     "%s:%d: ptxas died of kernel %s(), which is assembled with %s and is "
                     "slower than it could be. TEGULA_PTXAS names another ptxas",
                     f->file, f->first_line, f->name, level)
               : 0;
}

/* From the disk, or compiled. New reference, or NULL: with an exception, or because a hook
 * forbade it. captures and quiet get the globals it has inside. */
static Compiled *
make_variant(Call *c, Target target, FeCaptures *captures, FeCaptures *quiet,
             bool no_maps)
{
    Making m;
    Options o = call_options(c, target);
    if (call_leave(c) || check_limits(c, &o) || making_begin(&m, c, o))
        return NULL;
    m.env.captures = captures;
    m.env.quiet = quiet;
    m.comp.hopper.no_maps |= no_maps;
    m.comp.hopper.grid = c->grid_facts;
    m.v = compiled_new(c->k);
    bool ok = m.v && !hooks_symbol(c, &m.v->symbol) && make_binary(&m) > 0 &&
              !warn_of_level(m.v);
    if (ok)
        memcpy(m.v->hash, m.disk.hash, sizeof m.v->hash);
    ok = ok && !attach(c, m.v) && !hooks_dump(m.v) &&
         hooks_compile(c, target, m.disk.hash, m.v) >= 0;
    if (!ok)
        Py_CLEAR(m.v);
    making_done(&m);
    return m.v;
}

static bool
same_target(Target a, Target b)
{
    return a.kind == b.kind && a.sm == b.sm && a.accelerated == b.accelerated;
}

/* An earlier variant whose questions this launch answers alike; borrowed. NULL: none, or an
 * exception. */
static Compiled *
find_variant(const Call *c, Target target)
{
    for (int i = c->k->first_variant; i < c->k->n_variants; i++) {
        Compiled *v = c->k->variants[i];
        int r = same_target(v->bin.target, target)
                    ? call_agrees(c, v->key, v->asked, TRUTH_BITS)
                    : 0;
        if (r < 0)
            return NULL;
        if (r &&
            i >= c->k->first_variant) /* comparing runs code, which may retire it */
            return v;
    }
    return NULL;
}

int
cache_param_of_node(const Call *c, int node)
{
    int p = -1;
    for (int i = 0, open = 0; i <= node; i++) {
        if (!open)
            p++, open = 1; /* nodes still to come of this parameter, i included */
        uint32_t code = c->code[i];
        open += (code_kind(code) == NODE_TUPLE ? code_children(code) : 0) - 1;
    }
    return p;
}

/* ValueError: the node's tensor is read-only. Always -1. */
static int
refuse_write(const Call *c, int node)
{
    PyObject *param_b = c->k->names[cache_param_of_node(c, node)];
    const char *library = c->value[node] ? immutable_library(Py_TYPE(c->value[node]))
                                         : NULL;
    const char *kernel = c->k->f->name;
    if (library)
        PyErr_Format(
            PyExc_ValueError,
            "argument '%U' is a %s array, which never changes, and %s() writes "
            "it; pass a NumPy array (on a GPU, a torch or CuPy tensor) for the "
            "result, and give that to %s afterwards",
            param_b, library, kernel, library);
    else
        PyErr_Format(PyExc_ValueError, "argument '%U' is read-only, and %s() writes it",
                     param_b, kernel);
    return -1;
}

int
cache_check_writes(const Call *c, const Compiled *v)
{
    for (int i = 0; i < v->bin.n_params; i++)
        if (v->bin.params[i].is_written &&
            code_truth(c->code[v->node[i]]) & NODE_READ_ONLY)
            return refuse_write(c, v->node[i]);
    return 0;
}

static Compiled *
cache_miss(Call *c)
{
    Target target;
    if (check_constants(c) || call_check_values(c) || call_target(c, &target))
        return NULL;
    for (;;) {
        Compiled *v = find_variant(c, target);
        if (v)
            return cache_check_writes(c, v) || remember(c, v) ? NULL : v;
        if (PyErr_Occurred())
            return NULL;
        Pending *other = pending_find(c);
        if (!other)
            break;
        if (pending_wait(other))
            return NULL;
        Entry *e = table_find(c);
        if (e)
            return e->variant;
        /* The other thread failed. Its error is not ours to report: find our own. */
        if (PyErr_Occurred())
            return NULL;
    }
    if (PyErr_Occurred())
        return NULL;
    Pending *mine = pending_begin(c);
    if (!mine)
        return NULL;
    FeCaptures captures = {0}, quiet = {0};
    Compiled *v = make_variant(c, target, &captures, &quiet, false);
    if (v && (keep_variant(c->k, v) || fe_captures_add(&c->k->captures, &captures) ||
              fe_captures_add(&c->k->quiet, &quiet) || cache_check_writes(c, v) ||
              remember(c, v))) {
        Py_DECREF((PyObject *)v);
        v = NULL;
    }
    fe_captures_free(&captures);
    fe_captures_free(&quiet);
    pending_end(c->k, mine);
    Py_XDECREF((PyObject *)v); /* the kernel has its own */
    return v;
}

/* They ask the launch other questions than v does, so each is for its own answers. */
Compiled *
cache_otherwise(Compiled *v, Call *c, bool no_maps)
{
    for (Compiled *w = v->otherwise; w; w = w->otherwise) {
        if (w->no_maps != no_maps || !binary_is_for(&w->bin, c->grid_facts))
            continue;
        int r = call_agrees(c, w->key, w->asked, TRUTH_BITS);
        if (r)
            return r < 0 ? NULL : w;
    }
    FeCaptures captures = {0}, quiet = {0}; /* v's, which the kernel has */
    Compiled *w = make_variant(c, v->bin.target, &captures, &quiet, no_maps);
    fe_captures_free(&captures);
    fe_captures_free(&quiet);
    if (!w)
        return NULL;
    w->no_maps = no_maps, w->otherwise = v->otherwise;
    return v->otherwise = w;
}

Compiled *
cache_find(Call *c)
{
    Kernel *k = c->k;
    if ((k->captures.n || k->n_edits != k->st->n_edits) && check_captures(k))
        return NULL;
    Entry recent = k->recent;
    int r = recent.key ? call_equals(c, recent.key) : 0;
    if (r)
        return r > 0 ? recent.variant : NULL;
    call_hash(c);
    Table *t = k->table;
    Entry *e = table_find(c);
    if (e && t == k->table) /* comparing runs code, which may have retired it */
        k->recent = *e;
    return e ? e->variant : NULL;
}

Compiled *
cache_get(Call *c)
{
    Compiled *v = cache_find(c);
    return v || PyErr_Occurred() ? v : cache_miss(c);
}

/* ---- the end ------------------------------------------------------------------------------ */

void
cache_clear(Kernel *k)
{
    Table *t = k->table;
    k->table = NULL;
    k->recent = (Entry){NULL, NULL};
    for (Table *x = t; x;
         x = x->older) { /* the others hold the entries of a newer one */
        if (x != t && !x->is_retired)
            continue;
        for (size_t i = 0; i <= x->mask; i++)
            if (x->slot[i].key) {
                key_free(x->slot[i].key);
                Py_DECREF((PyObject *)x->slot[i].variant);
            }
    }
    while (t) {
        Table *older = t->older;
        free(t);
        t = older;
    }
    fe_captures_free(&k->captures);
    fe_captures_free(&k->quiet);
    int n = k->n_variants;
    k->n_variants = 0;
    for (int i = 0; i < n; i++)
        Py_DECREF((PyObject *)k->variants[i]);
    free(k->variants);
    k->variants = NULL;
    k->cap_variants = 0;
}

int
cache_traverse(Kernel *k, visitproc visit, void *arg)
{
    for (Table *t = k->table; t; t = t->older)
        for (size_t i = 0; i <= t->mask; i++)
            if (t->slot[i].key && (t == k->table || t->is_retired)) {
                int r = key_traverse(t->slot[i].key, visit, arg);
                if (r)
                    return r;
                Py_VISIT((PyObject *)t->slot[i].variant);
            }
    int r = fe_captures_traverse(&k->captures, visit, arg);
    r = r ? r : fe_captures_traverse(&k->quiet, visit, arg);
    if (r)
        return r;
    for (int i = 0; i < k->n_variants; i++)
        Py_VISIT((PyObject *)k->variants[i]);
    return 0;
}
