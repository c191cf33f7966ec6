// Which descriptor is which file, and the start.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"

disk_settings disk;
#define CALL(result, name, arguments) result(*real_##name) arguments;
REAL_CALLS(CALL)
#undef CALL

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static disk_file *files;
static unsigned next_number;

void disk_fail(const char *what, const char *path) {
    fprintf(stderr, "faultydisk: %s %s: %s\n", what, path, strerror(errno));
    _exit(70);
}

bool disk_holds(const char *path) {
    size_t length = strlen(path);
    return disk.folder && strncmp(path, disk.folder, disk.folder_length) == 0 && path[disk.folder_length] == '/'
        && !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

static void resolve(void) {
    if (real_rename) return;  // the last of them
#define CALL(result, name, arguments) \
    if (!(*(void **)&real_##name = dlsym(RTLD_NEXT, #name))) disk_fail("the C library has no", #name);
    REAL_CALLS(CALL)
#undef CALL
}

static disk_file *find(const struct stat *status) {
    for (disk_file *file = files; file; file = file->next) {
        if (file->inode == status->st_ino && file->device == status->st_dev && !file->unlinked) return file;
    }
    return NULL;
}

static disk_file *make(const struct stat *status) {
    disk_file *file = calloc(1, sizeof *file);
    if (!file) disk_fail("no memory for", disk.folder);
    file->device = status->st_dev;
    file->inode = status->st_ino;
    file->number = next_number++;
    pthread_mutex_init(&file->lock, NULL);
    file->next = files;
    files = file;
    if (disk.shadow) shadow_create(file);
    return file;
}

disk_file *disk_file_of(int fd, struct stat *found) {
    resolve();
    if (!disk.folder || fstat(fd, found) != 0 || !S_ISREG(found->st_mode)) return NULL;
    pthread_mutex_lock(&files_lock);
    disk_file *file = find(found);
    pthread_mutex_unlock(&files_lock);
    if (file) return file;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    if (!disk_holds(path)) return NULL;
    pthread_mutex_lock(&files_lock);
    file = find(found);
    if (!file) file = make(found);
    pthread_mutex_unlock(&files_lock);
    return file;
}

disk_file *disk_file_at(const char *path) {
    struct stat status;
    resolve();
    if (!disk.folder || lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    pthread_mutex_lock(&files_lock);
    disk_file *file = find(&status);
    if (!file && disk_holds(path)) file = make(&status);
    pthread_mutex_unlock(&files_lock);
    return file;
}

void walk(const char *path, void (*each)(const char *path, const struct stat *status, void *context), void *context) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inner[PATH_MAX];
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (lstat(inner, &status) != 0) continue;
        if (S_ISDIR(status.st_mode)) walk(inner, each, context);
        else if (S_ISREG(status.st_mode)) each(inner, &status, context);
    }
    closedir(folder);
}

__attribute__((constructor)) static void begin(void) {
    resolve();
    const char *delay = getenv("DISK_SYNC_DELAY_US"), *cut = getenv("DISK_CUT"), *seed = getenv("DISK_SEED");
    const char *folder = getenv("DISK_FOLDER");
    if (!folder) return;
    disk.folder_length = strlen(folder);
    disk.shadow = getenv("DISK_SHADOW");
    disk.full = getenv("DISK_FULL");
    disk.hang = getenv("DISK_HANG");
    disk.times = getenv("DISK_SYNC_TIMES");
    disk.report = getenv("DISK_REPORT");
    disk.lies = getenv("DISK_LIES") != NULL;
    disk.delay_us = delay ? atol(delay) : 0;
    disk.folder = folder;
    // What is started by this process has a disk of its own.
    unsetenv("LD_PRELOAD");
    if (!disk.shadow) return;
    if (cut) shadow_restore(strcmp(cut, "torn") == 0, seed ? strtoull(seed, NULL, 10) : 1);
    shadow_begin();
}
