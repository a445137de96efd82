/* ptx_tensor: tensor maps, stores by them, and the mbarrier at which loads and all threads meet.
 *
 * A tensor map is a parameter, 128 bytes by value that stay where the launch put them
 * (grid_constant): a copy of them in local memory is none that the chip takes.
 */
#include "codegen/simt/ptx.h"

enum { MAP_BYTES = 128, MAP_ALIGN = 64 };

void
ptx_map_param(Ll *l, int param)
{
    LLVMAttributeIndex at = (LLVMAttributeIndex)(param + 1);
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));
    Lt bytes = LLVMArrayType2(l->i8, MAP_BYTES);
    LLVMAddAttributeAtIndex(l->fn, at, LLVMCreateTypeAttribute(l->cx, kind, bytes));
    ll_param_attr(l, l->fn, param, "align", MAP_ALIGN);
    static const char name[] = "nvvm.grid_constant";
    LLVMAddAttributeAtIndex(
        l->fn, at, LLVMCreateStringAttribute(l->cx, name, sizeof name - 1, "", 0));
}

Lv
ptx_tensor_map(Ll *l, int i)
{
    Lv at = LLVMGetParam(l->fn, (unsigned)(ptx_state(l)->first_map + i));
    return LLVMBuildPtrToInt(l->b, at, l->i64, "");
}

void
ptx_prefetch_map(Ll *l, Lv map)
{
    ll_asm(l, l->void_, "prefetch.tensormap [$0];", "l", &map, 1, true);
}

void
ptx_tensor_store(Ll *l, Lv map, Lv from, Lv *coords, int n)
{
    Asm a = asm_new(l);
    asm_text(&a, "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [$%d, ",
             n, asm_in(&a, map));
    asm_inputs(&a, coords, n);
    asm_text(&a, "], [$%d];", asm_in(&a, ptx_shared_address(l, from)));
    asm_done(&a, true, true);
}

void
ptx_tensor_commit(Ll *l)
{
    asm_statement(l, "cp.async.bulk.commit_group;");
}

void
ptx_tensor_wait(Ll *l, bool is_read)
{
    asm_statement(l, "cp.async.bulk.wait_group%s 0;", is_read ? ".read" : "");
}

Lv
ptx_mbar_meet(Ll *l, Lv at, Lv bytes)
{
    Lv args[] = {ptx_shared_address(l, at), bytes};
    return ll_asm(l, l->i64, "mbarrier.arrive.expect_tx.shared::cta.b64 $0, [$1], $2;",
                  "=l,r,r,~{memory}", args, 2, true);
}
