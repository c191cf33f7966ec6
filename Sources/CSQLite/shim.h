#pragma once

#include <sqlite3.h>

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
