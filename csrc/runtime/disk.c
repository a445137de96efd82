/* disk: variants that outlive the process.
 *
 *     <cache dir>/v1/<hash>/<answers>.bin
 *
 *     hash      SHA-256 over the source of the function and all it calls, the types of the
 *               arguments, constants, options, target, CPU, assembler and this compiler
 *     answers   what was asked of the arguments and what was true, and the bytes of the
 *               users' libraries that are linked (libraries.c): one file a variant
 *
 * A file is a head (magic, sizes, checksum) and the Binary, field by field. It is written
 * under another name, synced and renamed, so a reader sees all of it or nothing; the
 * checksum finds what a disk does to it later. Whatever goes wrong is a miss, never an
 * error: a cache must not be able to break a program. The modification time is the time of
 * the last use, by which `python -m tegula cache prune` and disk_store drop the oldest.
 */
#include "runtime/launch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "TEGULA1\n";
typedef struct Head {
    char magic[8];
    uint64_t n_bytes;  /* behind the head */
    uint64_t checksum; /* hash_bytes of them */
} Head;

/* ---- bytes ------------------------------------------------------------------------------ */

typedef struct Bytes {
    char *at; /* malloc'ed */
    size_t n, cap;
    bool failed; /* out of memory when writing; too short or wrong when reading */
} Bytes;

static void
put(Bytes *b, const void *p, size_t n)
{
    if (b->failed)
        return;
    if (b->n + n > b->cap) {
        size_t cap = MAX(2 * b->cap, b->n + n + 256);
        char *at = realloc(b->at, cap);
        b->failed = !at;
        if (!at)
            return;
        b->at = at, b->cap = cap;
    }
    if (n)
        memcpy(b->at + b->n, p, n);
    b->n += n;
}

static void
put_text(Bytes *b, const char *s)
{
    put(b, s, strlen(s));
}

static void
put_block(Bytes *b, const void *p, size_t n)
{
    uint64_t size = n;
    put(b, &size, sizeof size);
    put(b, p, n);
}

typedef struct Reader {
    const char *at, *end;
    bool failed;
} Reader;

static void
get(Reader *r, void *p, size_t n)
{
    if (r->failed || (size_t)(r->end - r->at) < n) {
        r->failed = true;
        memset(p, 0, n);
        return;
    }
    memcpy(p, r->at, n);
    r->at += n;
}

/* A malloc'ed copy with a NUL behind it; NULL on failure. */
static char *
get_block(Reader *r, size_t *n)
{
    uint64_t size;
    get(r, &size, sizeof size);
    if (r->failed || size > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return NULL;
    }
    char *p = malloc(size + 1);
    if (!p) {
        r->failed = true;
        return NULL;
    }
    get(r, p, size);
    p[size] = 0;
    *n = size;
    return p;
}

/* ---- the Binary, field by field --------------------------------------------------------- */

static void
put_int(Bytes *b, int64_t v)
{
    put(b, &v, sizeof v);
}

static int
get_int(Reader *r)
{
    int64_t v;
    get(r, &v, sizeof v);
    return (int)v;
}

static void
put_binary(Bytes *b, const char *kernel, const Binary *bin)
{
    put_block(b, kernel, strlen(kernel)); /* for people who list the cache */
    put_block(b, bin->facts, (size_t)bin->n_facts * sizeof *bin->facts);
    put_int(b, bin->target.kind);
    put_int(b, bin->target.sm);
    put_int(b, bin->target.accelerated);
    put_block(b, bin->symbol, strlen(bin->symbol));
    put_block(b, bin->params, (size_t)bin->n_params * sizeof *bin->params);
    put_int(b, bin->num_warps);
    put_int(b, bin->num_stages);
    put_int(b, bin->num_ctas);
    put_int(b, bin->shared);
    put_int(b, bin->scratch);
    put_int(b, bin->n_regs);
    put_int(b, bin->n_spills);
    put_int(b, bin->n_stages);
    for (int i = 0; i < bin->n_stages; i++) {
        put(b, bin->stage[i].name, sizeof bin->stage[i].name);
        put_block(b, bin->stage[i].data, bin->stage[i].size);
    }
}

