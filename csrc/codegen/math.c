/* math: exp, log, sin, .. for host code. */
#include "codegen/codegen.h"

/* NULL everywhere: the generic LLVM form, which calls libm once a lane. */
const ScalarOps scalar_ops_host = {NULL, NULL, NULL};
