/* hook: where performance counters will see every access of a warp.
 */
#include "tools/ptxsim/ptxsim.h"

void
sim_access(const Warp *w, const Ins *i, uint32_t m, Space space,
           const uint64_t address[LANES], int bytes, bool is_store)
{
    (void)w, (void)i, (void)m, (void)space, (void)address, (void)bytes, (void)is_store;
}
