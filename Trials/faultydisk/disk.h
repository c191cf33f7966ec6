// A disk with faults, for a process that is started with this library in LD_PRELOAD. Nothing is called by name: the
// library stands before the C library's calls that change files, and looks at its environment once, at the start.
//
//   DISK_FOLDER           absolute; only files in it are touched. Without it nothing is
//   DISK_SYNC_DELAY_US    each fsync and fdatasync takes so much longer
//   DISK_HANG             while this file exists no fsync or fdatasync returns
//   DISK_SYNC_TIMES       file that gets a line for each: its nanoseconds, the delay included
//   DISK_FULL             while this file exists the disk is full: what would grow a file fails with ENOSPC. If its
//                         first letter is E (as in EIO) every write and sync fails with EIO instead
//   DISK_SHADOW           folder that is kept as the disk would be after a power cut: a file's bytes and length get
//                         there when a sync of it returns, its name when a sync of its folder does
//   DISK_LIES             if set, syncs return and nothing gets to the shadow
//   DISK_CUT              before anything else, what the process before this one left is made what a power cut would
//                         have left. `cut`: nothing that was not synced. `torn`: of each file's sectors that were
//                         written and not synced, some, by chance
//   DISK_SEED             of that chance
//   DISK_REPORT           file that gets a line about each cut
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/// The environment.
typedef struct {
    const char *folder, *shadow, *full, *times, *report, *hang;
    size_t folder_length;
    long delay_us;
    bool lies;
} disk_settings;

extern disk_settings disk;

/// The C library's own calls, as `real_write` and so on.
#define REAL_CALLS(CALL) \
    CALL(ssize_t, write, (int, const void *, size_t)) \
    CALL(ssize_t, pwrite, (int, const void *, size_t, off_t)) \
    CALL(int, fsync, (int)) \
    CALL(int, fdatasync, (int)) \
    CALL(int, ftruncate, (int, off_t)) \
    CALL(int, unlink, (const char *)) \
    CALL(int, rename, (const char *, const char *))
#define CALL(result, name, arguments) extern result(*real_##name) arguments;
REAL_CALLS(CALL)
#undef CALL

/// Ends the process: a disk that cannot be emulated proves nothing.
_Noreturn void disk_fail(const char *what, const char *path);

/// A part of a file that was written since the last sync.
typedef struct { off_t from, to; } disk_range;

enum { disk_ranges = 1024 };

/// A file of the folder, by its inode; `number` names its bytes in the shadow.
typedef struct disk_file {
    struct disk_file *next;
    dev_t device;
    ino_t inode;
    unsigned number;
    /// Its name is gone, so its inode may come back as another file's.
    bool unlinked;
    pthread_mutex_t lock;
    unsigned range_count;
    disk_range ranges[disk_ranges];
} disk_file;

/// The file behind a descriptor if it is one of the folder's; `found` gets its fstat. Here and at a path the C library's
/// calls are found first: a library's start may write before this one's.
disk_file *disk_file_of(int fd, struct stat *found);

/// The file at a path, if it is known.
disk_file *disk_file_at(const char *path);

/// Whether the path lies in the folder and is a file that survives its process (a WAL's index does not).
bool disk_holds(const char *path);

// --- The shadow ---

/// Copies what is there; from now on the shadow is what a cut would leave.
void shadow_begin(void);

/// A file was made known: it has no bytes in the shadow yet.
void shadow_create(const disk_file *file);

/// A sync of the file returned. Its lock is held.
void shadow_sync_file(disk_file *file, int fd);

/// A sync of a folder returned: what it names now stays named so.
void shadow_sync_folder(int fd);

/// Makes the folder what the shadow says, `torn` or not.
void shadow_restore(bool torn, uint64_t seed);

/// Calls `each` for every surviving file under `path`.
void walk(const char *path, void (*each)(const char *path, const struct stat *status, void *context), void *context);
