/* stepping: the interpreter stops at the marks of the source, and Python has a frame for each
 * function that runs.
 *
 * The interpreter runs on a stack of its own, so that it can stop anywhere and be resumed;
 * Python runs on the thread's stack only. Nobody looks on: the interpreter goes from a launch
 * to its end in one turn, noting the marks it passes. Somebody does: the frames of Python are
 * in charge, and each asks for the next line of its function.
 *
 *     session_run          resume -> a program began (CALL)
 *       enter, level 0       frame kernel:  step(11)   resume -> LINE 12 of the kernel: back
 *                                           step(12)   resume -> CALL of a helper
 *         enter, level 1         frame helper:  step(3)    resume -> RETURN: the frame ends
 *                                           ..           resume -> LINE 13: back
 *
 * step answers its frame only when there is a new line of that very frame, or its end; what
 * happens in between is done inside: frames of helpers, breakpoint(), print(), errors.
 *
 * A breakpoint() or an error in a program that nobody followed: the levels are known, so their
 * frames are made then, each standing at its line, and the innermost one stops or raises.
 * That is why a traceback ends in the kernel, and pdb.pm() has its variables.
 *
 * The code of the frames and what their variables are: python/tegula/debugger.py. Everything
 * of ours that is Python runs with tracing paused, so a debugger never steps into it.
 */
#include "runtime/stepping.h"

#include "compile.h"

#include <stdlib.h>

enum {
    STACK = 8 << 20, /* reserved, not used: programs nest as deep as their source */
    ASK_MS = 50,     /* between two looks for signals */
};
static const char KEY[] = "tegula.session"; /* in the thread's dictionary */

/* ---- the interpreter's side ---------------------------------------------------------- */

/* Hands the thread to Python, until resume(). */
static void
report(Session *s, Event e)
{
    s->event = e;
    fiber_switch(&s->interp, &s->python);
}

static int
number_at(const char *text)
{
    return (int)strtol(strchr(text, '\n') + 1, NULL, 10);
}

/* InterpRun.debug. */
static bool
on_mark(void *data, const Op *o)
{
    Session *s = data;
    Level *l = s->n_levels ? &s->level[s->n_levels - 1] : NULL;
    bool has_frame = s->n_frames && s->n_frames == s->n_levels, was_here;
    Event e = EVENT_NONE;
    switch (*o->text) {
    case 'c':
        if (s->n_levels == MAX_LEVEL)
            err_at(s->comp, o->loc, LIMIT, "calls are nested too deeply");
        s->level[s->n_levels++] = (Level){
            .at = o, .call = o, .line = number_at(o->text), .serial = s->n_serials++};
        if (s->n_levels == 1 ? s->follows : has_frame)
            e = EVENT_CALL;
        break;
    case 'a':
    case 'l':
        was_here = *o->text == 'a' && s->mark == l->at;
        l->at = o;
        if (was_here && l->line == number_at(o->text))
            break;
        l->line = number_at(o->text);
        l->is_fresh = true;
        if (has_frame)
            e = EVENT_LINE;
        break;
    case 'r':
        l->is_over = true;
        l->ret = o;
        if (has_frame)
            e = EVENT_RETURN;
        else
            s->n_levels--;
        break;
    case 's': e = EVENT_STOP; break;
    case 'p': e = EVENT_PRINT; break;
    default: unreachable(s->comp);
    }
    s->mark = o;
    if (!e && ++s->n_marks % 16 == 0 && clock_ms() - s->asked > ASK_MS) {
        s->asked = clock_ms();
        e = EVENT_SIGNALS;
    }
    if (e)
        report(s, e);
    return true;
}

static void
interpret(Comp *c, void *data)
{
    Session *s = data;
    const Func *f = ir_parse(c, s->text);
    ir_verify(f, "parse");
    s->run->debug = on_mark;
    s->run->debug_data = s;
    s->run->fault = &s->fault;
    ir_interpret(f, s->run);
}

/* What the second stack begins with. */
static void
start(void *data)
{
    Session *s = data;
    s->has_failed = !comp_run(s->comp, interpret, s);
    s->is_done = true;
    for (;;)
        report(s, EVENT_END);
}

/* ---- values -------------------------------------------------------------------------- */

/* What a float that NumPy lacks is shown as; others as they are, pointers as integers. */
static Elem
shown_as_elem(Elem e)
{
    return elem_is_float(e) && e != E_F16 && elem_info[e].bits < 32 ? E_F32 : e;
}