static bool
get_binary(Reader *r, Binary *bin)
{
    size_t n = 0;
    free(get_block(r, &n));
    bin->facts = (ArgFacts *)get_block(r, &n);
    bin->n_facts = (int)(n / sizeof *bin->facts);
    bin->target.kind = (TargetKind)get_int(r);
    bin->target.sm = get_int(r);
    bin->target.accelerated = get_int(r);
    bin->symbol = get_block(r, &n);
    bin->params = (ParamAbi *)get_block(r, &n);
    bin->n_params = (int)(n / sizeof *bin->params);
    bin->num_warps = get_int(r);
    bin->num_stages = get_int(r);
    bin->num_ctas = get_int(r);
    bin->shared = get_int(r);
    bin->scratch = get_int(r);
    bin->n_regs = get_int(r);
    bin->n_spills = get_int(r);
    int n_stages = get_int(r);
    for (int i = 0; i < n_stages && !r->failed; i++) {
        char name[sizeof bin->stage[0].name];
        get(r, name, sizeof name);
        name[sizeof name - 1] = 0;
        char *data = get_block(r, &n);
        r->failed |= !data || !binary_add(bin, name, data, n);
        free(data);
    }
    return !r->failed && r->at == r->end;
}

/* ---- the hash ------------------------------------------------------------------------------ */

/* Adds up what the Python files below folder are: names, sizes, times; in any order. */
static uint64_t
folder_stamp(const char *folder, int depth)
{
    DIR *d = depth ? opendir(folder) : NULL;
    uint64_t sum = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char path[PATH_MAX];
        struct stat s;
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >=
                (int)sizeof path ||
            stat(path, &s))
            continue;
        if (S_ISDIR(s.st_mode))
            sum += folder_stamp(path, depth - 1);
        if (n < 3 || strcmp(e->d_name + n - 3, ".py") != 0)
            continue;
        const uint64_t words[] = {hash_bytes(path, strlen(path)), (uint64_t)s.st_size,
                                  (uint64_t)s.st_mtim.tv_sec,
                                  (uint64_t)s.st_mtim.tv_nsec};
        sum += hash_bytes(words, sizeof words);
    }
    if (d)
        closedir(d);
    return sum;
}

uint64_t
disk_library_stamp(void)
{
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr((void *)(uintptr_t)&disk_key, &info))
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    int n = slash ? (int)(slash - info.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*s%slanguage", n, info.dli_fname, n ? "/" : "");
    return folder_stamp(path, 4);
}

/* This compiler: when its code was written, and its functions in Python. Another build is
 * another one. */
static bool
put_self(Bytes *b, const Config *config)
{
    Dl_info info;
    struct stat s;
    if (!dladdr((void *)(uintptr_t)&disk_key, &info) || stat(info.dli_fname, &s))
        return false;
    int64_t words[] = {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                       (int64_t)config->library};
    put_block(b, words, sizeof words);
    return true;
}

static void
put_machine(Bytes *b, const Config *config, Target target)
{
    if (target.kind == TARGET_CUDA) {
        /* Without an assembler a variant has no cubin: another one is made when there is. */
        char path[PATH_MAX];
        struct stat s;
        if (ptxas_find(config->ptxas, path) && !stat(path, &s)) {
            int64_t words[] = {s.st_size, s.st_mtim.tv_sec};
            put_block(b, path, strlen(path));
            put_block(b, words, sizeof words);
        }
        return;
    }
    char *name = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    put_block(b, name, strlen(name));
    put_block(b, features, strlen(features));
    LLVMDisposeMessage(name);
    LLVMDisposeMessage(features);
}

