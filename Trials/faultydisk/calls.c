// The calls that change files, each standing before the C library's. `pwrite` and `pwrite64` are one call under two
// names, as are `ftruncate` and `ftruncate64`: off_t has 64 bits here.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../../Benchmarks/loadgen/base.h"
#include "disk.h"

#define EXPORT __attribute__((visibility("default")))
_Static_assert(sizeof(off_t) == 8, "off_t has 64 bits");

// The fault that the disk has at the moment: 0, ENOSPC or EIO.
static int trouble(void) {
    if (!disk.full) return 0;
    int fd = open(disk.full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char first = 0;
    ssize_t count = read(fd, &first, 1);
    close(fd);
    return count == 1 && first == 'E' ? EIO : ENOSPC;
}

// Whether a file may come to reach up to `end`; sets errno if not.
static bool may_reach(const struct stat *status, off_t end) {
    int fault = trouble();
    if (fault == 0 || (fault == ENOSPC && end <= status->st_size)) return true;
    errno = fault;
    return false;
}

// Too many parts become one that covers them all: what was not written is the same in the shadow anyway.
static void remember(disk_file *file, off_t from, off_t to) {
    if (!disk.shadow || from >= to) return;
    if (file->range_count) {
        disk_range *last = &file->ranges[file->range_count - 1];
        if (from <= last->to && to >= last->from) {
            if (from < last->from) last->from = from;
            if (to > last->to) last->to = to;
            return;
        }
    }
    if (file->range_count == disk_ranges) {
        for (unsigned i = 1; i < disk_ranges; i++) {
            if (file->ranges[i].from < file->ranges[0].from) file->ranges[0].from = file->ranges[i].from;
            if (file->ranges[i].to > file->ranges[0].to) file->ranges[0].to = file->ranges[i].to;
        }
        file->range_count = 1;
        return remember(file, from, to);
    }
    file->ranges[file->range_count++] = (disk_range){from, to};
}

// `offset`: -1 for where the file stands.
static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
    struct stat status;
    disk_file *file = disk_file_of(fd, &status);
    bool here = offset < 0;
    if (!file) return here ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    if (here) offset = fcntl(fd, F_GETFL) & O_APPEND ? status.st_size : lseek(fd, 0, SEEK_CUR);
    if (!may_reach(&status, offset + (off_t)length)) return -1;
    pthread_mutex_lock(&file->lock);
    ssize_t written = here ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    if (written > 0) remember(file, offset, offset + written);
    pthread_mutex_unlock(&file->lock);
    return written;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, -1); }

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    if (offset >= 0) return write_at(fd, bytes, length, offset);
    errno = EINVAL;
    return -1;
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    return pwrite(fd, bytes, length, offset);
}

// Part by part: nobody is promised that the parts are written as one.
EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) {
        ssize_t written = pwrite(fd, parts[i].iov_base, parts[i].iov_len, offset + sum);
        if (written < 0) return sum ? sum : -1;
        sum += written;
        if ((size_t)written < parts[i].iov_len) break;
    }
    return sum;
}

EXPORT int ftruncate(int fd, off_t length) {
    struct stat status;
    disk_file *file = disk_file_of(fd, &status);
    if (!file) return real_ftruncate(fd, length);
    if (!may_reach(&status, length)) return -1;
    pthread_mutex_lock(&file->lock);
    int result = real_ftruncate(fd, length);
    // What grows is zeros.
    if (result == 0) remember(file, status.st_size, length);
    pthread_mutex_unlock(&file->lock);
    return result;
}

EXPORT int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

EXPORT int posix_fallocate(int fd, off_t offset, off_t length) {
    struct stat status;
    if (fstat(fd, &status) != 0) return errno;
    if (offset + length <= status.st_size) return 0;
    return ftruncate(fd, offset + length) == 0 ? 0 : errno;
}

EXPORT int posix_fallocate64(int fd, off_t offset, off_t length) { return posix_fallocate(fd, offset, length); }

static void note_time(uint64_t nanoseconds) {
    static int fd = -1;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char line[32];
    int length = snprintf(line, sizeof line, "%llu\n", (unsigned long long)nanoseconds);
    pthread_mutex_lock(&lock);
    if (fd < 0) fd = open(disk.times, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    pthread_mutex_unlock(&lock);
    if (fd < 0 || real_write(fd, line, (size_t)length) != length) disk_fail("cannot write", disk.times);
}

// By the address of the call, which may not be found yet.
static int sync_by(int (**sync)(int), int fd) {
    struct stat status;
    disk_file *file = disk_file_of(fd, &status);
    if (!file) {
        int result = (*sync)(fd);
        if (result == 0 && disk.shadow && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) shadow_sync_folder(fd);
        return result;
    }
    if (trouble() == EIO) {
        errno = EIO;
        return -1;
    }
    uint64_t before = now_ns();
    while (disk.hang && access(disk.hang, F_OK) == 0) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    pthread_mutex_lock(&file->lock);
    int result = (*sync)(fd);
    if (result == 0 && disk.shadow) shadow_sync_file(file, fd);
    pthread_mutex_unlock(&file->lock);
    if (disk.delay_us) {
        struct timespec delay = {disk.delay_us / 1000000, disk.delay_us % 1000000 * 1000};
        nanosleep(&delay, NULL);
    }
    if (disk.times) note_time(now_ns() - before);
    return result;
}

EXPORT int fsync(int fd) { return sync_by(&real_fsync, fd); }
EXPORT int fdatasync(int fd) { return sync_by(&real_fdatasync, fd); }

EXPORT int unlink(const char *path) {
    disk_file *file = disk_file_at(path);
    int result = real_unlink(path);
    if (result == 0 && file) file->unlinked = true;
    return result;
}

EXPORT int rename(const char *from, const char *to) {
    disk_file *replaced = disk_file_at(to), *moved = disk_file_at(from);
    int result = real_rename(from, to);
    if (result == 0 && replaced && replaced != moved) replaced->unlinked = true;
    return result;
}
