/* disk: variants that outlive the process.
 *
 *     <cache dir>/v2/<hash>/<answers>.bin
 *
 *     hash      SHA-256 over the tile IR that the frontend made, its questions about the
 *               arguments and their answers, options, target, CPU, assembler and this build.
 *               The frontend runs in each process, so all that it looked at is in the IR, and
 *               what it did not look at cannot matter
 *     answers   what was asked of the arguments and what was true, and the bytes of the
 *               users' libraries that are linked (libraries.c): one file a variant
 *
 * A file is a head (magic, build, the hash, size, checksum) and the Binary, field by field. It is written
 * under another name, synced and renamed, so a reader sees all of it or nothing; the
 * checksum finds what a disk does to it later. Whatever goes wrong is a miss, never an
 * error: a cache must not be able to break a program. The modification time is the time of
 * the last use, to within RENEWED seconds, by which `python -m tegula cache prune` and
 * disk_store drop the oldest.
 */
#include "ptxas.h"
#include "runtime/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "TEGULA3\n";
typedef struct Head {
    char magic[8];
    unsigned char build[BUILD_ID_BYTES], gap[4];
    unsigned char key[32]; /* whose entry it is, whatever the file is called */
    uint64_t n_bytes;      /* behind the head */
    uint64_t checksum;     /* hash_bytes of them */
} Head;
_Static_assert(sizeof(Head) == 80, "the head has no gaps: cache.py reads it");

/* ---- bytes ------------------------------------------------------------------------------ */

typedef struct Bytes {
    char *at; /* malloc'ed */
    size_t n, cap;
    bool failed; /* out of memory when writing; too short or wrong when reading */
} Bytes;

static void
put_bytes(Bytes *b, const void *p, size_t n)
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
    put_bytes(b, s, strlen(s));
}

static void
put_block(Bytes *b, const void *p, size_t n)
{
    uint64_t size = n;
    put_bytes(b, &size, sizeof size);
    put_bytes(b, p, n);
}

/* A block that is read where it lies: at a multiple of ALIGN of the file, with a NUL behind. */
enum { ALIGN = 16 };

