/* specials.h: the special registers: enum, name, bytes. Those that change come first. */
#ifndef TEGULA_PTX_SPECIALS_H
#define TEGULA_PTX_SPECIALS_H

/* clang-format off */
#define THREE(S, id, text) S(id##_X, text ".x", 4) S(id##_Y, text ".y", 4) S(id##_Z, text ".z", 4)
#define SPECIALS(S)                          \
    S(CLOCK, "%clock", 4)                    \
    S(CLOCK_HI, "%clock_hi", 4)              \
    S(CLOCK64, "%clock64", 8)                \
    S(GLOBALTIMER, "%globaltimer", 8)        \
    S(GLOBALTIMER_LO, "%globaltimer_lo", 4)  \
    S(GLOBALTIMER_HI, "%globaltimer_hi", 4)  \
    THREE(S, TID, "%tid")                    \
    THREE(S, NTID, "%ntid")                  \
    THREE(S, CTAID, "%ctaid")                \
    THREE(S, NCTAID, "%nctaid")              \
    THREE(S, CLUSTERID, "%clusterid")        \
    THREE(S, NCLUSTERID, "%nclusterid")      \
    THREE(S, CLUSTER_CTAID, "%cluster_ctaid")\
    THREE(S, CLUSTER_NCTAID, "%cluster_nctaid")\
    S(CLUSTER_CTARANK, "%cluster_ctarank", 4)    \
    S(CLUSTER_NCTARANK, "%cluster_nctarank", 4)  \
    S(LANEID, "%laneid", 4)                  \
    S(WARPID, "%warpid", 4)                  \
    S(NWARPID, "%nwarpid", 4)                \
    S(SMID, "%smid", 4)                      \
    S(NSMID, "%nsmid", 4)                    \
    S(GRIDID, "%gridid", 8)                  \
    S(LANEMASK_EQ, "%lanemask_eq", 4)        \
    S(LANEMASK_LE, "%lanemask_le", 4)        \
    S(LANEMASK_LT, "%lanemask_lt", 4)        \
    S(LANEMASK_GE, "%lanemask_ge", 4)        \
    S(LANEMASK_GT, "%lanemask_gt", 4)        \
    S(DYNAMIC_SMEM, "%dynamic_smem_size", 4) \
    S(TOTAL_SMEM, "%total_smem_size", 4)     \
    S(AGGR_SMEM, "%aggr_smem_size", 4)       \
    S(ENVREG, "%envreg", 4)                  \
    S(IS_CLUSTER, "%is_explicit_cluster", 1)
/* clang-format on */

enum {
#define SPECIAL(id, text, n) S_##id,
    SPECIALS(SPECIAL)
#undef SPECIAL
        N_SPECIALS,
    S_LAST_LIVE = S_GLOBALTIMER_HI
};

#endif
