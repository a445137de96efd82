/* stepping.h: a grid in the interpreter, with Python looking on. */
#ifndef TEGULA_STEPPING_H
#define TEGULA_STEPPING_H

#include "interp/interp.h"
#include "runtime/fiber.h"
#include "runtime/launch.h"

/* A function of the user's that runs: the kernel is level 0. */
typedef struct Level {
    const Op *at;     /* its mark that was passed last: what is in sight */
    const Op *call;   /* its first one */
    const Op *ret;    /* its last one, when it is over */
    int line;         /* of at */
    int serial;       /* names the frame, for those who keep it */
    PyObject *locals; /* of its frame: tegula.debugger.Locals; NULL: it has none */
    bool is_fresh;    /* the line is not shown yet */
    bool is_over;
} Level;

typedef enum Event {
    EVENT_NONE,
    EVENT_CALL, /* a level began */
    EVENT_LINE,
    EVENT_RETURN,
    EVENT_STOP, /* breakpoint() */
    EVENT_PRINT,
    EVENT_SIGNALS, /* time has passed: has somebody pressed Ctrl-C? */
    EVENT_END,     /* of the grid, or an error */
} Event;

enum { MAX_LEVEL = 128 };

typedef struct Session {
    PyObject *kernel; /* borrowed */
    Comp *comp;
    InterpRun *run;
    Printed *printed;
    InterpFault fault;
    /* The message for an access that is not allowed, in the arena. */
    const char *(*tell_access)(const struct Session *s);
    void *data;       /* of tell_access */
    const char *text; /* the kernel's IR */
    Fiber python, interp;
    Interp *in;
    const Op *mark; /* passed last */
    Event event;
    double asked; /* clock_ms() of the last EVENT_SIGNALS */
    int n_marks;
    Level level[MAX_LEVEL];
    int n_levels; /* that run */
    int n_frames; /* of those, from the kernel inwards, have a frame of Python's */
    int n_serials;
    bool follows; /* somebody traces Python: a program gets frames from its start */
    bool stops;   /* a breakpoint() waits for its frame */
    PyObject *error[3]; /* so does an exception: of Ctrl-C. NULL: there is none */
    bool is_done, has_failed;
    PyObject *outer_program; /* tegula.debugger.program as it was before; or NULL */
    bool was_read;           /* values were shown since the kernel last ran */
    bool is_alive;           /* the launch is going on */
    PyObject *handle;        /* the capsule of this, for Python */
} Session;

/* Runs the grid. 0, or -1 with an exception. */
int session_run(Session *s);

/* Functions of tegula._core, for tegula/debugger.py. */
PyObject *debug_step(PyObject *mod, PyObject *line);
PyObject *debug_below(PyObject *mod, PyObject *line);
PyObject *debug_value(PyObject *mod, PyObject *unused);
PyObject *debug_spec(PyObject *mod, PyObject *args);
PyObject *debug_read(PyObject *mod, PyObject *args);
PyObject *debug_write(PyObject *mod, PyObject *args);
PyObject *debug_load(PyObject *mod, PyObject *args);
PyObject *debug_grid(PyObject *mod, PyObject *unused);

/* record.c: keeps the access, if this thread records. The two functions of tegula._core are
 * for tegula/viz.py. */
void record_access(uint64_t address, int bytes, bool is_write, int line,
                   const int32_t *pid);
PyObject *record_start(PyObject *mod, PyObject *unused);
PyObject *record_stop(PyObject *mod, PyObject *unused);

#endif
