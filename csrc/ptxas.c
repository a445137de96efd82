/* ptxas: PTX -> cubin by NVIDIA's assembler, where there is one.
 *
 *     asked for (TEGULA_PTXAS; "none": leave it to the driver), else $CUDA_HOME/bin, $CUDA_PATH/bin, PATH, /usr/local/cuda/bin
 *
 * The nvidia-cuda-nvcc wheel is looked for by wheels.c, which knows where Python keeps its
 * packages, and arrives here as asked for. Runs in a directory of its own under
 * TMPDIR, with what it says in a file; any thread, no lock but that of its Halt, by which who
 * waits for the compile can end it.
 */
#include "ptxas.h"
#include "base/poll.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool
is_program(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

static bool
try_dir(const char *dir, int n, const char *below, char out[PATH_MAX])
{
    return dir && n &&
           snprintf(out, PATH_MAX, "%.*s%s/ptxas", n, dir, below) < PATH_MAX &&
           is_program(out);
}

bool
ptxas_find(const char *asked, char out[PATH_MAX])
{
    if (asked && !strcmp(asked, "none"))
        return false;
    if (asked)
        return snprintf(out, PATH_MAX, "%s", asked) < PATH_MAX && is_program(out);
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < COUNT(homes); i++) {
        const char *home = getenv(homes[i]);
        if (home && try_dir(home, (int)strlen(home), "/bin", out))
            return true;
    }
    for (const char *p = getenv("PATH"); p && *p;) {
        int n = (int)strcspn(p, ":");
        if (try_dir(p, n, "", out))
            return true;
        p += n + (p[n] == ':');
    }
    return try_dir("/usr/local/cuda", (int)strlen("/usr/local/cuda"), "/bin", out);
}

/* ---- files ---------------------------------------------------------------------------- */

static bool
write_all(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && file_write(fd, data, n);
    return fd >= 0 && !close(fd) && ok;
}

/* ---- running -------------------------------------------------------------------------- */

/* The process is over, and still there to be waited for: its number is nobody else's yet. */
static void
wait_until_over(pid_t pid)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
}

/* Runs argv with both outputs in log, and no signal blocked. Its status as waitpid has it, or -1
 * with errno. */
static int
run(char *const argv[], const char *log, Halt *halt)
{
    posix_spawn_file_actions_t to_log;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawn_file_actions_init(&to_log);
    posix_spawn_file_actions_addopen(&to_log, 1, log, O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&to_log, 1, 2);
    int e = posix_spawn(&pid, argv[0], &to_log, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&to_log);
    posix_spawnattr_destroy(&attr);
    if (e)
        return errno = e, -1;
    int status;
    halt_child(halt, pid);
    wait_until_over(pid);
    halt_child(halt, 0);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* The signal of which a program with that status died by itself; 0: it did not. */
static int
died_of(int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool is_sent = sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
    return is_sent ? 0 : sig;
}

/* The number in front of `words` in what ptxas -v says; -1: it does not say. */
static int
number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words);
    if (!at)
        return -1;
    while (at > log && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return atoi(at);
}

static void
read_report(const char *log, Assembled *out)
{
    int stores = number_before(log, " bytes spill stores"),
        loads = number_before(log, " bytes spill loads");
    out->n_regs = number_before(log, " registers");
    out->n_spills = stores < 0 || loads < 0 ? -1 : stores + loads;
    out->is_serial = strstr(log, "(C75");
    out->reads_early = strstr(log, "(C7514");
}

char *
ptx_with_version(const char *ptx, size_t n, int version)
{
    static const char word[] = ".version ";
    const char *at = strstr(ptx, word);
    if (!at)
        return NULL;
    at += sizeof word - 1;
    size_t head = (size_t)(at - ptx), skip = strspn(at, "0123456789.");
    char *copy = malloc(n + 16);
    if (copy)
        snprintf(copy, n + 16, "%.*s%d.%d%s", (int)head, ptx, version / 10,
                 version % 10, at + skip);
    return copy;
}

/* The version of PTX that an assembler too old for ours says it is of; 0: it does not say. */
static int
version_wanted(const char *log)
{
    static const char words[] = "current version is '";
    const char *at = log ? strstr(log, words) : NULL;
    int major = 0, minor = 0;
    if (!at || sscanf(at + sizeof words - 1, "%d.%d", &major, &minor) != 2)
        return 0;
    return 10 * major + minor;
}

