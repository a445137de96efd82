/* ops: the tables of ops.def and attrs.def. A row's check_* is in a check_*.c beside this
 * file: without it nothing links.
 */
#include "ir/check.h"

#define PURE OPF_PURE
#define ELEM OPF_ELEM
#define COMM OPF_COMM
#define READS OPF_READS
#define WRITES OPF_WRITES
#define MAPS OPF_MAPS
#define TERM OPF_TERM
#define SYNC OPF_SYNC
#define CONTROL OPF_CONTROL
#define SHARED OPF_SHARED
#define VIEW OPF_VIEW
#define FREE OPF_FREE
#define SPECIAL OPF_SPECIAL
#define SLOW OPF_SLOW
#define HEAVY OPF_HEAVY
#define SCRATCH OPF_SCRATCH
#define STEPS OPF_STEPS
#define STAYS OPF_STAYS
#define TRAPS OPF_TRAPS
#define MASK1 (1 << OPF_MASK_AT)
#define MASK2 (2 << OPF_MASK_AT)
#define MASK3 (3 << OPF_MASK_AT)
#define A0() 0, {0}
#define A1(a)                                                                          \
    1,                                                                                 \
    {                                                                                  \
        ATTR_##a                                                                       \
    }
#define A2(a, b)                                                                       \
    2,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b                                                             \
    }
#define A3(a, b, c)                                                                    \
    3,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b, ATTR_##c                                                   \
    }
#define A4(a, b, c, d)                                                                 \
    4,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b, ATTR_##c, ATTR_##d                                         \
    }
#define A5(a, b, c, d, e)                                                              \
    5,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b, ATTR_##c, ATTR_##d, ATTR_##e                               \
    }

const OpInfo op_info[N_OP] = {
#define OP(name, text, args, res, reg, flags, check, attrs, doc)                       \
    [OP_##name] = {text, args, res, reg, flags, attrs, check_##check, doc},
#include "ir/ops.def"
#undef OP
};

const AttrInfo attr_info[N_ATTR] = {
#define ATTR(name, text, words) [ATTR_##name] = {text, words},
#include "ir/attrs.def"
#undef ATTR
};
