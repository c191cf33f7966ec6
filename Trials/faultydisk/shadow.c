// The disk as a power cut would leave it: a folder with a file `<number>` for each file's synced bytes, and one `names`
// with a line `<number> <inode> <path in the folder>` for each synced name.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../Benchmarks/loadgen/base.h"
#include "disk.h"

typedef struct {
    char path[512];
    unsigned number;
    unsigned long long inode;
} name;

static struct {
    pthread_mutex_t lock;
    name *names;
    unsigned count, capacity;
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void shadow_path(char path[PATH_MAX], unsigned number) {
    snprintf(path, PATH_MAX, "%s/%u", disk.shadow, number);
}

static int open_or_fail(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) disk_fail("cannot open", path);
    return fd;
}

static void copy_range(int from, int to, off_t start, off_t end) {
    static _Thread_local char bytes[256 << 10];
    while (start < end) {
        size_t part = end - start < (off_t)sizeof bytes ? (size_t)(end - start) : sizeof bytes;
        ssize_t count = pread(from, bytes, part, start);
        if (count < 0) disk_fail("cannot read for", disk.shadow);
        if (count == 0) return;
        if (real_pwrite(to, bytes, (size_t)count, start) != count) disk_fail("cannot write to", disk.shadow);
        start += count;
    }
}

static off_t size_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_size : 0;
}

static void copy_file(const char *from, const char *to) {
    int source = open_or_fail(from, O_RDONLY), target = open_or_fail(to, O_WRONLY | O_CREAT | O_TRUNC);
    copy_range(source, target, 0, size_of(source));
    close(source);
    close(target);
}

void shadow_create(const disk_file *file) {
    char path[PATH_MAX];
    shadow_path(path, file->number);
    close(open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC));
}

void shadow_sync_file(disk_file *file, int fd) {
    if (disk.lies) return;
    char path[PATH_MAX], link[64];
    shadow_path(path, file->number);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int from = open_or_fail(link, O_RDONLY), to = open_or_fail(path, O_WRONLY);
    for (unsigned i = 0; i < file->range_count; i++) copy_range(from, to, file->ranges[i].from, file->ranges[i].to);
    if (real_ftruncate(to, size_of(from)) != 0) disk_fail("cannot cut", path);
    file->range_count = 0;
    close(from);
    close(to);
}

// --- Names ---

static void add_name(const char *path, const struct stat *status, void *context) {
    (void)context;
    disk_file *file = disk_holds(path) ? disk_file_at(path) : NULL;
    if (!file) return;
    if (book.count == book.capacity) {
        book.capacity = book.capacity ? 2 * book.capacity : 16;
        book.names = realloc(book.names, book.capacity * sizeof *book.names);
        if (!book.names) disk_fail("no memory for", disk.shadow);
    }
    name *added = &book.names[book.count++];
    snprintf(added->path, sizeof added->path, "%s", path + disk.folder_length + 1);
    added->number = file->number;
    added->inode = status->st_ino;
}

// In one step, so that a kill leaves the old ones or the new ones.
static void write_names(void) {
    char path[PATH_MAX], other[PATH_MAX];
    snprintf(path, sizeof path, "%s/names", disk.shadow);
    snprintf(other, sizeof other, "%s/names-new", disk.shadow);
    FILE *file = fopen(other, "we");
    if (!file) disk_fail("cannot write", other);
    for (unsigned i = 0; i < book.count; i++) {
        fprintf(file, "%u %llu %s\n", book.names[i].number, book.names[i].inode, book.names[i].path);
    }
    if (fclose(file) != 0 || real_rename(other, path) != 0) disk_fail("cannot write", path);
}

// Folders in it are taken with it; names elsewhere are left as they were.
void shadow_sync_folder(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (disk.lies || length < 0) return;
    path[length] = 0;
    if (strcmp(path, disk.folder) != 0 && !disk_holds(path)) return;
    pthread_mutex_lock(&book.lock);
    const char *inner = path[disk.folder_length] ? path + disk.folder_length + 1 : "";
    size_t inner_length = strlen(inner);
    unsigned kept = 0;
    for (unsigned i = 0; i < book.count; i++) {
        const char *named = book.names[i].path;
        bool inside = inner_length == 0 || (strncmp(named, inner, inner_length) == 0 && named[inner_length] == '/');
        if (!inside) book.names[kept++] = book.names[i];
    }
    book.count = kept;
    walk(path, add_name, NULL);
    write_names();
    pthread_mutex_unlock(&book.lock);
}