static Elem
shown_as(const Type *t)
{
    return t->is_ptr ? E_U64 : shown_as_elem(t->elem);
}

/* (type, shape, bytes), as tegula/debug_values.py takes it: new ref, or NULL. */
static PyObject *
leaf(const Type *t, const uint64_t *bits)
{
    Elem to = shown_as(t);
    int64_t n = ty_numel(t), size = elem_info[to].bytes;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * size));
    PyObject *shape = PyTuple_New(t->rank), *name = NULL, *res = NULL;
    char *at = bytes ? PyBytes_AsString(bytes) : NULL;
    if (!bytes || !shape)
        goto done;
    for (int64_t i = 0; i < n; i++) {
        uint64_t w = to == E_F32 ? elem_cast(t->elem, to, bits[i], ROUND_RTNE)
                                 : bits[i];
        memcpy(at + i * size, &w, (size_t)size); /* little endian */
    }
    for (int d = 0; d < t->rank; d++)
        if (PyTuple_SetItem(shape, d, PyLong_FromLong(t->shape[d])))
            goto done;
    name = PyUnicode_FromFormat("%s%s", t->is_ptr ? "*" : "", elem_info[t->elem].tl);
    if (name)
        res = PyTuple_Pack(3, name, shape, bytes);
done:
    DROP(name, bytes, shape);
    return res;
}

/* The operands of a mark as a list of leaves: new ref, or NULL. */
static PyObject *
leaves(const Session *s, const Op *o)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < o->n_args; i++)
        list_take(&list, leaf(arg(o, i)->type, interp_value(s->in, arg(o, i))));
    return list;
}

/* What a mark says behind its first n lines. */
static const char *
said(const Op *o, int n)
{
    const char *s = o->text;
    while (n--)
        s = strchr(s, '\n') + 1;
    return s;
}

/* tegula.debugger.NAME(text, leaves), which nobody steps into: new ref, or NULL. */
static PyObject *
tell(const Session *s, const char *name, const Op *o)
{
    tracing_pause();
    PyObject *module = PyImport_ImportModule("tegula.debugger"), *res = NULL;
    PyObject *values = leaves(s, o);
    if (module && values)
        res = PyObject_CallMethod(module, name, "sO", said(o, 1), values);
    DROP(values, module);
    tracing_resume();
    return res;
}

/* ---- Python's side ------------------------------------------------------------------- */

/* frame.f_locals.NAME() of a level, with an exception kept. Its own is dropped: there is
 * nobody to tell. */
