/* Counts what a process does to the files of one folder and to the network, and lets the n-th of it fail.

   Loaded before the C library (LD_PRELOAD); counts nothing before `faults_arm`. What is counted: opening a file to
   write, writing, syncing, renaming, cutting, making room, linking, removing, connecting, sending. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FULL, BROKEN, KILLED, TORN }; /* the disk is full from now on; one error; killed before; killed half way */

static atomic_long points;
static long at = -1;
static int mode, armed;
static char folder[4096];

void faults_arm(const char *where, long n, int how) {
    snprintf(folder, sizeof folder, "%s/", where);
    points = 0;
    at = n;
    mode = how;
    armed = 1;
}

long faults_points(void) { return points; }
void faults_disarm(void) { armed = 0; }

static int ours(const char *path) {
    char whole[8192], here[4096];
    if (!armed || !path) return 0;
    if (path[0] == '/') return !strncmp(path, folder, strlen(folder));
    if (!getcwd(here, sizeof here)) return 0;
    snprintf(whole, sizeof whole, "%s/%s", here, path);
    return !strncmp(whole, folder, strlen(folder));
}

static int ours_open(int fd) {
    char name[64], path[4096];
    ssize_t length;
    if (!armed) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    length = readlink(name, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return !strncmp(path, folder, strlen(folder));
}

/* 0: go on; 1: fail, errno is set; 2: write the first half, then die. */
static int point(int grows, int writes) {
    long n = ++points;
    if (mode == FULL ? n < at || (n > at && !grows) : n != at) return 0;
    if (mode == TORN && writes) return 2;
    if (mode >= KILLED) kill(getpid(), SIGKILL);
    errno = mode == FULL ? ENOSPC : EIO;
    return 1;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)
#define WRITING (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)

#define OPENS(name)                                                          \
    int name(const char *path, int flags, ...) {                             \
        REAL(int, #name, const char *, int, ...);                            \
        va_list more; va_start(more, flags);                                 \
        mode_t bits = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;          \
        va_end(more);                                                        \
        if ((flags & WRITING) && ours(path) && point((flags & O_CREAT) && access(path, F_OK), 0)) return -1; \
        return real(path, flags, bits);                                      \
    }
OPENS(open)
OPENS(open64)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (ours_open(fd)) switch (point(1, 1)) {
        case 1: return -1;
        case 2: real(fd, data, size / 2); kill(getpid(), SIGKILL);
    }
    return real(fd, data, size);
}

#define PWRITES(name)                                                        \
    ssize_t name(int fd, const void *data, size_t size, off_t from) {        \
        REAL(ssize_t, #name, int, const void *, size_t, off_t);              \
        if (ours_open(fd)) switch (point(1, 1)) {                            \
            case 1: return -1;                                               \
            case 2: real(fd, data, size / 2, from); kill(getpid(), SIGKILL); \
        }                                                                    \
        return real(fd, data, size, from);                                   \
    }
PWRITES(pwrite)
PWRITES(pwrite64)

#define SYNCS(name)                                                          \
    int name(int fd) {                                                       \
        REAL(int, #name, int);                                               \
        return ours_open(fd) && point(0, 0) ? -1 : real(fd);                 \
    }
SYNCS(fsync)
SYNCS(fdatasync)

#define CUTS(name)                                                           \
    int name(int fd, off_t size) {                                           \
        REAL(int, #name, int, off_t);                                        \
        return ours_open(fd) && point(0, 0) ? -1 : real(fd, size);           \
    }
CUTS(ftruncate)
CUTS(ftruncate64)

#define MAKES_ROOM(name)                                                     \
    int name(int fd, off_t from, off_t size) {                               \
        REAL(int, #name, int, off_t, off_t);                                 \
        return ours_open(fd) && point(1, 0) ? errno : real(fd, from, size);  \
    }
MAKES_ROOM(posix_fallocate)
MAKES_ROOM(posix_fallocate64)

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return ours(to) && point(0, 0) ? -1 : real(from, to);
}

int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    return ours(to) && point(1, 0) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return ours(path) && point(0, 0) ? -1 : real(path);
}

static int sends(int fd) {
    struct sockaddr_storage who;
    socklen_t size = sizeof who;
    return armed && !getsockname(fd, (struct sockaddr *)&who, &size) && who.ss_family == AF_INET;
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    REAL(ssize_t, "send", int, const void *, size_t, int);
    if (sends(fd) && mode != FULL) switch (point(0, 1)) {
        case 1: errno = ECONNRESET; return -1;
        case 2: real(fd, data, size, flags); kill(getpid(), SIGKILL); /* all of it went out, no reply is read */
    }
    return real(fd, data, size, flags);
}

int connect(int fd, const struct sockaddr *to, socklen_t size) {
    REAL(int, "connect", int, const struct sockaddr *, socklen_t);
    if (armed && to->sa_family == AF_INET && mode != FULL && point(0, 0)) { errno = ECONNREFUSED; return -1; }
    return real(fd, to, size);
}
