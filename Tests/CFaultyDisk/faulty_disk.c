#include "faulty_disk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

// The file as SQLite allocates it: ours, and behind it the real one.
typedef struct {
    sqlite3_file base;
    const char *path;
    sqlite3_file *real;
} faulty_file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char faulty_folder[1024];
static int faulty_fault;
static atomic_int failures;

static sqlite3_vfs layer;
static sqlite3_vfs *real_layer;

void faulty_disk_set(const char *folder, int fault) {
    pthread_mutex_lock(&lock);
    strncpy(faulty_folder, folder, sizeof faulty_folder - 1);
    faulty_fault = fault;
    pthread_mutex_unlock(&lock);
    atomic_store(&failures, 0);
}

int faulty_disk_failures(void) { return atomic_load(&failures); }

// The fault of a file now.
static int fault_of(faulty_file *file) {
    if (!file->path) return FAULTY_DISK_NONE;
    pthread_mutex_lock(&lock);
    int is_inside = faulty_folder[0] && strncmp(file->path, faulty_folder, strlen(faulty_folder)) == 0;
    int fault = is_inside ? faulty_fault : FAULTY_DISK_NONE;
    pthread_mutex_unlock(&lock);
    return fault;
}

static int ends_with(const char *path, const char *end) {
    size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

static int failed(int code) {
    atomic_fetch_add(&failures, 1);
    return code;
}

#define REAL(file) (((faulty_file *)(file))->real)

static int faulty_close(sqlite3_file *file) { return REAL(file)->pMethods->xClose(REAL(file)); }

static int faulty_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    faulty_file *mine = (faulty_file *)file;
    if (fault_of(mine) == FAULTY_DISK_READ && ends_with(mine->path, ".sqlite")) return failed(SQLITE_IOERR_READ);
    return REAL(file)->pMethods->xRead(REAL(file), bytes, count, offset);
}

static int faulty_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    switch (fault_of((faulty_file *)file)) {
    case FAULTY_DISK_FULL: return failed(SQLITE_FULL);
    case FAULTY_DISK_WRITE: return failed(SQLITE_IOERR_WRITE);
    default: return REAL(file)->pMethods->xWrite(REAL(file), bytes, count, offset);
    }
}

static int faulty_sync(sqlite3_file *file, int flags) {
    faulty_file *mine = (faulty_file *)file;
    int fault = fault_of(mine);
    int is_log = ends_with(mine->path ? mine->path : "", "-wal");
    if (fault == FAULTY_DISK_LOG_SYNC && is_log) return failed(SQLITE_IOERR_FSYNC);
    if (fault == FAULTY_DISK_LOG_SYNC_ONCE && is_log) {
        pthread_mutex_lock(&lock);
        faulty_fault = FAULTY_DISK_WRITE;
        pthread_mutex_unlock(&lock);
        return failed(SQLITE_IOERR_FSYNC);
    }
    return REAL(file)->pMethods->xSync(REAL(file), flags);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return REAL(file)->pMethods->xTruncate(REAL(file), size);
}
static int faulty_size(sqlite3_file *file, sqlite3_int64 *size) {
    return REAL(file)->pMethods->xFileSize(REAL(file), size);
}
static int faulty_lock(sqlite3_file *file, int kind) { return REAL(file)->pMethods->xLock(REAL(file), kind); }
static int faulty_unlock(sqlite3_file *file, int kind) { return REAL(file)->pMethods->xUnlock(REAL(file), kind); }
static int faulty_reserved(sqlite3_file *file, int *is) {
    return REAL(file)->pMethods->xCheckReservedLock(REAL(file), is);
}
static int faulty_control(sqlite3_file *file, int what, void *value) {
    return REAL(file)->pMethods->xFileControl(REAL(file), what, value);
}
static int faulty_sector(sqlite3_file *file) { return REAL(file)->pMethods->xSectorSize(REAL(file)); }
static int faulty_device(sqlite3_file *file) { return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file)); }
static int faulty_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return REAL(file)->pMethods->xShmMap(REAL(file), page, size, extend, memory);
}
static int faulty_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return REAL(file)->pMethods->xShmLock(REAL(file), offset, count, flags);
}
static void faulty_shm_barrier(sqlite3_file *file) { REAL(file)->pMethods->xShmBarrier(REAL(file)); }
static int faulty_shm_unmap(sqlite3_file *file, int deletes) {
    return REAL(file)->pMethods->xShmUnmap(REAL(file), deletes);
}

// Version 2: with a shared index of the log, without memory mapping.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = faulty_close,
    .xRead = faulty_read,
    .xWrite = faulty_write,
    .xTruncate = faulty_truncate,
    .xSync = faulty_sync,
    .xFileSize = faulty_size,
    .xLock = faulty_lock,
    .xUnlock = faulty_unlock,
    .xCheckReservedLock = faulty_reserved,
    .xFileControl = faulty_control,
    .xSectorSize = faulty_sector,
    .xDeviceCharacteristics = faulty_device,
    .xShmMap = faulty_shm_map,
    .xShmLock = faulty_shm_lock,
    .xShmBarrier = faulty_shm_barrier,
    .xShmUnmap = faulty_shm_unmap,
};

static int faulty_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags) {
    faulty_file *mine = (faulty_file *)file;
    memset(mine, 0, sizeof *mine);
    // SQLite keeps the path for as long as the file is open.
    mine->path = path;
    mine->real = (sqlite3_file *)(mine + 1);
    int result = real_layer->xOpen(real_layer, path, mine->real, flags, out_flags);
    if (mine->real->pMethods) mine->base.pMethods = &methods;
    return result;
}

int faulty_disk_install(void) {
    pthread_mutex_lock(&lock);
    int result = SQLITE_OK;
    if (!real_layer) {
        real_layer = sqlite3_vfs_find(0);
        layer = *real_layer;
        layer.zName = "faulty";
        layer.szOsFile = (int)sizeof(faulty_file) + real_layer->szOsFile;
        layer.xOpen = faulty_open;
        result = sqlite3_vfs_register(&layer, 1);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
