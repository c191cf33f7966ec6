# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Trials of a disk that is slow, and of one that is full or fails.

# sync_ms: the median of the syncs' times.
sync_ms() { awk -v ns="$(median "$(cat "$work/syncs")")" 'BEGIN { printf "%.3f", ns / 1e6 }'; }

trial_slow_disk() {
    local seconds=$1 added sync p50 p99 rate
    for added in 0 2000; do
        new_server
        : >"$work/syncs"
        disk_with DISK_SYNC_TIMES="$work/syncs" DISK_SYNC_DELAY_US="$added"
        run_server
        await_ready
        # 1,000 intents a second over 200 sessions with a stream each.
        quiet_load $((seconds + 120)) load --streams 200 --connections 256 --rate 1000 --seconds "$seconds" --may-conflate
        disk=()
        stop_server
        sync=$(sync_ms) p50=$(answer_ms p50) p99=$(answer_ms p99) rate=$(reported intentsPerSecond)
        echo "- each sync $((added / 1000)) ms longer"
        echo "a sync                   $sync ms (median of $(wc -l <"$work/syncs"))"
        echo "POST to answer           p50 $p50 ms, p99 $p99 ms"
        awk "BEGIN { if ($sync > 0) printf \"in syncs                 p50 %.2f, p99 %.2f\n\", $p50 / $sync, $p99 / $sync }"
        echo "throughput               ${rate%.*} intents/s of 1000"
    done
    (($(wc -l <"$work/syncs") >= 20 * seconds)) || fault "the intents were not synced"
    holds "$p50 <= 3 * $sync" || fault "an answer takes more than 3 syncs"
    holds "$rate >= 980" || fault "the throughput was not held"
}

# --- Full ---

# ask METHOD PATH [BODY]: prints the status; 000 where there is no answer within 5 s.
ask() {
    curl --silent --output /dev/null --write-out '%{http_code}' --max-time 5 --request "$1" \
        --header "Authorization: Bearer $token" --header 'Content-Type: application/json' ${3:+--data "$3"} \
        "http://127.0.0.1:$port$2" || true
}
add() { ask POST /features/counter/intents '{"type":"increment"}'; }

# fill, free: what makes the disk full and what ends it.
fill() {
    case $1 in
    # A file system of its own; to the last byte.
    tmpfs) head -c 1G /dev/zero >"$data/filler" 2>/dev/null || true ;;
    calls) echo >"$work/full" ;;
    # Every write and every sync fails.
    errors) echo EIO >"$work/full" ;;
    esac
}
free() { rm -f "$data/filler" "$work/full"; }

full_once() {
    local kind=$1 hold=$2 status began before ready='' counted='' streams other=0 unready=0 asked=0
    case $kind in
    tmpfs) echo "- a file system of 48 MiB" ;;
    calls) echo "- calls that answer ENOSPC where a file would grow" ;;
    errors) echo "- calls that all answer EIO" ;;
    esac
    new_server
    if [[ $kind == tmpfs ]]; then
        mount -t tmpfs -o size=48m tmpfs "$data"
        mounted=$data
    else
        disk_with DISK_FULL="$work/full"
    fi
    run_server "${generous[@]}"
    await_ready
    start_clients --seed "$seed" --sessions 32
    token=$(curl --silent --request POST "http://127.0.0.1:$port/sessions" | sed -E 's/.*"token":"([^"]*)".*/\1/')
    [[ $(add) == 202 ]] || fault "the first intent was not accepted"
    curl --silent --no-buffer --header "Authorization: Bearer $token" "http://127.0.0.1:$port/features/counter/events" \
        >"$work/stream" &
    local stream_pid=$!
    sleep 1

    fill "$kind"
    began=$(now_ms)
    # What is free inside the files is used first.
    until status=$(add) && [[ $status != 202 ]]; do
        if (($(now_ms) - began > 20000)); then
            fault "intents are accepted for 20 s all the same"
            break
        fi
    done
    echo "trouble                  noticed after $(($(now_ms) - began)) ms"
    before=$(now_ms)
    while (($(now_ms) - before < hold)); do
        asked=$((asked + 1))
        status=$(add)
        [[ $status == 507 || $status == 503 ]] || other=$((other + 1))
        is_ready || unready=$((unready + 1))
        status=$(ask GET /features/counter/state)
        [[ $status == 200 ]] || fault "a state cannot be read meanwhile: $status"
        sleep 0.02
    done
    ((other == 0)) || fault "$other of $asked intents were answered with neither 507 nor 503 in that time"
    ((unready > 0)) || fault "readiness never failed in that time"
    echo "meanwhile                $asked intents refused and states read, $unready times not ready"

    free
    before=$(now_ms)
    while [[ -z $ready || -z $counted ]] && (($(now_ms) - before < 30000)); do
        [[ -n $counted || $(add) != 202 ]] || counted=$(($(now_ms) - before))
        [[ -n $ready ]] || ! is_ready || ready=$(($(now_ms) - before))
    done
    [[ -n $counted && -n $ready ]] || fault "30 s after the end of it it does not serve"
    echo "at the end of it         an intent accepted after ${counted:-no} ms, ready after ${ready:-no} ms"
    sleep 1
    kill -0 "$stream_pid" 2>/dev/null || fault "the stream was closed"
    kill "$stream_pid" 2>/dev/null || true
    wait "$stream_pid" 2>/dev/null || true
    finish_clients
    streams=$(reported connects)
    # 32 sessions, two streams in every fourth.
    ((${streams%.*} == 40)) || fault "streams were cut: $((${streams%.*} - 40)) came back"
    disk=()
    stop_server
    if [[ -n $mounted ]]; then
        umount "$mounted"
        mounted=''
    fi
}

trial_full() {
    # Root may mount; elsewhere the calls' answers must do.
    if ((EUID == 0)) && mkdir -p "$work/probe" && mount -t tmpfs -o size=1m tmpfs "$work/probe" 2>/dev/null; then
        umount "$work/probe"
        full_once tmpfs "$1"
    fi
    full_once calls "$1"
    full_once errors "$1"
}
