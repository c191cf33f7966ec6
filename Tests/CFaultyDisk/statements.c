#include "faulty_disk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *folder;
static char *texts[MOST];
static long count;

static int note(unsigned kind, void *context, void *statement, void *text) {
    (void)kind, (void)context;
    const char *file = sqlite3_db_filename(sqlite3_db_handle(statement), "main");
    if (!file || strncmp(file, folder, strlen(folder)) != 0) return 0;
    pthread_mutex_lock(&lock);
    long index = 0;
    while (index < count && strcmp(texts[index], text) != 0) index++;
    if (index == count && count < MOST) texts[count++] = strdup(text);
    pthread_mutex_unlock(&lock);
    return 0;
}

// Called for each new connection.
static int trace(sqlite3 *connection, char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, note, NULL);
}

int faulty_disk_note_statements(const char *name) {
    folder = strdup(name);
    return sqlite3_auto_extension((void (*)(void))trace);
}

const char *faulty_disk_noted_statement(long index) {
    pthread_mutex_lock(&lock);
    const char *text = index < count ? texts[index] : NULL;
    pthread_mutex_unlock(&lock);
    return text;
}