/* 1: written; 0: a value with no name that lasts; -1 with an exception. */
static int
put_constant(Bytes *b, const FeEnv *env, PyObject *x, FeCaptures *captures)
{
    FeFunction *f = env->as_function(env->data, x);
    if (f) {
        PyObject *hash = fe_function_hash(env, f, captures);
        if (!hash)
            return -1;
        put_block(b, PyBytes_AsString(hash), (size_t)PyBytes_Size(hash));
        Py_DECREF(hash);
        return 1;
    }
    if (PyTuple_Check(x)) {
        Py_ssize_t n = PyTuple_Size(x);
        int r = 1;
        put_int(b, n);
        for (Py_ssize_t i = 0; r == 1 && i < n; i++)
            r = put_constant(b, env, PyTuple_GetItem(x, i), captures);
        return r;
    }
    const State *st = env->data;
    if (!PyLong_Check(x) && !PyFloat_Check(x) && !PyUnicode_Check(x) && x != Py_None &&
        !PyObject_TypeCheck(x, (PyTypeObject *)st->dtype_type))
        return 0;
    PyObject *text = PyObject_Repr(x);
    PyObject *type = text ? PyObject_Repr((PyObject *)Py_TYPE(x)) : NULL;
    const char *s = type ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const char *t = s ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (t) {
        put_block(b, s, strlen(s));
        put_block(b, t, strlen(t));
    }
    Py_XDECREF(text);
    Py_XDECREF(type);
    return t ? 1 : -1;
}

/* A tuple's type: what the frontend reads of it. 1, or -1 with an exception. */
static int
put_tuple_type(Bytes *b, PyObject *x)
{
    PyObject *type = (PyObject *)Py_TYPE(x);
    PyObject *name = PyObject_Repr(type);
    PyObject *fields = PyObject_GetAttrString(type, "_fields");
    if (!fields)
        PyErr_Clear();
    PyObject *text = fields ? PyObject_Repr(fields) : NULL;
    const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *t = text ? PyUnicode_AsUTF8AndSize(text, NULL) : "";
    if (s && t) {
        put_block(b, s, strlen(s));
        put_block(b, t, strlen(t));
    }
    Py_XDECREF(name);
    Py_XDECREF(fields);
    Py_XDECREF(text);
    return s && t && !PyErr_Occurred() ? 1 : -1;
}

/* 1, 0, -1 as above. Whatever it is: functions among the arguments note their captures. */
static int
put_call(Bytes *b, const Call *c, const FeEnv *env, FeCaptures *captures)
{
    int res = 1;
    for (int i = 0; i < c->n; i++) {
        uint32_t code = c->code[i] & ~(uint32_t)TRUTH_BITS;
        put(b, &code, sizeof code);
        NodeKind kind = code_kind(code);
        int r = kind == NODE_TUPLE  ? put_tuple_type(b, c->value[i])
                : kind >= NODE_NONE ? put_constant(b, env, c->value[i], captures)
                                    : 1;
        if (r < 0)
            return r;
        res = MIN(res, r);
    }
    return res;
}

/* SHA-256 of b in hex. 0, or -1 with an exception. */
static int
sha256(const Bytes *b, char out[65])
{
    PyObject *h = fe_sha256();
    PyObject *done = h ? PyObject_CallMethod(h, "update", "y#", b->at, (Py_ssize_t)b->n)
                       : NULL;
    PyObject *hex = done ? PyObject_CallMethod(h, "hexdigest", NULL) : NULL;
    const char *s = hex ? PyUnicode_AsUTF8AndSize(hex, NULL) : NULL;
    if (s)
        snprintf(out, 65, "%s", s);
    Py_XDECREF(h);
    Py_XDECREF(done);
    Py_XDECREF(hex);
    return s ? 0 : -1;
}

