/* tirc_skeleton: the lines of a kernel's PTX that say how its threads work together.
 *
 *     st.shared.v4.b32 [%+2048], {%, %, %, %};
 *     bar.sync 0;
 *     ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%, %, %, %}, [%];    x 4
 *
 * Kept are accesses to memory, barriers, what a warp or a cluster does together, and where
 * control goes. Registers have no names, as LLVM may number them otherwise, and equal lines in a
 * row are one. So a golden test of it shows each barrier and each offset in shared memory.
 */
#include "tools/tirc.h"

static const char *const kept[] = {
    ".shared", ".global", "bar.",  "barrier.", "fence.", "shfl.", "mma.", "elect.",
    "matrix.", "async",   "atom.", "red.",     "bra",    "ret;",  "$L_",  "setmaxnreg",
};

static bool
is_kept(const char *line, size_t n)
{
    for (size_t i = 0; i < COUNT(kept); i++)
        for (size_t at = 0, k = strlen(kept[i]); at + k <= n; at++)
            if (memcmp(line + at, kept[i], k) == 0)
                return true;
    return false;
}

/* %r12, %rd3, %p1: all are %. Tabs are spaces, and comments end a line. */
static const char *
without_names(Arena *a, const char *s, size_t n)
{
    Sb sb = {.a = a};
    size_t i = strspn(s, " \t");
    while (i < n && !(s[i] == '/' && i + 1 < n && s[i + 1] == '/')) {
        char ch = s[i] == '\t' ? ' ' : s[i];
        sb_putn(&sb, &ch, 1);
        i++;
        if (ch == '%')
            while (i < n &&
                   ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9')))
                i++;
        while (ch == ' ' && i < n && (s[i] == ' ' || s[i] == '\t'))
            i++;
    }
    while (sb.n && sb.at[sb.n - 1] == ' ')
        sb.at[--sb.n] = 0;
    return sb.n ? sb.at : "";
}

static void
put_line(const char *line, int times)
{
    if (times)
        printf(*line == '$' ? "%s" : "    %s", line);
    if (times > 1)
        printf("    x %d", times);
    if (times)
        printf("\n");
}

void
tirc_print_skeleton(Arena *a, const char *ptx)
{
    const char *last = "", *s = strstr(ptx, "\n{");
    int times = 0;
    for (s = s ? s + 2 : ptx; *s; s += *s == '\n') {
        size_t n = strcspn(s, "\n");
        if (is_kept(s, n)) {
            const char *line = without_names(a, s, n);
            bool again = strcmp(line, last) == 0;
            if (!again)
                put_line(last, times);
            times = again ? times + 1 : 1;
            last = line;
        }
        s += n;
    }
    put_line(last, times);
}