static void
put_aligned(Bytes *b, const void *p, size_t n)
{
    uint64_t size = n;
    put_bytes(b, &size, sizeof size);
    put_bytes(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", (ALIGN - b->n % ALIGN) % ALIGN);
    put_bytes(b, p, n);
    put_bytes(b, "", 1);
}

static void
get(Cursor *r, void *p, size_t n)
{
    const char *from = cursor_take(r, n);
    if (from)
        memcpy(p, from, n);
    else
        memset(p, 0, n);
}

/* What put_aligned has put, and its size; NULL on failure. */
static char *
get_aligned(Cursor *r, size_t *n)
{
    uint64_t size;
    get(r, &size, sizeof size);
    cursor_take(r, (size_t)(ALIGN - (r->at - r->start) % ALIGN) % ALIGN);
    r->failed |= size >= (uint64_t)(r->end - r->at) || r->at[size];
    *n = size;
    const char *p = cursor_take(r, size);
    cursor_take(r, 1);
    return r->failed ? NULL
                     : (char *)(uintptr_t)p; /* of the file, which is malloc'ed */
}

/* ---- the Binary, field by field --------------------------------------------------------- */

static void
put_int(Bytes *b, int64_t v)
{
    put_bytes(b, &v, sizeof v);
}

static int
get_int(Cursor *r)
{
    int64_t v;
    get(r, &v, sizeof v);
    return (int)v;
}

static void
put_binary(Bytes *b, const char *kernel, const Binary *bin)
{
    put_block(b, kernel, strlen(kernel)); /* for people who list the cache */
    put_int(b, bin->target.kind);
    put_int(b, bin->target.sm);
    put_int(b, bin->target.accelerated);
    put_aligned(b, bin->symbol, strlen(bin->symbol));
    for (int k = 0; k < N_BINARY_ARRAYS; k++) {
        size_t n = (size_t)*binary_int(bin, binary_arrays[k].n) * binary_arrays[k].size;
        put_aligned(b, *binary_array(bin, k), n);
    }
    for (int k = 0; k < N_BINARY_INTS; k++)
        put_int(b, *binary_int(bin, binary_ints[k]));
    put_int(b, bin->n_stages);
    for (int i = 0; i < bin->n_stages; i++) {
        put_bytes(b, bin->stage[i].name, sizeof bin->stage[i].name);
        put_aligned(b, bin->stage[i].data, bin->stage[i].size);
    }
}

/* The binary keeps the bytes that r reads: bin->file is set by the caller. */
static bool
get_binary(Cursor *r, Binary *bin)
{
    size_t n = 0;
    uint64_t n_name;
    get(r, &n_name, sizeof n_name);
    cursor_take(r, n_name);
    bin->target.kind = (TargetKind)get_int(r);
    bin->target.sm = get_int(r);
    bin->target.accelerated = get_int(r);
    bin->symbol = get_aligned(r, &n);
    for (int k = 0; k < N_BINARY_ARRAYS; k++) {
        *binary_array(bin, k) = get_aligned(r, &n);
        *binary_int(bin, binary_arrays[k].n) = (int)(n / binary_arrays[k].size);
    }
    for (int k = 0; k < N_BINARY_INTS; k++)
        *binary_int(bin, binary_ints[k]) = get_int(r);
    int n_stages = get_int(r);
    for (int i = 0; i < n_stages && !r->failed; i++) {
        char name[sizeof bin->stage[0].name];
        get(r, name, sizeof name);
        name[sizeof name - 1] = 0;
        char *data = get_aligned(r, &n);
        r->failed |= !data || !binary_take(bin, name, data, n);
    }
    return !r->failed && r->at == r->end;
}

/* ---- the key ------------------------------------------------------------------------------- */

/* Called for each object in the process: the build id of the one that holds this function. */
static int
find_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uintptr_t here = (uintptr_t)&disk_build_id;
    const ElfW(Nhdr) *note = NULL;
    const char *end = NULL;
    bool is_ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        is_ours |= p->p_type == PT_LOAD && here - at < p->p_memsz;
        if (p->p_type == PT_NOTE) {
            const ElfW(Nhdr) *n = (const void *)at;
            if (n->n_type == NT_GNU_BUILD_ID)
                note = n, end = (const char *)at + p->p_memsz;
        }
    }
    if (!is_ours || !note || note->n_descsz < BUILD_ID_BYTES)
        return is_ours;
    const char *id = (const char *)(note + 1) + (note->n_namesz + 3) / 4 * 4;
    if (id + BUILD_ID_BYTES <= end)
        memcpy(data, id, BUILD_ID_BYTES);
    return 1;
}

bool
disk_build_id(unsigned char out[BUILD_ID_BYTES])
{
    static const unsigned char none[BUILD_ID_BYTES];
    memset(out, 0, BUILD_ID_BYTES);
    dl_iterate_phdr(find_build_id, out);
    return memcmp(out, none, sizeof none) != 0;
}