int
disk_key(const Call *c, Target target, Options o, const char *symbol, DiskKey *key,
         FeCaptures *captures)
{
    const Config *config = &c->k->st->config;
    *key = (DiskKey){.hash = ""};
    FeEnv env;
    if (!kernel_env(c->k->st, &env))
        return -1;
    /* Failed assertions and checks say where. */
    env.has_places = o.debug || o.check_bounds || target.kind == TARGET_EMU;
    PyObject *source = fe_function_hash(&env, c->k->f, captures);
    if (!source)
        return -1;
    Bytes b = {0};
    put_block(&b, PyBytes_AsString(source), (size_t)PyBytes_Size(source));
    Py_DECREF(source);
    char name[TARGET_TEXT];
    put_text(&b, target_text(target, name));
    const int words[] = {
        o.num_warps,         o.num_stages,       o.num_ctas,
        o.maxnreg,           o.enable_fp_fusion, o.debug,
        o.sanitize_overflow, o.launch_pdl,       o.launch_cooperative_grid,
        o.interpret,         o.check_bounds,     o.line_info,
        o.imprecise};
    put(&b, words, sizeof words);
    const char *texts = call_option_texts(c);
    put_text(&b, texts ? texts : "");
    put_machine(&b, config, target);
    if (target.kind == TARGET_CUDA) {
        put_text(&b, config->ptxas_options ? config->ptxas_options : "");
        put_text(&b, config->disable_ptxas_opt ? "-O0" : "");
    }
    if (symbol)
        put_block(&b, symbol, strlen(symbol));
    int r = put_call(&b, c, &env, captures);
    if (r == 1 && !put_self(&b, config))
        r = 0;
    if (b.failed)
        PyErr_NoMemory();
    /* The name does not tell where in its file a function stands, and lines do. */
    if (r == 1 && !b.failed && !sha256(&b, key->hash) && config->cache_dir &&
        !o.line_info && !o.interpret) {
        size_t n = strlen(config->cache_dir) + sizeof "/v1/" + sizeof key->hash;
        key->dir = malloc(n);
        if (key->dir)
            snprintf(key->dir, n, "%s/v1/%s", config->cache_dir, key->hash);
    }
    free(b.at);
    return PyErr_Occurred() ? -1 : 0;
}

void
disk_key_done(DiskKey *key)
{
    free(key->dir);
    key->dir = NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The file's bytes behind its head, checked; NULL: not one of ours, or damaged. */
static char *
read_checked(int fd, Head *head)
{
    struct stat s;
    if (fstat(fd, &s) || s.st_size < (off_t)sizeof *head)
        return NULL;
    size_t n = (size_t)s.st_size - sizeof *head;
    char *data = malloc(MAX(n, 1));
    bool ok = data && pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
              !memcmp(head->magic, magic, sizeof magic) && head->n_bytes == n;
    for (size_t at = 0; ok && at < n;) {
        ssize_t got = pread(fd, data + at, n - at, (off_t)(sizeof *head + at));
        ok = got > 0;
        at += ok ? (size_t)got : 0;
    }
    if (ok && hash_bytes(data, n) == head->checksum)
        return data;
    free(data);
    return NULL;
}

/* Does this launch answer as the variant's did? */
static bool
agrees(const Call *c, const ArgFacts *facts, int n_facts)
{
    int slot = 0;
    for (int i = 0; i < c->n; i++) {
        if (code_kind(c->code[i]) == NODE_TUPLE)
            continue;
        if (slot >= n_facts ||
            (facts[slot].truth ^ code_truth(c->code[i])) & facts[slot].asked)
            return false;
        slot++;
    }
    return slot == n_facts;
}

static bool
load_file(int dir, const char *name, const Call *c, Binary *out)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    Head head;
    char *data = read_checked(fd, &head);
    bool ok = false;
    if (data) {
        Reader r = {data, data + head.n_bytes, false};
        Binary bin = {0};
        ok = get_binary(&r, &bin) && agrees(c, bin.facts, bin.n_facts) &&
             libraries_unchanged(c->k->st, &bin);
        if (ok)
            *out = bin;
        else
            binary_free(&bin);
        free(data);
    } else {
        unlinkat(dir, name, 0); /* damaged: it will be written again */
    }
    if (ok)
        futimens(fd, NULL); /* used now */
    close(fd);
    return ok;
}

static bool
is_ours(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".bin");
}

bool
disk_load(const DiskKey *key, const Call *c, Binary *out)
{
    DIR *d = opendir(key->dir);
    if (!d)
        return false;
    bool ok = false;
    for (struct dirent *e; !ok && (e = readdir(d));)
        ok = is_ours(e->d_name) && load_file(dirfd(d), e->d_name, c, out);
    closedir(d);
    return ok;
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool
make_dirs(const char *path)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return false;
    for (char *p = part + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            if (mkdir(part, 0777) && errno != EEXIST)
                return false;
            *p = '/';
        }
    return !mkdir(part, 0777) || errno == EEXIST;
}