static void begin_file(const char *path, const struct stat *status, void *context) {
    add_name(path, status, context);
    if (!book.count || strcmp(book.names[book.count - 1].path, path + disk.folder_length + 1) != 0) return;
    char copy[PATH_MAX];
    shadow_path(copy, book.names[book.count - 1].number);
    copy_file(path, copy);
}

static void remove_file(const char *path, const struct stat *status, void *context) {
    (void)status, (void)context;
    real_unlink(path);
}

void shadow_begin(void) {
    char path[PATH_MAX];
    mkdir(disk.shadow, 0700);
    // First: without names a shadow is not begun, and the folder is as it was.
    snprintf(path, sizeof path, "%s/names", disk.shadow);
    real_unlink(path);
    walk(disk.shadow, remove_file, NULL);
    walk(disk.folder, begin_file, NULL);
    write_names();
}

// --- The cut ---

typedef struct { unsigned long files, unsynced, kept, removed; } cut_report;

enum { sector = 512 };

// Takes some of the sectors that the live file has otherwise than its shadow over into the shadow.
static void keep_some(const char *shadow, const char *live, bool torn, uint64_t *random, cut_report *report) {
    int to = open_or_fail(shadow, O_RDWR), from = open(live, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        close(to);
        return;
    }
    char ours[sector], theirs[sector];
    // Now nearly all of them, now nearly none.
    uint64_t share = 1 + next_random(random) % 15;
    for (off_t at = 0, end = size_of(from); at < end; at += sector) {
        ssize_t count = pread(from, theirs, sector, at), had = pread(to, ours, sector, at);
        if (count < 0 || had < 0) disk_fail("cannot read for", shadow);
        if (count == had && memcmp(ours, theirs, (size_t)count) == 0) continue;
        report->unsynced++;
        if (!torn || next_random(random) % 16 >= share) continue;
        report->kept++;
        if (real_pwrite(to, theirs, (size_t)count, at) != count) disk_fail("cannot write", shadow);
    }
    close(from);
    close(to);
}

static void remove_if_held(const char *path, const struct stat *status, void *context) {
    (void)status;
    cut_report *report = context;
    real_unlink(path);
    report->removed++;
}

void shadow_restore(bool torn, uint64_t seed) {
    char path[PATH_MAX], line[1024];
    cut_report report = {0};
    uint64_t random = seed * 0x9e3779b97f4a7c15u | 1;
    snprintf(path, sizeof path, "%s/names", disk.shadow);
    FILE *names = fopen(path, "re");
    // The process before died while it began, and has written nothing.
    if (!names) return;
    struct { char path[PATH_MAX], shadow[PATH_MAX]; } *entries = NULL;
    unsigned count = 0;
    while (fgets(line, sizeof line, names)) {
        unsigned number;
        unsigned long long inode;
        int at;
        struct stat status;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%u %llu %n", &number, &inode, &at) != 2) disk_fail("cannot read", path);
        entries = realloc(entries, (count + 1) * sizeof *entries);
        if (!entries) disk_fail("no memory for", path);
        snprintf(entries[count].path, PATH_MAX, "%s/%s", disk.folder, line + at);
        shadow_path(entries[count].shadow, number);
        bool same = lstat(entries[count].path, &status) == 0 && status.st_ino == inode;
        if (same) keep_some(entries[count].shadow, entries[count].path, torn, &random, &report);
        count++;
    }
    fclose(names);
    walk(disk.folder, remove_if_held, &report);
    for (unsigned i = 0; i < count; i++) copy_file(entries[i].shadow, entries[i].path);
    report.files = count;
    free(entries);
    FILE *told = disk.report ? fopen(disk.report, "ae") : NULL;
    if (!told) return;
    fprintf(
        told, "%s: %lu files, %lu unsynced sectors, %lu of them kept, %lu names that were not synced\n",
        torn ? "torn" : "cut", report.files, report.unsynced, report.kept,
        report.removed > report.files ? report.removed - report.files : 0);
    fclose(told);
}