static void
put_machine(Bytes *b, const Config *config, Target target)
{
    if (target.kind == TARGET_CUDA) {
        /* Without an assembler a variant has no cubin: another one is made when there is. */
        char path[PATH_MAX];
        struct stat s;
        if (ptxas_find(config->ptxas, path) && !stat(path, &s)) {
            int64_t words[] = {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
            put_block(b, path, strlen(path));
            put_block(b, words, sizeof words);
        }
        return;
    }
    if (target.kind == TARGET_EMU) /* PTX, which is the same on every machine */
        return;
    uint32_t words[CPU_WORDS];
    int n = cpu_words(words);
    put_block(b, words, (size_t)n * sizeof *words);
    if (n)
        return;
    char *name = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    put_block(b, name, strlen(name));
    put_block(b, features, strlen(features));
    LLVMDisposeMessage(name);
    LLVMDisposeMessage(features);
}

/* All that the code depends on, but for the answers that the passes will ask for. */
static void
put_key(Bytes *b, const Config *config, const Comp *c, const char *identity)
{
    const Options o = c->opt;
    char name[TARGET_TEXT];
    const int words[] = {
        o.num_warps,         o.num_stages,       o.num_ctas,
        o.maxnreg,           o.enable_fp_fusion, o.debug,
        o.sanitize_overflow, o.launch_pdl,       o.launch_cooperative_grid,
        o.interpret,         o.check_bounds,     o.line_info,
        o.imprecise,         c->hopper.no_maps};
    unsigned llvm[3];
    LLVMGetVersion(&llvm[0], &llvm[1], &llvm[2]);
    put_bytes(b, llvm, sizeof llvm);
    put_block(b, identity, strlen(identity));
    target_text(o.target, name);
    put_block(b, name, strlen(name));
    put_bytes(b, words, sizeof words);
    const char *texts[] = {c->option_texts, c->symbol};
    for (size_t i = 0; i < COUNT(texts); i++)
        put_block(b, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) : 0);
    put_machine(b, config, o.target);
    if (o.target.kind == TARGET_CUDA) {
        put_text(b, config->ptxas_options ? config->ptxas_options : "");
        put_text(b, config->disable_ptxas_opt ? "-O0" : "");
    }
}

int
disk_key(const Config *config, const Comp *c, const Lowered *lowered, DiskKey *key)
{
    *key = (DiskKey){.hash = ""};
    Bytes b = {0};
    bool has_id = disk_build_id(key->build);
    put_bytes(&b, key->build, sizeof key->build);
    put_key(&b, config, c, lowered->identity);
    if (!b.failed) {
        sha256(b.at, b.n, key->sha);
        for (size_t i = 0; i < sizeof key->sha; i++)
            snprintf(key->hash + 2 * i, 3, "%02x", key->sha[i]);
    }
    free(b.at);
    if (b.failed)
        return PyErr_NoMemory(), -1;
    if (!config->cache_dir || c->opt.interpret || !has_id)
        return 0;
    size_t n = strlen(config->cache_dir) + sizeof "/v2/" + sizeof key->hash;
    key->dir = malloc(n);
    if (!key->dir)
        return PyErr_NoMemory(), -1;
    snprintf(key->dir, n, "%s/v2/%s", config->cache_dir, key->hash);
    return 0;
}

void
disk_key_done(DiskKey *key)
{
    free(key->dir);
    key->dir = NULL;
}

/* ---- whose files -------------------------------------------------------------------------- */

/* Opens what is ours: a file, or a directory with how O_DIRECTORY, whose owner is this user or
 * root, and which nobody else may write. -1 otherwise, with EPERM where it is another's. A
 * FIFO does not hold us up, and links are not followed. */
static int
private_open(int dir, const char *name, int how, struct stat *s)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | how);
    if (fd < 0)
        return -1;
    bool is_kind = !fstat(fd, s) && (how ? S_ISDIR(s->st_mode) : S_ISREG(s->st_mode));
    bool is_ours = is_kind && (s->st_uid == geteuid() || !s->st_uid) &&
                   !(s->st_mode & (S_IWGRP | S_IWOTH));
    if (is_ours)
        return fd;
    close(fd);
    errno = is_kind ? EPERM : EINVAL;
    return -1;
}

/* Says once that a file is refused because others may have written it. An exception where
 * warnings are errors. */