static bool
write_all(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t w = write(fd, data, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        data += w, n -= (size_t)w;
    }
    return true;
}

static void
write_file(const char *dir, const Bytes *b, uint64_t answers)
{
    char tmp[PATH_MAX], path[PATH_MAX];
    Head head = {.n_bytes = b->n, .checksum = hash_bytes(b->at, b->n)};
    memcpy(head.magic, magic, sizeof magic);
    if (snprintf(path, sizeof path, "%s/%016llx.bin", dir,
                 (unsigned long long)answers) >= (int)sizeof path ||
        snprintf(tmp, sizeof tmp, "%s/.new-XXXXXX", dir) >= (int)sizeof tmp)
        return;
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return;
    bool ok = write_all(fd, (const char *)&head, sizeof head) &&
              write_all(fd, b->at, b->n) && !fchmod(fd, 0644) && !fsync(fd);
    ok = !close(fd) && ok;
    if (!ok || rename(tmp, path))
        unlink(tmp);
}

/* The answers and the libraries, as a number. */
static uint64_t
answers_of(const Binary *bin)
{
    uint64_t n = hash_bytes(bin->facts, (size_t)bin->n_facts * sizeof *bin->facts);
    const Stage *libraries = binary_stage(bin, "linked");
    if (!libraries)
        return n;
    const uint64_t both[] = {n, hash_bytes(libraries->data, libraries->size)};
    return hash_bytes(both, sizeof both);
}

void
disk_store(const Config *config, const DiskKey *key, const char *kernel,
           const Binary *bin)
{
    Bytes b = {0};
    put_binary(&b, kernel, bin);
    if (!b.failed && make_dirs(key->dir)) {
        write_file(key->dir, &b, answers_of(bin));
        /* Looking at every file takes a while: one store in 32 does, by a coin that needs
         * no memory of its own. */
        if (hash_bytes(key->hash, sizeof key->hash) % 32 == 0)
            disk_prune(config->cache_dir, config->cache_max_bytes);
    }
    free(b.at);
}

/* ---- keeping it small --------------------------------------------------------------------- */

typedef struct File {
    char *path; /* malloc'ed */
    int64_t size;
    struct timespec used;
} File;

typedef struct Files {
    File *at;
    size_t n, cap;
    int64_t n_bytes;
} Files;

static void
list_dir(const char *dir, Files *out)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat s;
        char path[PATH_MAX];
        if (!is_ours(e->d_name) ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
            stat(path, &s))
            continue;
        if (out->n == out->cap) {
            size_t cap = MAX(64, 2 * out->cap);
            File *at = realloc(out->at, cap * sizeof *at);
            if (!at)
                break;
            out->at = at, out->cap = cap;
        }
        char *copy = strdup(path);
        if (!copy)
            break;
        out->at[out->n++] = (File){copy, s.st_size, s.st_mtim};
        out->n_bytes += s.st_size;
    }
    if (d)
        closedir(d);
}

static int
by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const File *)a)->used, *y = &((const File *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

int64_t
disk_prune(const char *cache_dir, int64_t max_bytes)
{
    char root[PATH_MAX], dir[PATH_MAX + 256];
    Files files = {0};
    int64_t freed = 0;
    if (snprintf(root, sizeof root, "%s/v1", cache_dir) >= (int)sizeof root)
        return 0;
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(dir, sizeof dir, "%s/%s", root, e->d_name);
            list_dir(dir, &files);
        }
    if (d)
        closedir(d);
    if (files.n_bytes > max_bytes) {
        /* To nine tenths, so that the next stores need not prune again. */
        int64_t goal = max_bytes - max_bytes / 10;
        qsort(files.at, files.n, sizeof *files.at, by_use);
        for (size_t i = 0; i < files.n && files.n_bytes - freed > goal; i++) {
            char *slash;
            if (!unlink(files.at[i].path))
                freed += files.at[i].size;
            if ((slash = strrchr(files.at[i].path, '/'))) {
                *slash = 0;
                rmdir(files.at[i].path); /* only when it was the last one */
            }
        }
    }
    for (size_t i = 0; i < files.n; i++)
        free(files.at[i].path);
    free(files.at);
    return freed;
}
