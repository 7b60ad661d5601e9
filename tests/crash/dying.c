/* Dies, as by kill -9, at the n-th operation that changes files below one directory; a write is done by half before.

   Loaded before the C library (LD_PRELOAD), so that Python's own writes, Arrow's and Polars' all count. dying_arm(n)
   starts counting in this process (n = 0: count only), dying_count() tells how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char below[4096];
static size_t below_length;
static atomic_long count;
static long last;
static int armed;

void dying_arm(const char *directory, long at) {
    snprintf(below, sizeof below, "%s", directory);
    below_length = strlen(below);
    atomic_store(&count, 0);
    last = at;
    armed = 1;
}

long dying_count(void) { return atomic_load(&count); }

static int is_below(const char *path) {
    return strncmp(path, below, below_length) == 0 && (path[below_length] == '/' || path[below_length] == 0);
}

static int handle_below(int handle) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int named_below(int directory, const char *path) {
    if (path && path[0] == '/') return is_below(path);
    if (directory != AT_FDCWD) return handle_below(directory);
    char here[4096];
    return getcwd(here, sizeof here) && is_below(here);
}

/* Whether this very operation is the last one. */
static int dies(int counts) {
    if (!armed || !counts) return 0;
    return atomic_fetch_add(&count, 1) + 1 == last;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define CHANGES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { REAL(open); MODE; if (armed && CHANGES(flags) && dies(named_below(AT_FDCWD, path))) die(); return real(path, flags, mode); }
int open64(const char *path, int flags, ...) { REAL(open64); MODE; if (armed && CHANGES(flags) && dies(named_below(AT_FDCWD, path))) die(); return real(path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { REAL(openat); MODE; if (armed && CHANGES(flags) && dies(named_below(at, path))) die(); return real(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { REAL(openat64); MODE; if (armed && CHANGES(flags) && dies(named_below(at, path))) die(); return real(at, path, flags, mode); }

ssize_t write(int handle, const void *data, size_t size) { REAL(write); if (armed && dies(handle_below(handle))) { real(handle, data, size / 2); die(); } return real(handle, data, size); }
ssize_t pwrite(int handle, const void *data, size_t size, off_t at) { REAL(pwrite); if (armed && dies(handle_below(handle))) { real(handle, data, size / 2, at); die(); } return real(handle, data, size, at); }
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at) { REAL(pwrite64); if (armed && dies(handle_below(handle))) { real(handle, data, size / 2, at); die(); } return real(handle, data, size, at); }
ssize_t writev(int handle, const struct iovec *parts, int number) { REAL(writev); if (armed && dies(handle_below(handle))) die(); return real(handle, parts, number); }

int fsync(int handle) { REAL(fsync); if (armed && dies(handle_below(handle))) die(); return real(handle); }
int fdatasync(int handle) { REAL(fdatasync); if (armed && dies(handle_below(handle))) die(); return real(handle); }
int ftruncate(int handle, off_t size) { REAL(ftruncate); if (armed && dies(handle_below(handle))) die(); return real(handle, size); }
int ftruncate64(int handle, off64_t size) { REAL(ftruncate64); if (armed && dies(handle_below(handle))) die(); return real(handle, size); }

int rename(const char *old, const char *new) { REAL(rename); if (armed && dies(named_below(AT_FDCWD, new))) die(); return real(old, new); }
int renameat(int at, const char *old, int to, const char *new) { REAL(renameat); if (armed && dies(named_below(to, new))) die(); return real(at, old, to, new); }
int link(const char *old, const char *new) { REAL(link); if (armed && dies(named_below(AT_FDCWD, new))) die(); return real(old, new); }
int linkat(int at, const char *old, int to, const char *new, int flags) { REAL(linkat); if (armed && dies(named_below(to, new))) die(); return real(at, old, to, new, flags); }
int unlink(const char *path) { REAL(unlink); if (armed && dies(named_below(AT_FDCWD, path))) die(); return real(path); }
int unlinkat(int at, const char *path, int flags) { REAL(unlinkat); if (armed && dies(named_below(at, path))) die(); return real(at, path, flags); }
int rmdir(const char *path) { REAL(rmdir); if (armed && dies(named_below(AT_FDCWD, path))) die(); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); if (armed && dies(named_below(AT_FDCWD, path))) die(); return real(path, mode); }
int mkdirat(int at, const char *path, mode_t mode) { REAL(mkdirat); if (armed && dies(named_below(at, path))) die(); return real(at, path, mode); }
int chmod(const char *path, mode_t mode) { REAL(chmod); if (armed && dies(named_below(AT_FDCWD, path))) die(); return real(path, mode); }