/* The files of one run, in a directory of its own. */
typedef struct Files {
    char dir[PATH_MAX], in[PATH_MAX + 16], cubin[PATH_MAX + 16], log[PATH_MAX + 16];
} Files;

static bool
files_new(Files *f, char err[ERR_TEXT])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(f->dir, sizeof f->dir, "%s/tegula-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->dir)) {
        snprintf(err, ERR_TEXT, "no directory for its files: %.800s: %s", f->dir,
                 strerror(errno));
        return false;
    }
    snprintf(f->in, sizeof f->in, "%s/kernel.ptx", f->dir);
    snprintf(f->cubin, sizeof f->cubin, "%s/kernel.cubin", f->dir);
    snprintf(f->log, sizeof f->log, "%s/log", f->dir);
    return true;
}

static void
files_remove(const Files *f)
{
    unlink(f->in);
    unlink(f->cubin);
    unlink(f->log);
    rmdir(f->dir);
}

enum { MAX_WORDS = 64 };

/* The words of in->options, in text, behind the n that argv has. Their number; -1: too many. */
static int
add_words(char *text, char *argv[], int n)
{
    char *rest = NULL;
    for (char *w = text ? strtok_r(text, " ", &rest) : NULL; w;
         w = strtok_r(NULL, " ", &rest)) {
        if (n == MAX_WORDS)
            return -1;
        argv[n++] = w;
    }
    return n;
}

/* One run of the program. out has the log, and the cubin when all went well. */
static void
assemble(char *program, const Assembly *in, const char *ptx, size_t n, Assembled *out,
         char err[ERR_TEXT])
{
    Files f;
    char arch[32];
    Target t = in->target;
    size_t n_log = 0;
    *out = (Assembled){.n_regs = -1, .n_spills = -1};
    if (!halt_files(in->halt, true)) {
        snprintf(err, ERR_TEXT, "nobody waits for it any more");
        return;
    }
    if (!files_new(&f, err)) {
        halt_files(in->halt, false);
        return;
    }
    snprintf(arch, sizeof arch, "-arch=sm_%d%s", t.sm, t.accelerated ? "a" : "");
    char *argv[MAX_WORDS + 1] = {program, arch, "-v", "-o", f.cubin, f.in};
    char *words = in->options ? strdup(in->options) : NULL;
    errno = in->options && !words ? ENOMEM : E2BIG;
    int n_words = in->options && !words ? -1 : add_words(words, argv, 6);
    int status = n_words > 0 && write_all(f.in, ptx, n) ? run(argv, f.log, in->halt)
                                                        : -1;
    free(words);
    if (status < 0) {
        snprintf(err, ERR_TEXT, "%.800s cannot be run: %s", program, strerror(errno));
    } else {
        out->log = file_whole(f.log, &n_log);
        if (status == 0)
            out->cubin = file_whole(f.cubin, &out->size);
        out->died_of = died_of(status);
        if (!out->cubin)
            snprintf(err, ERR_TEXT, "%.200s: %s %d\n%.700s", program,
                     WIFEXITED(status) ? "exit status" : "ended by signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                     out->log ? out->log : "");
        else if (out->log)
            read_report(out->log, out);
    }
    files_remove(&f);
    halt_files(in->halt, false);
}

bool
ptxas_run(const char *path, const Assembly *in, Assembled *out, bool *found,
          char err[ERR_TEXT])
{
    char program[PATH_MAX];
    *out = (Assembled){.n_regs = -1, .n_spills = -1};
    *found = ptxas_find(path, program);
    if (!*found) {
        if (!path || !strcmp(path, "none"))
            return true;
        snprintf(err, ERR_TEXT, "%.800s cannot be run", path);
        return false;
    }
    assemble(program, in, in->ptx, in->n, out, err);
    int version = out->cubin || in->keep_version ? 0 : version_wanted(out->log);
    char *older = version ? ptx_with_version(in->ptx, in->n, version) : NULL;
    if (older) {
        free(out->log);
        assemble(program, in, older, strlen(older), out, err);
        free(older);
    }
    return out->cubin != NULL;
}
