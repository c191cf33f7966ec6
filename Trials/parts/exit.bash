# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# The server ends within its grace after SIGTERM, with 0, whatever it is kept from ending by.

exit_grace_s=3
exit_conditions=(blocked backup bodies waits streams demo)

# start_condition NAME: a server with --grace that is kept from ending so, under load.
start_condition() {
    local flags=(--grace "${exit_grace_s}s" --log-level warning) client=(--parts "$1") try
    new_server
    rm -f "$work/hang"
    : >"$work/held"
    case $1 in
    blocked)
        client+=(--feature blocking --clients 3)
        launch env MVI_HOST=127.0.0.1 MVI_PORT="$port" MVI_DATA="$data" MVI_GRACE="${exit_grace_s}s" MVI_LOG_LEVEL=warning \
            "$trial_server" blocking
        ;;
    backup) client=() && disk_with DISK_HANG="$work/hang" ;;
    # Work that is still running when its request's wait is over.
    waits) flags+=(--demo-latency 30s) ;;
    streams) client+=(--sessions 4 --clients 16 --rate 2000) ;;
    demo) flags+=(--demo-latency 1ms) ;;
    esac
    [[ $1 == blocked ]] || run_server "${flags[@]}"
    disk=()
    await_ready
    [[ $1 != demo ]] || lock_demo
    "$work/loadgen" hold --port "$port" "${client[@]}" >/dev/null 2>"$work/held" &
    clients_pid=$!
    for ((try = 0; try < 1000; try++)); do
        grep -q 'are held' "$work/held" && break
        clients_live || break
        sleep 0.02
    done
    grep -q 'are held' "$work/held" || die "nothing is held for '$1': $(cat "$work/held")"
    case $1 in
    backup)
        # Its own disk is not touched, the server's is: the backup reads while no sync returns.
        while :; do "$server" backup "$work/backup-$SRANDOM.sqlite" --data "$data" >/dev/null 2>&1; done &
        holder_pid=$!
        sleep 0.2
        touch "$work/hang"
        sleep 0.2
        ;;
    # Until their buffers are full.
    streams) sleep 1 ;;
    esac
    below 300
    sleep "$(seconds_of_ms "$chance")"
}

# Holds the write lock of the demo's database until it is killed.
lock_demo() {
    rm -f "$work/locked"
    sqlite3 "$data/demo.sqlite" 'BEGIN EXCLUSIVE;' ".shell touch '$work/locked'; exec sleep 30" &
    holder_pid=$!
    for _ in {1..200}; do
        [[ ! -e $work/locked ]] || return 0
        sleep 0.02
    done
    die "the demo's database could not be locked"
}

# await_end: the server's exit code in `code`, its milliseconds since `began` in `took`; it is killed after 15 s.
await_end() {
    local dog
    sleep 15 &
    dog=$!
    code=0
    wait -n "$server_pid" "$dog" || code=$?
    took=$(($(now_ms) - began))
    if kill -0 "$dog" 2>/dev/null; then
        kill "$dog"
    else
        kill -KILL "$server_pid"
        wait "$server_pid" || code=$?
    fi
    wait "$dog" 2>/dev/null || true
    server_pid=
}

end_condition() {
    local pid
    for pid in $clients_pid $holder_pid; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    clients_pid='' holder_pid=''
    rm -f "$work"/backup-*.sqlite*
}

# trial_exit TIMES
trial_exit() {
    local times=$1 each condition code took began value most
    local -A all
    RANDOM=$seed
    echo "seed                     $seed"
    need_sqlite
    need_files 600
    swift build --package-path "$root" -c "$configuration" --product trial-server >&2
    trial_server=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/trial-server
    for ((each = 0; each < times; each++)); do
        condition=${exit_conditions[each % ${#exit_conditions[@]}]}
        start_condition "$condition"
        clients_live || die "the load ended early: $(cat "$work/held")"
        began=$(now_ms)
        kill -TERM "$server_pid"
        await_end
        end_condition
        all[$condition]+=" $took"
        ((code == 0)) || fault "$condition: code $code after $took ms; the last lines: $(tail -n 3 "$work/server.log")"
        ((took <= exit_grace_s * 1000)) || fault "$condition: ended $took ms after SIGTERM, later than the grace"
    done
    for condition in "${exit_conditions[@]}"; do
        [[ -n ${all[$condition]:-} ]] || continue
        most=$(tr ' ' '\n' <<<"${all[$condition]# }" | sort -n | tail -n 1)
        printf '%-24s %d times, ended after %d ms (median), %d ms at most\n' "$condition" \
            "$(wc -w <<<"${all[$condition]}")" "$(median "${all[$condition]# }")" "$most"
    done
    # The second signal is not held up by what the first one waits for.
    value=''
    for ((each = 0; each < (times >= 50 ? 10 : 2); each++)); do
        start_condition blocked
        kill -TERM "$server_pid"
        # Within a second it would be part of the first one.
        sleep 1.2
        began=$(now_ms)
        kill -TERM "$server_pid"
        await_end
        end_condition
        value+=" $took"
        ((code == 1)) || fault "code $code after the second SIGTERM, not 1"
        ((took <= 500)) || fault "ended $took ms after the second SIGTERM"
    done
    printf '%-24s %d times, ended after %d ms (median), %d ms at most\n' 'second SIGTERM' "$(wc -w <<<"$value")" \
        "$(median "${value# }")" "$(tr ' ' '\n' <<<"$value" | sort -n | tail -n 1)"
}
