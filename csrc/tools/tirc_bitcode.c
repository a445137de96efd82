/* tirc_bitcode: LLVM's text as LLVM's bitcode, which tests of libraries are written in:
 *
 *     build/tirc bitcode mine.ll > mine.bc
 */
#include "tools/tirc.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>

int
tirc_bitcode(const char *text)
{
    LLVMContextRef cx = LLVMContextCreate();
    LLVMModuleRef m = NULL;
    char *message = NULL;
    /* takes the buffer */
    bool bad = LLVMParseIRInContext(
        cx, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "library"),
        &m, &message);
    if (bad) {
        fprintf(stderr, "%s\n", message);
        LLVMDisposeMessage(message);
    } else {
        fflush(stdout);
        bad = LLVMWriteBitcodeToFD(m, fileno(stdout), 0, 0) != 0;
        LLVMDisposeModule(m);
    }
    LLVMContextDispose(cx);
    return bad;
}
