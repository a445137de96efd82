/* trees: what frontend/syntax/pack.c makes of a function, in files.
 *
 *     <cache dir>/v2/trees/<16 digits>.tree
 *
 * The name says where the function stands: file, line, name, and which Python read it. A file
 * has one tree, of the text that was there last; the reader compares the text. Read and written
 * by the rules of disk.c; a file that a disk has lost half of is found by its checksum, so none
 * is synced.
 */
#include "runtime/launch.h"

#include <stdlib.h>

/* The directory and the build, as a key; false: nothing is kept. */
static bool
shelf(State *st, DiskKey *key)
{
    static const char below[] = "/v2/trees";
    const char *cache = st->config.cache_dir;
    *key = (DiskKey){.hash = ""};
    if (!cache || st->config.always_compile || !disk_build_id(key->build))
        return false;
    size_t n = strlen(cache) + sizeof below;
    if ((key->dir = malloc(n)))
        snprintf(key->dir, n, "%s%s", cache, below);
    return key->dir;
}

static void
file_name(const char *name, char out[64])
{
    snprintf(out, 64, "%s.tree", name);
}

char *
trees_load(void *state, const char *name, size_t *n)
{
    DiskKey key;
    char file[64];
    if (!shelf(state, &key))
        return NULL;
    file_name(name, file);
    char *bytes = disk_read(state, &key, file, n);
    disk_key_done(&key);
    return bytes;
}

void
trees_store(void *state, const char *name, const char *bytes, size_t n)
{
    DiskKey key;
    char file[64];
    if (!shelf(state, &key))
        return;
    file_name(name, file);
    disk_write(&key, file, bytes, n, false);
    disk_key_done(&key);
}
