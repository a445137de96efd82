/* aside: a compile on a thread of its own, which the thread that wants it can leave.
 *
 *     caller   moves its Comp to the heap, waits without the GIL, and looks after signals
 *     helper   runs passes, LLVM and ptxas; knows nothing of Python
 *
 * LLVM cannot be stopped. So when the handler of a signal raises, as that of Ctrl-C does, the
 * caller goes, and the Comp stays with the helper: passes and ptxas end soon (Halt), LLVM
 * finishes what it is at, and the next compile of the process frees what it leaves behind,
 * since some of that are references to Python's objects. A helper's stack does not depend on
 * the caller's, which may be small.
 */
#ifndef TEGULA_ASIDE_H
#define TEGULA_ASIDE_H

#include "base/base.h"

/* Runs fn(c, data) in a comp_run, the GIL let go. Returns as comp_run does, or false with an
 * exception: then c is empty, and what it had is the helper's. All that fn reads or writes
 * lives in the Comp's arena, and it finds the Comp as its argument: another one than c. */
bool aside_run(Comp *c, void (*fn)(Comp *c, void *data), void *data);

/* Asks all that run to end, and waits a moment for those that can. At the exit of Python; LLVM's
 * may go on until the process ends (llvm.c). */
void aside_stop_all(void);

#endif