static void
tell_locals(const Level *l, const char *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    tracing_pause();
    PyObject *r = l->locals ? PyObject_CallMethod(l->locals, name, NULL) : NULL;
    tracing_resume();
    Py_XDECREF(r);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static void
resume(Session *s)
{
    for (int i = 0; s->was_read && i < s->n_frames; i++)
        tell_locals(&s->level[i], "_settle");
    s->was_read = false;
    PyThreadState *thread = PyEval_SaveThread();
    fiber_switch(&s->python, &s->interp);
    PyEval_RestoreThread(thread);
}

/* The error that ended the run, as an exception. Always -1. */
static int
raise_failure(const Session *s)
{
    Comp *c = s->comp;
    if (c->err.code == ERR_MEMORY)
        return PyErr_NoMemory(), -1;
    static const int32_t none[3];
    const int32_t *pid = s->in ? interp_program(s->in) : none;
    const char *kind = s->fault.kind ? s->fault.kind : "";
    Error e = c->err;
    e.shown_as = !strcmp(kind, "ASSERT")   ? "DeviceAssertError"
                 : !strcmp(kind, "BOUNDS") ? "OutOfBoundsError"
                                           : "InterpreterError";
    if (!strcmp(kind, "BOUNDS"))
        e.msg = s->tell_access(s);
    const char *text = err_render(c, &e);
    PyObject *errors = PyImport_ImportModule("tegula.errors");
    PyObject *exc =
        errors
            ? PyObject_CallMethod(errors, "interpreter_error", "ssszii(iii)", kind,
                                  text ? text : e.msg, e.msg,
                                  e.loc ? e.loc->file : NULL, e.loc ? e.loc->line : 0,
                                  e.loc ? e.loc->col + 1 : 0, pid[0], pid[1], pid[2])
            : NULL;
    if (exc)
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
    DROP(exc, errors);
    return -1;
}

/* breakpoint(), of whatever frame runs. 0 or -1. */
static int
stop(void)
{
    PyObject *module = PyImport_ImportModule("builtins");
    PyObject *r = module ? PyObject_CallMethod(module, "breakpoint", NULL) : NULL;
    DROP(module, r);
    return r ? 0 : -1;
}

/* (code, globals, locals) for the level: new ref, or NULL. */
static PyObject *
frame_of(Session *s, int level)
{
    const Level *l = &s->level[level];
    const char *name = said(l->call, 3), *file = strchr(name, '\n') + 1;
    const int32_t *pid = interp_program(s->in);
    PyObject *module = PyImport_ImportModule("tegula.debugger"), *res = NULL;
    PyObject *program = Py_BuildValue("(iii)", pid[0], pid[1], pid[2]);
    if (module && !s->outer_program)
        s->outer_program = PyObject_GetAttrString(module, "program");
    if (module && program && !PyObject_SetAttrString(module, "program", program))
        res = PyObject_CallMethod(module, "enter", "O(ii)Os#(s#ii)", s->handle, level,
                                  l->serial, s->kernel, name,
                                  (Py_ssize_t)strcspn(name, "\n"), file,
                                  (Py_ssize_t)strcspn(file, "\n"),
                                  number_at(l->call->text),
                                  (int)strtol(said(l->call, 2), NULL, 10));
    DROP(program, module);
    return res;
}

/* Its parameters are there for pdb to list (debugger.py, Argument), so any value will do. */
static PyObject *
run_code(PyObject *code, PyObject *globals, PyObject *locals)
{
    PyObject *args[MAX_ARGS], *count = PyObject_GetAttrString(code, "co_argcount");
    long n = count ? PyLong_AsLong(count) : -1;
    Py_XDECREF(count);
    for (int i = 0; i < n && i < MAX_ARGS; i++)
        args[i] = Py_None;
    return n < 0 ? NULL
                 : PyEval_EvalCodeEx(code, globals, locals, args, (int)n, NULL, 0, NULL,
                                     0, NULL, NULL);
}

/* Runs the frame of the first level that has none, to its end. 0 or -1. */
static int
enter(Session *s)
{
    Level *l = &s->level[s->n_frames];
    PyObject *code = NULL, *globals = NULL, *locals = NULL, *r = NULL;
    tracing_pause();
    PyObject *made = frame_of(s, s->n_frames);
    tracing_resume();
    if (!made || !PyArg_ParseTuple(made, "OOO", &code, &globals, &locals)) {
        Py_XDECREF(made);
        return -1;
    }
    l->locals = locals;
    s->n_frames++;
    r = run_code(code, globals, locals);
    if (!r)
        tell_locals(l, "_freeze");
    s->n_frames--;
    l->locals = NULL;
    if (r)
        s->n_levels--;
    Py_DECREF(made);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

/* What can be done wherever it happens. 0 or -1. */
static int
handle_event(Session *s)
{
    PyObject *r;
    if (printed_more(s->printed))
        return -1;
    switch (s->event) {
    case EVENT_PRINT:
        r = tell(s, "printed", s->mark);
        Py_XDECREF(r);
        return r ? 0 : -1;
    case EVENT_SIGNALS:
        if (!PyErr_CheckSignals())
            return 0;
        if (s->n_levels == s->n_frames)
            return -1;
        PyErr_Fetch(&s->error[0], &s->error[1],
                    &s->error[2]); /* raised in the kernel */
        return 0;
    case EVENT_STOP: s->stops = true; return 0;
    default: return 0;
    }
}

static void
drop_session(PyObject *handle)
{
    free(PyCapsule_GetPointer(handle, KEY));
}

static int
run_grid(Session *s)
{
    while (!s->is_done) {
        s->follows = tracing_is_on();
        resume(s);
        if (handle_event(s))
            return -1;
        if (s->stops && !s->n_levels) { /* in no function of theirs */
            s->stops = false;
            if (stop())
                return -1;
        }
        bool begins = s->event == EVENT_CALL || s->error[0] || s->stops ||
                      (s->is_done && s->has_failed && s->n_levels);
        if (begins && enter(s))
            return -1;
    }
    return s->has_failed ? raise_failure(s) : 0;
}

int
session_run(Session *s)
{
    PyObject *dict_b = PyThreadState_GetDict();
    PyObject *key = PyUnicode_InternFromString(KEY), *outer = NULL;
    int r = -1;
    s->handle = key && dict_b ? PyCapsule_New(s, KEY, drop_session) : NULL;
    if (!s->handle) {
        Py_XDECREF(key);
        free(s);
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    }
    outer = Py_XNewRef(PyDict_GetItemWithError(dict_b, key));
    if (!fiber_alloc(&s->interp, STACK)) {
        PyErr_NoMemory();
        goto done;
    }
    fiber_here(&s->python);
    fiber_reset(&s->interp, start, s);
    s->asked = clock_ms();
    s->is_alive = true;
    if (!PyDict_SetItem(dict_b, key, s->handle))
        r = run_grid(s);
    s->is_alive = false;
    /* It may have been left in the middle: all that it holds is the arena's. */
    s->comp->escape = NULL;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (outer ? PyDict_SetItem(dict_b, key, outer) : PyDict_DelItem(dict_b, key))
        PyErr_Clear();
    if (s->outer_program) {
        PyObject *module = PyImport_ImportModule("tegula.debugger");
        if (!module || PyObject_SetAttrString(module, "program", s->outer_program))
            PyErr_Clear();
        Py_XDECREF(module);
        Py_CLEAR(s->outer_program);
    }
    PyErr_Restore(type, value, trace);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(s->error[i]);
done:
    fiber_free(&s->interp);
    Py_XDECREF(outer);
    Py_DECREF(key);
    Py_DECREF(s->handle);
    return r;
}

/* ---- what frames call ---------------------------------------------------------------- */

/* The session whose innermost frame runs; NULL with an exception. */
static Session *
session_b(void)
{
    PyObject *dict_b = PyThreadState_GetDict();
    PyObject *handle_b = dict_b ? PyDict_GetItemString(dict_b, KEY) : NULL;
    Session *s = handle_b ? PyCapsule_GetPointer(handle_b, KEY) : NULL;
    if (!s || !s->n_frames) {
        PyErr_SetString(PyExc_RuntimeError, "no kernel runs in the interpreter");
        return NULL;
    }
    return s;
}

/* step(line): runs the interpreter to the next line of the frame, or to its end: is it that?
 * line: what the frame stands at; 0: it begins. */
PyObject *
debug_step(PyObject *mod, PyObject *line)
{
    (void)mod;
    Session *s = session_b();
    long at = PyLong_AsLong(line);
    if (!s || PyErr_Occurred())
        return NULL;
    int level = s->n_frames - 1;
    Level *l = &s->level[level];
    if (at && at != l->line && !l->is_fresh) {
        PySys_WriteStderr("a kernel cannot jump: it is at line %d\n", l->line);
        return Py_NewRef(Py_False);
    }
    for (;;) {
        if (l->is_fresh) {
            l->is_fresh = false;
            return Py_NewRef(Py_False);
        }
        if (s->n_levels > s->n_frames) {
            if (enter(s))
                return NULL;
        } else if (l->is_over) {
            return Py_NewRef(Py_True);
        } else if (s->stops) {
            s->stops = false;
            if (stop())
                return NULL;
        } else if (s->error[0]) {
            PyErr_Restore(s->error[0], s->error[1], s->error[2]);
            s->error[0] = s->error[1] = s->error[2] = NULL;
            return NULL;
        } else if (s->is_done) {
            raise_failure(s);
            return NULL;
        } else {
            resume(s);
            if (handle_event(s))
                return NULL;
        }
    }
}

PyObject *
debug_below(PyObject *mod, PyObject *line)
{
    (void)mod;
    Session *s = session_b();
    long at = PyLong_AsLong(line);
    if (!s || PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(s->level[s->n_frames - 1].line < at);
}

PyObject *
debug_value(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    Session *s = session_b();
    return s ? tell(s, "returned", s->level[s->n_frames - 1].ret) : NULL;
}

/* ---- what their variables call ------------------------------------------------------- */

/* The level that (handle, level, serial, ..) names, while it runs; NULL: it is over, without an
 * exception. */
static Level *
level_of(PyObject *handle, int level, int serial, Session **s)
{
    *s = PyCapsule_GetPointer(handle, KEY);
    if (!*s)
        return NULL;
    bool runs = (*s)->is_alive && level >= 0 && level < (*s)->n_levels &&
                (*s)->level[level].serial == serial;
    return runs ? &(*s)->level[level] : NULL;
}

/* spec(handle, level, serial): the variables in sight, as a text; None: the frame is over. */
PyObject *
debug_spec(PyObject *mod, PyObject *args)
{
    (void)mod;
    PyObject *handle;
    int level, serial;
    Session *s;
    if (!PyArg_ParseTuple(args, "Oii", &handle, &level, &serial))
        return NULL;
    const Level *l = level_of(handle, level, serial, &s);
    if (!l)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    return PyUnicode_FromString(said(l->at, l->at == l->call ? 5 : 2));
}

/* The value that argument i of the mark of a level is; NULL with an exception. */
static const Val *
value_at(const Level *l, int i)
{
    if (!l || i < 0 || i >= l->at->n_args) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "this frame of a kernel is over");
        return NULL;
    }
    return arg(l->at, i);
}

/* read(handle, level, serial, i): a leaf. */
PyObject *
debug_read(PyObject *mod, PyObject *args)
{
    (void)mod;
    PyObject *handle;
    int level, serial, i;
    Session *s;
    if (!PyArg_ParseTuple(args, "Oiii", &handle, &level, &serial, &i))
        return NULL;
    const Val *v = value_at(level_of(handle, level, serial, &s), i);
    if (!v)
        return NULL;
    s->was_read = true;
    return leaf(v->type, interp_value(s->in, v));
}

/* write(handle, level, serial, i, bytes): the elements as a leaf has them. */
PyObject *
debug_write(PyObject *mod, PyObject *args)
{
    (void)mod;
    PyObject *handle;
    int level, serial, i;
    const char *bytes;
    Py_ssize_t n_bytes;
    Session *s;
    if (!PyArg_ParseTuple(args, "Oiiiy#", &handle, &level, &serial, &i, &bytes,
                          &n_bytes))
        return NULL;
    const Val *v = value_at(level_of(handle, level, serial, &s), i);
    if (!v)
        return NULL;
    Elem from = shown_as(v->type);
    int64_t n = ty_numel(v->type), size = elem_info[from].bytes;
    if (n * size != n_bytes)
        return PyErr_SetString(PyExc_ValueError, "bytes of another shape"), NULL;
    uint64_t *to = interp_value(s->in, v);
    for (int64_t k = 0; k < n; k++) {
        uint64_t w = 0;
        memcpy(&w, bytes + k * size, (size_t)size);
        to[k] = from == E_F32 ? elem_cast(E_F32, v->type->elem, w, ROUND_RTNE) : w;
    }
    return Py_NewRef(Py_None);
}

/* ---- what the prompt calls: tegula/debug_prompt.py ---------------------------------------- */

PyObject *
debug_grid(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    const Session *s = session_b();
    return s ? Py_BuildValue("(iii)", s->run->grid[0], s->run->grid[1], s->run->grid[2])
             : NULL;
}

/* load(type, addresses): the elements that lie there, as a leaf has them. */
PyObject *
debug_load(PyObject *mod, PyObject *args)
{
    (void)mod;
    const char *name, *addresses;
    Py_ssize_t n_bytes;
    const Session *s = session_b();
    if (!s || !PyArg_ParseTuple(args, "sy#", &name, &addresses, &n_bytes))
        return NULL;
    int e = 0;
    while (e < N_ELEM && strcmp(elem_info[e].tl, name))
        e++;
    if (e == N_ELEM)
        return PyErr_Format(PyExc_TypeError, "%s is no type of elements", name), NULL;
    Elem to = shown_as_elem((Elem)e);
    int64_t n = n_bytes / 8, size = elem_info[to].bytes;
    int from_bytes = elem_info[e].bytes;
    PyObject *res = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * size));
    char *at = res ? PyBytes_AsString(res) : NULL;
    for (int64_t i = 0; at && i < n; i++) {
        uint64_t address, w = 0;
        memcpy(&address, addresses + 8 * i, 8);
        if (!s->run->access(s->run->data, address, from_bytes, false, NULL)) {
            Py_DECREF(res);
            return PyErr_Format(PyExc_IndexError, "address 0x%llx lies in no tensor",
                                (unsigned long long)address),
                   NULL;
        }
        memcpy(&w, (const void *)(uintptr_t)address, (size_t)from_bytes);
        w = to == (Elem)e ? w : elem_cast((Elem)e, to, w, ROUND_RTNE);
        memcpy(at + i * size, &w, (size_t)size);
    }
    return res;
}
