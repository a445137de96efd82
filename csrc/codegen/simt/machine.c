/* machine: PTX's functions as a machine, slot by slot. */
#include "codegen/simt/ptx.h"

const Machine machine_ptx = {
    .name = "cuda",
    .max_vec_bytes = 16,
#define SLOT(type, name, params) .name = ptx_##name,
#include "codegen/simt/machine.def"
    .ops = &ptx_scalar_ops,
};
