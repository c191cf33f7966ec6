# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# The server under trial, what its process holds, and the verdict.

server_pid='' sampler_pid='' clients_pid='' mounted='' port=''
work=$(realpath "$(mktemp -d)")
trap 'clean_up' EXIT
trap 'exit 2' INT TERM

die() {
    printf 'script/trial: %s\n' "$@" >&2
    exit 2
}

# shellcheck disable=SC2317
clean_up() {
    [[ -z $sampler_pid ]] || kill "$sampler_pid" 2>/dev/null || true
    [[ -z $clients_pid ]] || kill -KILL "$clients_pid" 2>/dev/null || true
    [[ -z $server_pid ]] || kill -KILL "$server_pid" 2>/dev/null || true
    [[ -z $mounted ]] || umount -l "$mounted" || true
    rm -rf "$work"
}

build() {
    "$root/script/bootstrap"
    echo "script/trial: building in $configuration" >&2
    swift build --package-path "$root" -c "$configuration" --product mvi-server >&2
    server=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/mvi-server
    loadgen=$work/loadgen
    compile "$loadgen" "$root"/Benchmarks/loadgen/*.c "$root"/Trials/clients/*.c
}

build_disk() {
    compile "$work/faultydisk.so" -fPIC -shared -fvisibility=hidden "$root"/Trials/faultydisk/*.c \
        "$root/Benchmarks/loadgen/base.c" -ldl
}

# disk_with NAME=VALUE...: the next server has its data on such a disk (Trials/faultydisk/disk.h).
disk_with() { disk=(env LD_PRELOAD="$work/faultydisk.so" DISK_FOLDER="$data" "$@"); }

# Server and generator are one process each and inherit the limit.
need_files() {
    local needed=$1
    ulimit -n "$(ulimit -Hn)"
    [[ $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= needed)) \
        || die "each process needs $needed open files and may have $(ulimit -n); raise the limit or ask for fewer streams"
}

# start_server FLAG...: runs it with an empty data folder and waits until it is ready.
start_server() {
    new_server
    run_server "$@"
    await_ready
}

# A port and an empty data folder, for as many runs as follow.
new_server() {
    port=$(free_port) || exit 2
    data=$work/data
    rm -rf "$data"
    mkdir "$data"
    : >"$work/server.log"
}

# run_server FLAG...: with `disk` (an array) before it, and does not wait.
disk=()
run_server() {
    "${disk[@]}" "$server" --host 127.0.0.1 --port "$port" --data "$data" "$@" >>"$work/server.log" 2>&1 &
    server_pid=$!
}

is_ready() { curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$port/health/ready"; }

await_ready() {
    for _ in {1..1000}; do
        is_ready && return
        if ! kill -0 "$server_pid" 2>/dev/null; then
            tail -n 20 "$work/server.log" >&2
            server_pid=
            die "the server ended at its start (its last lines are above)"
        fi
        sleep 0.02
    done
    tail -n 20 "$work/server.log" >&2
    die "the server was not ready within 20 s (its last lines are above)"
}

# As an instant death is: nothing is written any more, nobody is told.
kill_server() {
    kill -KILL "$server_pid"
    wait "$server_pid" 2>/dev/null || true
    server_pid=
}

# It must end by itself on SIGTERM, with 0.
stop_server() {
    local code=0
    kill -TERM "$server_pid"
    for _ in {1..300}; do
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$server_pid" 2>/dev/null && fault "the server had not ended 30 s after SIGTERM"
    wait "$server_pid" || code=$?
    server_pid=
    ((code == 0)) || fault "the server ended with code $code after SIGTERM; its last lines: $(tail -n 5 "$work/server.log")"
}

# --- What the process holds -------------------------------------------------------------------------------------------
status_of() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$server_pid/status"; }
rss_kib() { status_of VmRSS; }
threads() { status_of Threads; }
files() { find "/proc/$server_pid/fd" -mindepth 1 -maxdepth 1 | wc -l; }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$server_pid/stat"; }

# A line each second: unix time, RSS in KiB, open files, processor ticks.
start_sampling() {
    : >"$work/samples"
    (
        trap - EXIT
        while kill -0 "$server_pid" 2>/dev/null; do
            echo "$(date +%s.%N) $(rss_kib) $(files) $(cpu_ticks)" >>"$work/samples"
            sleep 1
        done
    ) 2>/dev/null &
    sampler_pid=$!
}

stop_sampling() {
    kill "$sampler_pid" 2>/dev/null || true
    wait "$sampler_pid" 2>/dev/null || true
    sampler_pid=
}

# mean_rss_kib FROM TO, cores FROM TO: over the samples between two times. most COLUMN: over all of them.
mean_rss_kib() {
    awk -v from="$1" -v to="$2" '$1 >= from && $1 <= to { sum += $2; n++ } END { print n ? int(sum / n) : 0 }' \
        "$work/samples"
}
cores() {
    awk -v from="$1" -v to="$2" -v hz="$(getconf CLK_TCK)" '
        $1 >= from && $1 <= to { if (!n++) { first = $4; since = $1 } last = $4; until = $1 }
        END { printf "%.2f", (until > since ? (last - first) / hz / (until - since) : 0) }' "$work/samples"
}
rss_over_time() {
    awk -v from="$1" -v to="$2" '
        $1 >= from && $1 <= to && $1 - last >= 30 { last = $1; line = line sprintf("%s%.1f", line ? ", " : "", $2 / 1024) }
        END { print line }' "$work/samples"
}
most() { awk -v column="$1" '$column > most { most = $column } END { print most + 0 }' "$work/samples"; }

# --- Findings ---------------------------------------------------------------------------------------------------------
faults=0
fault() {
    echo "FAULT: $*"
    faults=$((faults + 1))
}

# reported NAME: a figure of the generator's report.
reported() { sed -nE "s/.*\"$1\":([0-9.]+|true|false).*/\1/p" "$work/report.json"; }

# run_load SECONDS ARGUMENT...: the generator, for at most so long.
run_load() {
    local limit=$1 code=0
    shift
    timeout "$limit" "$loadgen" "$@" --port "$port" --json "$work/report.json" || code=$?
    case $code in
    0) ;;
    1) fault "the generator found the faults above" ;;
    *) fault "the generator could not finish (code $code); the server's last lines: $(tail -n 5 "$work/server.log")" ;;
    esac
    return "$((code > 1))"
}

verdict() {
    stop_server
    verdict_of "$1"
}

# verdict_of TRIAL: where the server has been stopped already.
verdict_of() {
    if ((faults > 0)); then
        echo "trial $1: FAILED ($faults faults)"
        return 1
    fi
    echo "trial $1: everything held"
}