static void
warn_of_others(State *st, const char *dir, int why)
{
    if (why != EPERM || st->warned_of_others)
        return;
    st->warned_of_others = true;
    PyErr_WarnFormat(
        PyExc_RuntimeWarning, 1,
        "compiled kernels in %s are not used: another user owns them, or may "
        "write there. Remove the directory, or set TEGULA_CACHE_DIR",
        dir);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* An entry beyond this is none of ours: a cubin has kilobytes. */
enum { LARGEST_ENTRY = 1 << 28 };
/* What is read gets the time of now, where it has one that is so many seconds old: to write
 * the time costs more than to read a small file. */
enum { RENEWED = 600 };

/* The bytes behind the head of a file of that size, checked; NULL: not one of ours, or
 * damaged. */
static char *
read_checked(int fd, int64_t size, Head *head)
{
    if (size < (int64_t)sizeof *head || size > LARGEST_ENTRY ||
        file_read(fd, head, sizeof *head) != (ssize_t)sizeof *head)
        return NULL;
    size_t n = (size_t)size - sizeof *head;
    bool ok = !memcmp(head->magic, magic, sizeof magic) && head->n_bytes == n;
    char *data = ok ? malloc(MAX(n, 1)) : NULL;
    if (data && file_read(fd, data, n) == (ssize_t)n &&
        hash_bytes(data, n) == head->checksum)
        return data;
    free(data);
    return NULL;
}

/* Does this launch answer as the variant's did? Of the leaves behind the last fact, constants,
 * nothing was asked: code that was made from a text of the IR knows of parameters alone. */
static bool
agrees(const Call *c, const ArgFacts *facts, int n_facts)
{
    int slot = 0;
    for (int i = 0; i < c->n; i++) {
        if (code_kind(c->code[i]) == NODE_TUPLE)
            continue;
        if (slot < n_facts &&
            (facts[slot].truth ^ code_truth(c->code[i])) & facts[slot].asked)
            return false;
        slot++;
    }
    return slot >= n_facts;
}

/* Is it an entry of this key, and of this build? */
static bool
is_of_key(const Head *h, const DiskKey *key)
{
    return !memcmp(h->key, key->sha, sizeof h->key) &&
           !memcmp(h->build, key->build, sizeof h->build);
}

/* The bytes of the key's file in dir, malloc'ed; NULL: it is none, or damaged, or another's. */
static char *
read_file(State *st, int dir, const char *name, const DiskKey *key, size_t *n)
{
    struct stat s;
    int fd = private_open(dir, name, 0, &s);
    if (fd < 0)
        return warn_of_others(st, key->dir, errno), NULL;
    Head head;
    char *data = read_checked(fd, s.st_size, &head);
    close(fd);
    if (!data) {
        unlinkat(dir, name, 0); /* damaged: it will be written again */
        return NULL;
    }
    *n = head.n_bytes;
    if (!is_of_key(&head, key)) {
        free(data);
        return NULL;
    }
    if (s.st_mtim.tv_sec + RENEWED < time(NULL))
        utimensat(dir, name, NULL, 0);
    return data;
}

static bool
load_file(int dir, const char *name, const DiskKey *key, const Call *c, Binary *out)
{
    Binary bin = {0};
    char *data = bin.file = read_file(c->k->st, dir, name, key, &bin.file_size);
    if (!data)
        return false;
    Cursor r = {.at = data, .start = data, .end = data + bin.file_size};
    if (!get_binary(&r, &bin) || !agrees(c, bin.facts, bin.n_facts) ||
        !binary_is_for(&bin, c->grid_facts) || !libraries_unchanged(c->k->st, &bin))
        return binary_free(&bin), false;
    *out = bin;
    return true;
}

static bool
ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

static bool
is_entry(const char *name)
{
    return ends_in(name, ".bin");
}

/* The directory of the key's entries: ours, as is the one it lies in. A descriptor, or -1. */
static int
open_dir(const DiskKey *key)
{
    struct stat s;
    char root[PATH_MAX];
    const char *slash = strrchr(key->dir, '/');
    snprintf(root, sizeof root, "%.*s", (int)(slash - key->dir), key->dir);
    int above = private_open(AT_FDCWD, root, O_DIRECTORY, &s);
    if (above < 0)
        return -1;
    int fd = private_open(above, slash + 1, O_DIRECTORY, &s);
    int why = errno;
    close(above);
    errno = why;
    return fd;
}

char *
disk_read(State *st, const DiskKey *key, const char *name, size_t *n)
{
    int dir = open_dir(key);
    if (dir < 0)
        return warn_of_others(st, key->dir, errno), NULL;
    char *data = read_file(st, dir, name, key, n);
    close(dir);
    return data;
}

bool
disk_load(const DiskKey *key, const Call *c, Binary *out)
{
    int fd = open_dir(key);
    if (fd < 0)
        return warn_of_others(c->k->st, key->dir, errno), false;
    DIR *d = fdopendir(fd);
    if (!d)
        return close(fd), false;
    bool ok = false;
    for (struct dirent *e; !ok && (e = readdir(d));)
        ok = is_entry(e->d_name) && load_file(fd, e->d_name, key, c, out);
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
            if (mkdir(part, 0700) && errno != EEXIST)
                return false;
            *p = '/';
        }
    return !mkdir(part, 0700) || errno == EEXIST;
}

