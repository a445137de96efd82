/* describe: values in the words of messages: short, as they would be printed, or as what they
 * are: "the constant int 3", "a block f32[64]".
 */
#include "frontend/fe.h"

/* Takes the first " at 0x7f.." out: it says nothing, and something else each time. */
static void
drop_address(char *s)
{
    char *at = strstr(s, " at 0x");
    if (at) {
        char *end = at + strlen(" at 0x");
        end += strspn(end, "0123456789abcdefABCDEF");
        memmove(at, end, strlen(end) + 1);
    }
}

/* repr(o) without addresses, cut at 60 bytes. */
static const char *
repr_text(Fe *f, PyObject *o)
{
    enum { MOST = 63, CUT = 60 };
    char buf[256];
    PyObject *s = PyObject_Repr(o);
    const char *u = s ? PyUnicode_AsUTF8AndSize(s, NULL) : NULL;
    snprintf(buf, sizeof buf, "%s", u ? u : "?");
    if (!PyUnicode_Check(o))
        drop_address(buf);
    if (strlen(buf) > MOST) {
        size_t n = CUT;
        while (n && ((unsigned char)buf[n] & 0xC0) == 0x80)
            n--;
        strcpy(buf + n, "...");
    }
    PyErr_Clear();
    Py_XDECREF(s);
    return str_printf(f->a, "%s", buf);
}

const char *
v_short(Fe *f, Value v)
{
    switch (v.kind) {
    case V_NONE: return "nothing";
    case V_OBJ: return repr_text(f, v.obj);
    case V_TENSOR: return ty_str(f->a, v.val->type);
    case V_PARAM: return ty_str(f->a, v.param->val->type);
    case V_METHOD: return "a method";
    case V_RANGE: return "a range";
    case V_CLOSURE: return v_describe(f, v);
    case V_BLOCK_PTR:
        return str_printf(f->a, "%s of %s",
                          v.bp->is_desc ? "tensor descriptor" : "block pointer",
                          ty_shape_str(f->a, ty_block(f->c, ty_scalar(f->c, E_I8),
                                                      v.bp->rank, v.bp->block)));
    case V_TUPLE: {
        Sb sb = {.a = f->a};
        const char *const *keys = v.tuple->keys;
        sb_put(&sb, keys ? "{" : "(");
        for (int i = 0; i < v.tuple->n; i++)
            sb_printf(&sb, "%s%s%s%s", i ? ", " : "", keys ? keys[i] : "",
                      keys ? ": " : "", v_short(f, v.tuple->at[i]));
        sb_put(&sb, keys ? "}" : v.tuple->n == 1 ? ",)" : ")");
        return sb.at;
    }
    }
    unreachable(f->c);
}

/* an f32 scalar, a block f32[64], a pointer to f32, a block [64] of pointers to f32 */
static const char *
type_words(Fe *f, const Type *t)
{
    const char *e = elem_info[t->elem].text;
    if (t->is_ptr && t->rank)
        return str_printf(f->a, "a block %s of pointers to %s", ty_shape_str(f->a, t),
                          e);
    if (t->is_ptr)
        return str_printf(f->a, "a pointer to %s", e);
    if (t->rank)
        return str_printf(f->a, "a block %s", ty_str(f->a, t));
    return str_printf(f->a, "%s %s scalar", strchr("fi", e[0]) ? "an" : "a", e);
}

const char *
v_describe(Fe *f, Value v)
{
    switch (v.kind) {
    case V_OBJ:
        if (v.obj == Py_None)
            return "None";
        if (fe_as_function(f, v))
            return str_printf(f->a, "the function %s()", fe_as_function(f, v)->name);
        if (is_number(v) || PyUnicode_Check(v.obj)) {
            PyObject *name = fe_own(f, PyType_GetName(Py_TYPE(v.obj)));
            const char *u = PyUnicode_AsUTF8AndSize(name, NULL);
            return str_printf(f->a, "the constant %s %s", u ? u : "?",
                              repr_text(f, v.obj));
        }
        if (PyCallable_Check(v.obj) && !PyType_Check(v.obj) &&
            fe_has_attr(f, v.obj, "__code__")) {
            PyObject *name = fe_own(f, PyObject_GetAttrString(v.obj, "__name__"));
            return str_printf(f->a, "the Python function %s()",
                              v_const_str(f, v_obj(name), "a name"));
        }
        if (PyType_Check(v.obj) || PyModule_Check(v.obj)) {
            bool is_type = PyType_Check(v.obj);
            PyObject *name = fe_own(f, is_type ? PyType_GetName((PyTypeObject *)v.obj)
                                               : PyModule_GetNameObject(v.obj));
            return str_printf(f->a, "the %s %s", is_type ? "class" : "module",
                              v_const_str(f, v_obj(name), "a name"));
        }
        return repr_text(f, v.obj);
    case V_TENSOR:
    case V_PARAM: {
        return type_words(f, v.kind == V_TENSOR ? v.val->type : v.param->val->type);
    }
    case V_TUPLE:
        if (v.tuple->type) {
            PyObject *cls = fe_own(f, PyType_GetName((PyTypeObject *)v.tuple->type));
            const char *name = v_const_str(f, v_obj(cls), "a name");
            return v.tuple->is_aggregate
                       ? str_printf(f->a, "a value of the class %s", name)
                       : str_printf(f->a, "the %s %s", name, v_short(f, v));
        }
        return str_printf(f->a, "the %s %s", v.tuple->keys ? "dict" : "tuple",
                          v_short(f, v));
    case V_CLOSURE: {
        const char *name = v.closure->fn->name;
        return !strcmp(name, "lambda") ? "a lambda"
                                       : str_printf(f->a, "the function %s()", name);
    }
    case V_BLOCK_PTR: return str_printf(f->a, "a %s", v_short(f, v));
    case V_RANGE: return "a range";
    default: return v_short(f, v);
    }
}
