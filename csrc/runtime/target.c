/* target: which machine a compile is for, as text: "cpu", "cuda:sm_90a", "emu:sm_80". */
#include "runtime/launch.h"

#include <stdlib.h>
#include <strings.h>

/* NN or NNa behind "sm_"; behind "sm", Triton's form, all features are meant. */
static bool
read_arch(const char *s, Target *out)
{
    char *end = NULL;
    if (strncmp(s, "sm", 2) != 0)
        return false;
    bool is_plain = s[2] == '_';
    s += is_plain ? 3 : 2;
    if (*s < '0' || *s > '9')
        return false;
    out->sm = (int)strtol(s, &end, 10);
    out->accelerated = *end == 'a' || (!is_plain && out->sm >= 90);
    end += *end == 'a';
    return !*end && out->sm >= 75 && chip_of(out->sm)->sm == out->sm &&
           (out->sm >= 90 || !out->accelerated);
}

/* "75, 80, ..": the chips of chips.def. */
static const char *
list_chips(char *buf, size_t size)
{
    size_t n = 0;
    for (int sm = 75; sm <= 999; sm++)
        if (chip_of(sm)->sm == sm && n < size)
            n += (size_t)snprintf(buf + n, size - n, "%s%d", n ? ", " : "", sm);
    return buf;
}

int
parse_arch(const char *text, Target *out)
{
    if (read_arch(text, out))
        return 0;
    char chips[96];
    return PyErr_Format(PyExc_ValueError,
                        "arch '%s': expected smNN with NN one of %s; \"sm90\" has all "
                        "features of it, \"sm_90\" those that newer ones have, too",
                        text, list_chips(chips, sizeof chips)),
           -1;
}

int
parse_target(PyObject *value, Target *out)
{
    static const struct {
        const char *name;
        TargetKind kind;
    } kinds[] = {{"cpu", TARGET_CPU}, {"cuda", TARGET_CUDA}, {"emu", TARGET_EMU}};
    if (!PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError,
                            "target must be a str, as 'cuda:sm_90a' is, not %R", value),
               -1;
    const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!text)
        return -1;
    size_t n = strcspn(text, ":");
    const char *arch = text[n] ? text + n + 1 : NULL;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].name) != n || memcmp(kinds[i].name, text, n))
            continue;
        *out = (Target){.kind = kinds[i].kind};
        if (out->kind == TARGET_CPU && !arch)
            return 0;
        if (out->kind == TARGET_CUDA && !arch)
            return 0; /* the device says which */
        if (out->kind == TARGET_EMU && !arch)
            return out->sm = 80, 0;
        if (out->kind != TARGET_CPU && !strncmp(arch, "sm_", 3) && read_arch(arch, out))
            return 0;
        break;
    }
    /* sm_90 and cuda:90 lack a part of cuda:sm_90 */
    const char *number = strpbrk(text, "0123456789");
    char arch_text[16] = "", near[64] = "", chips[96];
    if (number && strlen(number) < 6)
        snprintf(arch_text, sizeof arch_text, "sm_%s", number);
    if (read_arch(arch_text, out))
        snprintf(near, sizeof near, "; did you mean '%s:%s'?",
                 !strncasecmp(text, "emu", 3) ? "emu" : "cuda", arch_text);
    return PyErr_Format(
               PyExc_ValueError,
               "target '%s': expected cpu, cuda, cuda:sm_NN or emu:sm_NN, with NN one "
               "of %s and an 'a' behind it for all features of sm_90 and newer%s",
               text, list_chips(chips, sizeof chips), near),
           -1;
}

char *
target_text(Target t, char buf[TARGET_TEXT])
{
    static const char *const names[] = {
        [TARGET_CPU] = "cpu", [TARGET_CUDA] = "cuda", [TARGET_EMU] = "emu"};
    if (t.sm)
        snprintf(buf, TARGET_TEXT, "%s:sm_%d%s", names[t.kind], t.sm,
                 t.accelerated ? "a" : "");
    else
        snprintf(buf, TARGET_TEXT, "%s", names[t.kind]);
    return buf;
}
