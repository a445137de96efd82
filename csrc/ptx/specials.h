/* specials.h: the special registers: enum, name, bytes. Those that change come first. */
#ifndef TEGULA_PTX_SPECIALS_H
#define TEGULA_PTX_SPECIALS_H

/* clang-format off */
#define SPECIALS(S)                          \
    S(CLOCK, "%clock", 4)                    \
    S(CLOCK_HI, "%clock_hi", 4)              \
    S(CLOCK64, "%clock64", 8)                \
    S(GLOBALTIMER, "%globaltimer", 8)        \
    S(GLOBALTIMER_LO, "%globaltimer_lo", 4)  \
    S(GLOBALTIMER_HI, "%globaltimer_hi", 4)  \
    S(TID_X, "%tid.x", 4)                    \
    S(TID_Y, "%tid.y", 4)                    \
    S(TID_Z, "%tid.z", 4)                    \
    S(NTID_X, "%ntid.x", 4)                  \
    S(NTID_Y, "%ntid.y", 4)                  \
    S(NTID_Z, "%ntid.z", 4)                  \
    S(CTAID_X, "%ctaid.x", 4)                \
    S(CTAID_Y, "%ctaid.y", 4)                \
    S(CTAID_Z, "%ctaid.z", 4)                \
    S(NCTAID_X, "%nctaid.x", 4)              \
    S(NCTAID_Y, "%nctaid.y", 4)              \
    S(NCTAID_Z, "%nctaid.z", 4)              \
    S(CLUSTERID_X, "%clusterid.x", 4)        \
    S(CLUSTERID_Y, "%clusterid.y", 4)        \
    S(CLUSTERID_Z, "%clusterid.z", 4)        \
    S(NCLUSTERID_X, "%nclusterid.x", 4)      \
    S(NCLUSTERID_Y, "%nclusterid.y", 4)      \
    S(NCLUSTERID_Z, "%nclusterid.z", 4)      \
    S(CLUSTER_CTAID_X, "%cluster_ctaid.x", 4)    \
    S(CLUSTER_CTAID_Y, "%cluster_ctaid.y", 4)    \
    S(CLUSTER_CTAID_Z, "%cluster_ctaid.z", 4)    \
    S(CLUSTER_NCTAID_X, "%cluster_nctaid.x", 4)  \
    S(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", 4)  \
    S(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", 4)  \
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
