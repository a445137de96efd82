/* key: launch arguments as nodes of small integers. What is in a key is a promise: see
 * launch.h.
 */
#include "runtime/launch.h"

/* Node i of call into *out; its children take specs from *free on. Returns the next node. */
static int
fill_spec(const Call *call, int i, ArgSpec *out, ArgSpec **free)
{
    uint32_t code = call->code[i];
    *out = (ArgSpec){.elem = code_elem(code), .truth = code_truth(code)};
    switch (code_kind(code)) {
    case NODE_SCALAR:
        out->kind = ARG_SCALAR;
        break;
    case NODE_POINTER:
        out->kind = ARG_POINTER;
        break;
    case NODE_TUPLE:
        out->kind = ARG_TUPLE;
        out->elem = 0, out->truth = 0;
        out->value = (PyObject *)Py_TYPE(call->value[i]);
        out->n_child = code_children(code);
        out->child = *free;
        *free += out->n_child;
        i++;
        for (int k = 0; k < out->n_child; k++)
            i = fill_spec(call, i, &out->child[k], free);
        return i;
    case NODE_NONE:
    case NODE_CONST_INT:
    case NODE_CONST_BOOL:
    case NODE_CONST_FLOAT:
    case NODE_CONST_OBJECT:
        out->kind = ARG_CONSTEXPR;
        out->elem = 0, out->truth = 0;
        out->value = call->value[i];
        break;
    }
    return i + 1;
}

void
call_specs(const Call *call, const FeFunction *f, ArgSpec *out)
{
    ArgSpec *free = out + f->n_params;
    for (int i = 0, p = 0; p < f->n_params; p++) {
        i = fill_spec(call, i, &out[p], &free);
        out[p].is_const = f->params[p].is_const;
    }
}
