#pragma once

#include <sqlite3.h>
#include <string.h>

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift cannot import. It tells SQLite to take a copy
// before the call returns, so the caller's bytes need to live no longer than the call.

/// Binds a copy of `count` bytes of UTF-8 at `bytes`, which may hold NULs.
static inline int csqlite_bind_text_copy(
    sqlite3_stmt *_Nonnull statement, int index, const char *_Nullable bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Binds a copy of `count` bytes at `bytes`, which must not be NULL: SQLite takes NULL for the SQL value NULL.
static inline int csqlite_bind_blob_copy(
    sqlite3_stmt *_Nonnull statement, int index, const void *_Nonnull bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// sqlite3_db_config is variadic, which Swift cannot call.

/// Switches triggers and views off, and functions and tables that only the program itself may use in a schema.
static inline int csqlite_distrust_schema(sqlite3 *_Nonnull connection) {
    int result = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
    if (result == SQLITE_OK) result = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
    if (result == SQLITE_OK) result = sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    return result;
}

/// Whether closing the last connection copies the write-ahead log into the database and removes it.
static inline int csqlite_set_checkpoint_on_close(sqlite3 *_Nonnull connection, int does) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !does, (int *)0);
}

// When SQLite moves rows between pages, it leaves copies of them in the pages' unused parts, which secure_delete does not
// overwrite when the rows are deleted. They mean nothing to it, so they are zeroed where pages are written to the file.

/// The methods of a database file whose `xWrite` zeroes the unused part of each page with rows.
typedef struct {
    sqlite3_io_methods methods; // first: the file's pointer to its methods points here
    const sqlite3_io_methods *_Nonnull original;
    int page_size;
    int is_off;
    unsigned char page[65536];
} csqlite_clearing;

/// https://sqlite.org/fileformat2.html#b_tree_pages; the first page begins with the file's header.
static inline int csqlite_write_cleared(
    sqlite3_file *_Nonnull file, const void *_Nonnull bytes, int count, sqlite3_int64 offset) {
    csqlite_clearing *clearing = (csqlite_clearing *)file->pMethods;
    const unsigned char *header = (const unsigned char *)bytes + (offset == 0 ? 100 : 0);
    // Other pages begin with the number of another one: below 2^25 they cannot be taken for a page with rows. Half of that,
    // since a page may be written before the one that it names.
    if (offset / clearing->page_size >= 1 << 24) clearing->is_off = 1;
    if (!clearing->is_off && count == clearing->page_size
        && (header[0] == 2 || header[0] == 5 || header[0] == 10 || header[0] == 13)) {
        int cells = header[3] << 8 | header[4], end = header[5] << 8 | header[6];
        int start = (int)(header - (const unsigned char *)bytes) + (header[0] < 10 ? 12 : 8) + 2 * cells;
        if (end == 0) end = 65536;
        if (start < end && end <= count) {
            memcpy(clearing->page, bytes, (size_t)count);
            memset(clearing->page + start, 0, (size_t)(end - start));
            bytes = clearing->page;
        }
    }
    return clearing->original->xWrite(file, bytes, count, offset);
}

static inline int csqlite_close_clearing(sqlite3_file *_Nonnull file) {
    csqlite_clearing *clearing = (csqlite_clearing *)file->pMethods;
    file->pMethods = clearing->original;
    int result = file->pMethods->xClose(file);
    sqlite3_free(clearing);
    return result;
}

/// Has the connection's file zero unused parts until it is closed. Without `auto_vacuum`, whose pages have other types.
static inline int csqlite_clear_unused_parts(sqlite3 *_Nonnull connection, int page_size) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    int result = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result == SQLITE_OK) result = file->pMethods->xFileSize(file, &size);
    if (result != SQLITE_OK) return result;
    csqlite_clearing *clearing = (csqlite_clearing *)sqlite3_malloc(sizeof(csqlite_clearing));
    if (!clearing) return SQLITE_NOMEM;
    clearing->methods = *file->pMethods;
    clearing->methods.xWrite = csqlite_write_cleared;
    clearing->methods.xClose = csqlite_close_clearing;
    clearing->original = file->pMethods;
    clearing->page_size = page_size;
    clearing->is_off = size / page_size >= 1 << 24;
    file->pMethods = &clearing->methods;
    return SQLITE_OK;
}
