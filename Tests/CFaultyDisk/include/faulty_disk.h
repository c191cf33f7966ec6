#pragma once

// A layer between SQLite and the disk whose writes and syncs fail when a test says so; https://sqlite.org/vfs.html.
// It becomes the default of the process, and does nothing but pass calls on for files whose path does not begin with
// the folder that was last named.

/// Puts the layer in. Later calls do nothing. Returns SQLite's result code.
int faulty_disk_install(void);

/// What fails.
enum faulty_disk_fault {
    FAULTY_DISK_NONE = 0,
    /// The sync of a log, after all was written: what it holds is there, and nobody knows for how long.
    FAULTY_DISK_LOG_SYNC = 1,
    /// Each write, as on a full disk.
    FAULTY_DISK_FULL = 2,
    /// Each write, as on a broken disk.
    FAULTY_DISK_WRITE = 3,
    /// Each read of the database.
    FAULTY_DISK_READ = 4,
    /// The sync of a log once, after all was written; from then on each write.
    FAULTY_DISK_LOG_SYNC_ONCE = 5,
};

/// What fails from now on for files in `folder`; one folder at a time. Any thread.
void faulty_disk_set(const char *_Nonnull folder, int fault);

/// How many calls failed since `faulty_disk_set`.
int faulty_disk_failures(void);

/// Notes the text of each statement that runs on databases in a folder or below, on connections that are opened from
/// now on; https://sqlite.org/c3ref/trace_v2.html. One folder in a process. Returns SQLite's result code.
int faulty_disk_note_statements(const char *_Nonnull folder);

/// The different texts in the order of their first runs; NULL after the last one.
const char *_Nullable faulty_disk_noted_statement(long index);
