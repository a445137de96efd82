/* file: files and pipes, read and written to their end, whatever signals come meanwhile. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

ssize_t
file_read(int fd, void *to, size_t n)
{
    size_t at = 0;
    while (at < n) {
        ssize_t got = read(fd, (char *)to + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (!got)
            break;
        at += (size_t)got;
    }
    return (ssize_t)at;
}

bool
file_write(int fd, const void *from, size_t n)
{
    for (const char *at = from, *end = at + n; at < end;) {
        ssize_t put = write(fd, at, (size_t)(end - at));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
    }
    return true;
}

char *
file_whole(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *data = NULL, *more;
    ssize_t got;
    size_t room = 1 << 12;
    *n = 0;
    do {
        got = -1;
        if (!(more = realloc(data, room *= 2)))
            break;
        data = more;
        got = file_read(fd, data + *n, room - *n - 1);
        *n += (size_t)MAX(got, 0);
    } while (*n + 1 == room);
    int why = errno;
    close(fd);
    if (got >= 0) {
        data[*n] = 0;
        return data;
    }
    free(data);
    errno = why;
    return NULL;
}
