# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Trials of many stored sessions, and of what the commit costs.

# --- A million sessions ---

# make_stored STORED LIVE AGE_HOURS: a data folder with so many sessions, of which the first LIVE were made by clients, who
# kept their tokens (in $work/tokens). The others are copies of the first one's rows with tokens that nobody knows, last
# seen AGE_HOURS ago: a third anonymous, a third of subjects, a third shared by a subject's devices. Whatever columns there
# are, they are copied, so this need not know the schema but for its keys and owners.
make_stored() {
    local stored=$1 live=$2 age=$3 journal=$work/data/journal.sqlite
    new_server
    run_server "${generous[@]}" --max-sessions $((stored + 1000)) --max-streams 16000
    await_ready
    quiet_load 120 load --streams "$live" --rate 1000 --seconds 1 --keep "$work/tokens"
    stop_server
    [[ -f $journal ]] || die "the server made no $journal"
    copy_sessions "$journal" $((stored - live)) "$age"
}

# copy_sessions JOURNAL COPIES AGE_HOURS
copy_sessions() {
    local journal=$1 copies=$2 age=$3 began table columns values
    began=$(now_ms)
    {
        echo 'PRAGMA synchronous = OFF; PRAGMA cache_size = -800000; BEGIN;'
        echo 'CREATE TEMP TABLE pattern AS SELECT min(key) AS key, (SELECT max(key) FROM sessions) AS last FROM sessions;'
        echo 'CREATE TEMP TABLE n (i INTEGER PRIMARY KEY);'
        echo "INSERT INTO n WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < $copies) SELECT i FROM c;"
        while read -r table; do
            # Columns with what a copy has instead.
            columns=$(query "$journal" "SELECT group_concat(name) FROM pragma_table_info('$table')")
            values=$(query "$journal" "SELECT group_concat(CASE
                WHEN name IN ('key', 'session') THEN 'pattern.last + n.i'
                WHEN name = 'token' THEN 'randomblob(32)'
                WHEN name = 'id' THEN '''copy'' || n.i'
                WHEN name = 'issuer' AND '$table' = 'sessions' THEN 'CASE WHEN n.i % 3 > 0 THEN ''trial'' END'
                WHEN name = 'subject' AND '$table' = 'sessions' THEN 'CASE WHEN n.i % 3 > 0 THEN ''person'' || n.i END'
                WHEN name = 'shared' THEN 'n.i % 3 = 2'
                WHEN name IN ('last_seen', 'time') THEN 'source.' || name || ' - ${age} * 3600000000000'
                ELSE 'source.' || name END) FROM pragma_table_info('$table')")
            echo "INSERT INTO $table ($columns) SELECT $values FROM n, pattern, $table source
                WHERE source.$([[ $table == sessions ]] && echo key || echo session) = pattern.key ORDER BY n.i;"
        done < <(
            echo sessions
            query "$journal" "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND c.name = 'session' AND m.name NOT IN ('garbage')"
        )
        echo 'COMMIT; PRAGMA wal_checkpoint(TRUNCATE);'
    } >"$work/copies.sql"
    sqlite3 -bail "$journal" <"$work/copies.sql" >/dev/null || die "the copies could not be made (its words are above)"
    printf 'made                     %d sessions in %.1f s, %d MiB\n' "$(count_sessions "$journal")" \
        "$(awk -v ms=$(($(now_ms) - began)) 'BEGIN { print ms / 1000 }')" "$(($(stat -c %s "$journal") >> 20))"
}

# Waits for whoever else looks at the file.
query() { sqlite3 -cmd '.timeout 10000' "$@"; }

count_sessions() { query "file:$1?mode=ro" 'SELECT count(*) FROM sessions'; }

# start_stored FLAG...: starts on what is stored; sets $ready_ms, $idle_kib.
start_stored() {
    local before
    before=$(now_ms)
    run_server "${generous[@]}" --max-sessions 2000000 --max-streams 16000 "$@"
    await_ready
    ready_ms=$(($(now_ms) - before))
    idle_kib=$(rss_kib)
}

# live_load LIVE SECONDS: the clients come back, open a stream each and count; sets $live_kib.
live_load() {
    start_sampling
    quiet_load $(($2 + 120)) load --streams "$1" --rate 500 --seconds "$2" --tokens "$work/tokens" --may-conflate
    stop_sampling
    live_kib=$(mean_rss_kib "$(reported startedAt)" "$(reported endedAt)")
}

trial_million() {
    local stored=$1 live=$2 seconds=$3 times=$4 size before after each life
    local -A ready used p50s p99s gone
    need_sqlite
    need_files $((live + 600))
    for size in $((live + 1)) "$stored"; do
        make_stored "$size" "$live" 0
        start_stored
        live_load "$live" "$seconds"
        ready[$size]=$ready_ms used[$size]=$live_kib
        stop_server
        awk -v stored="$size" -v live="$live" -v ready="$ready_ms" -v idle="$idle_kib" -v used="$live_kib" -v p99="$(answer_ms p99)" 'BEGIN {
            printf "%9d stored         ready after %d ms with %.1f MiB; %d of them live: %.1f MiB, POST to answer p99 %.3f ms\n",
                stored, ready, idle / 1024, live, used / 1024, p99 }'
    done
    size=$((live + 1))
    echo "for each stored session  $(((used[$stored] - used[$size]) * 1024 / stored)) bytes of memory more"
    # A table with an entry for each would take more than this; SQLite keeps 32 MiB of pages.
    ((used[$stored] - used[$size] <= 40 * 1024)) || fault "memory grows with what is stored"
    ((ready[$stored] <= ready[$size] + 1000)) || fault "the start takes longer with what is stored"

    # The lifetime of anonymous sessions goes from 24 hours to one: the same load in turns.
    make_stored "$stored" "$live" 12
    # The server looks for them every few seconds.
    seconds=$((seconds < 6 ? 12 : 2 * seconds))
    for ((each = 0; each < times; each++)); do
        for life in 24h 1h; do
            start_stored --session-ttl "$life"
            before=$(count_sessions "$data/journal.sqlite")
            live_load "$live" "$seconds"
            after=$(count_sessions "$data/journal.sqlite")
            stop_server
            p50s[$life]+=" $(answer_ms p50)" p99s[$life]+=" $(answer_ms p99)" gone[$life]+=" $((before - after))"
        done
    done
    for life in 24h 1h; do
        printf '%-24s POST to answer p50 %.3f ms, p99 %.3f ms; %d sessions gone in %d s (medians of %d)\n' \
            "$([[ $life == 1h ]] && echo "while sessions expire" || echo "beside it, without")" "$(median "${p50s[$life]# }")" \
            "$(median "${p99s[$life]# }")" "$(median "${gone[$life]# }")" "$seconds" "$times"
    done
    after=$(query "file:$data/journal.sqlite?mode=ro" 'SELECT count(*) FROM sessions WHERE subject IS NOT NULL')
    ((after >= (stored - live) * 2 / 3 - 1)) || fault "sessions of subjects expired with anonymous ones: $after are left"
    ((${gone[24h]// /+} == 0)) || fault "sessions expired before their time"
    (($(median "${gone[1h]# }") > 0)) || fault "no session expires"
    holds "$(median "${p99s[1h]# }") <= 3 * $(median "${p99s[24h]# }")" || fault "expiry slows the answers down"
}

# --- The commit ---

# closed_loop SECONDS ARGUMENT...: 64 connections, each posting again as soon as it is answered.
closed_loop() {
    local seconds=$1
    shift
    quiet_load $((seconds + 60)) load --streams 64 --connections 64 --rate 0 --seconds "$seconds" --may-conflate "$@"
}

# Where the server's processor time goes, by thread and library: the writer is the thread that is in SQLite most.
profile_sqlite() {
    local seconds=$1
    command -v perf >/dev/null || { echo "in SQLite                not measured: there is no 'perf'" && return; }
    start_server --log-level warning
    perf record -e cpu-clock -F 499 -p "$server_pid" -o "$work/perf.data" -- sleep $((seconds + 2)) >/dev/null 2>&1 &
    local perf_pid=$!
    closed_loop $((seconds + 1))
    wait "$perf_pid" || true
    # perf's "pid" is the thread's number.
    perf report -i "$work/perf.data" --stdio --sort pid,dso -F sample,pid,dso 2>/dev/null | grep -E '^ *[0-9]' | awk '
        { split($2, part, ":"); thread = part[1]; all += $1; of[thread] += $1
          if (/libsqlite3/) { library += $1; inside[thread] += $1 } }
        END {
            for (thread in inside) if (inside[thread] > most) { most = inside[thread]; writer = thread }
            if (all) printf "in SQLite                %.0f %% of the processor time in the library, %.0f %% in the writing thread with the kernel\n",
                library * 100 / all, of[writer] * 100 / all
        }'
    stop_server
}

# How much of the time the writer waits for the disk.
profile_syncs() {
    local seconds=$1
    : >"$work/syncs"
    new_server
    disk_with DISK_SYNC_TIMES="$work/syncs"
    run_server --log-level warning
    disk=()
    await_ready
    : >"$work/syncs"
    closed_loop "$seconds" --warmup 0
    awk -v seconds="$seconds" -v accepted="$(reported accepted)" -v median="$(sync_ms)" '{ sum += $1 }
        END { printf "in syncs                 %.0f %% of the time: %.0f a second of %.3f ms (median), %.1f intents each\n",
            sum / 1e9 / seconds * 100, NR / seconds, median, NR ? accepted / NR : 0 }' "$work/syncs"
    stop_server
}

trial_commit() {
    local seconds=$1 times=$2 each journal
    local -A speeds cpus p50s p99s
    need_files 600
    for ((each = 0; each < times; each++)); do
        for journal in memory sqlite; do
            start_server --log-level warning --journal "$journal"
            closed_loop "$seconds"
            speeds[$journal]+=" $(reported intentsPerSecond)" cpus[$journal]+=" $(reported cpuPerIntent)"
            p50s[$journal]+=" $(answer_ms p50)" p99s[$journal]+=" $(answer_ms p99)"
            stop_server
        done
    done
    for journal in memory sqlite; do
        printf '%-24s %.0f intents/s, %.1f µs of processor each, p50 %.3f ms, p99 %.3f ms (medians of %d)\n' "$journal" \
            "$(median "${speeds[$journal]# }")" "$(median "${cpus[$journal]# }")" "$(median "${p50s[$journal]# }")" \
            "$(median "${p99s[$journal]# }")" "$times"
    done
    awk -v memory="$(median "${speeds[memory]# }")" -v sqlite="$(median "${speeds[sqlite]# }")" \
        'BEGIN { printf "sqlite to memory         %.2f\n", memory ? sqlite / memory : 0 }'
    profile_sqlite "$seconds"
    profile_syncs "$seconds"
}