/* Whole or not at all; with is_synced also when the machine fails. */
static void
write_file(const DiskKey *key, const char *name, const char *data, size_t n,
           bool is_synced)
{
    char tmp[PATH_MAX], path[PATH_MAX];
    const char *dir = key->dir;
    Head head = {.n_bytes = n, .checksum = hash_bytes(data, n)};
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.build, key->build, sizeof head.build);
    memcpy(head.key, key->sha, sizeof head.key);
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path ||
        snprintf(tmp, sizeof tmp, "%s/.new-XXXXXX", dir) >= (int)sizeof tmp)
        return;
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return;
    bool ok = file_write(fd, &head, sizeof head) && file_write(fd, data, n) &&
              (!is_synced || !fsync(fd));
    ok = !close(fd) && ok;
    if (!ok || rename(tmp, path))
        unlink(tmp);
}

/* The answers and the libraries, as a number. */
static uint64_t
answers_of(const Binary *bin)
{
    uint64_t n = hash_bytes(bin->facts, (size_t)bin->n_facts * sizeof *bin->facts) +
                 (uint64_t)(bin->grid << 16 | bin->asked);
    const Stage *libraries = binary_stage(bin, "linked");
    if (!libraries)
        return n;
    const uint64_t both[] = {n, hash_bytes(libraries->data, libraries->size)};
    return hash_bytes(both, sizeof both);
}

bool
disk_write(const DiskKey *key, const char *name, const char *data, size_t n,
           bool is_synced)
{
    int dir = make_dirs(key->dir) ? open_dir(key) : -1;
    if (dir < 0)
        return false;
    close(dir);
    write_file(key, name, data, n, is_synced);
    return true;
}

void
disk_store(const Config *config, const DiskKey *key, const char *kernel,
           const Binary *bin)
{
    char name[64];
    Bytes b = {0};
    put_binary(&b, kernel, bin);
    snprintf(name, sizeof name, "%016llx.bin", (unsigned long long)answers_of(bin));
    if (!b.failed && disk_write(key, name, b.at, b.n, true)) {
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

/* Is it what a writer that was killed left behind? A living one takes no hour. */
static bool
is_abandoned(const char *name, const struct stat *s)
{
    return !strncmp(name, ".new-", 5) && s->st_mtim.tv_sec + 3600 < time(NULL);
}

static void
list_dir(const char *dir, Files *out)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat s;
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
            fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        if (is_abandoned(e->d_name, &s))
            unlinkat(dirfd(d), e->d_name, 0);
        if ((!is_entry(e->d_name) && !ends_in(e->d_name, ".tree")) ||
            S_ISDIR(s.st_mode))
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
    if (snprintf(root, sizeof root, "%s/v2", cache_dir) >= (int)sizeof root)
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
