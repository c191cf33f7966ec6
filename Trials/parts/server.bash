# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # the parts of script/trial share their variables; awk has its own
# The server under trial, its load, and what its process holds.

build() {
    "$root/script/bootstrap"
    if [[ -n ${MVI_SERVER:-} ]]; then
        server=$MVI_SERVER
        echo "script/trial: the server is $server" >&2
    else
        echo "script/trial: building in $configuration" >&2
        swift build --package-path "$root" -c "$configuration" --product mvi-server >&2
        server=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/mvi-server
    fi
    compile "$work/loadgen" "$root"/Benchmarks/loadgen/*.c "$root"/Trials/clients/*.c
    compile "$work/faultydisk.so" -fPIC -shared -fvisibility=hidden "$root"/Trials/faultydisk/*.c \
        "$root/Benchmarks/loadgen/base.c" -ldl
}

# disk_with NAME=VALUE...: the next server has its data on such a disk (Trials/faultydisk/disk.h).
disk=()
disk_with() { disk=(env LD_PRELOAD="$work/faultydisk.so" DISK_FOLDER="$data" "$@"); }

# Server and generator are one process each and inherit the limit.
need_files() {
    local needed=$1
    ulimit -n "$(ulimit -Hn)"
    [[ $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= needed)) \
        || die "each process needs $needed open files and may have $(ulimit -n); raise the limit or ask for fewer streams"
}

# run_server FLAG...: on the port and the data that there are; does not wait.
run_server() { launch "${disk[@]}" "$server" --host 127.0.0.1 --port "$port" --data "$data" "$@"; }

# start_server FLAG...: with an empty data folder, until it is ready.
start_server() {
    new_server
    run_server "$@"
    await_ready
}

# It must end by itself on SIGTERM, with 0.
stop_server() {
    local code=0
    end_server TERM || code=$?
    ((code == 0)) || fault "the server ended with code $code after SIGTERM (137: not within 30 s); its last lines: $(tail -n 5 "$work/server.log")"
}

# --- What the process holds -------------------------------------------------------------------------------------------
status_of() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$server_pid/status"; }
rss_kib() { status_of VmRSS; }
files() { find "/proc/$server_pid/fd" -mindepth 1 -maxdepth 1 | wc -l; }

# A line each second: unix time, RSS in KiB, open files.
start_sampling() {
    : >"$work/samples"
    (
        trap - EXIT
        while kill -0 "$server_pid" 2>/dev/null; do
            echo "$(date +%s.%N) $(rss_kib) $(files)" >>"$work/samples"
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

# over FROM TO PROGRAM: awk over the samples between two times. most COLUMN: over all of them.
over() { awk -v from="$1" -v to="$2" "\$1 >= from && \$1 <= to $3" "$work/samples"; }
mean_rss_kib() { over "$1" "$2" '{ sum += $2; n++ } END { print n ? int(sum / n) : 0 }'; }
most() { awk -v column="$1" '$column > most { most = $column } END { print most + 0 }' "$work/samples"; }

# --- The load ---------------------------------------------------------------------------------------------------------
# reported NAME: a figure of the generator's report. answer_ms QUANTILE.
reported() { sed -nE "s/.*\"$1\":([0-9.]+|true|false).*/\1/p" "$work/report.json"; }
answer_ms() { sed -nE "s/.*\"answerMs\":\{[^}]*\"$1\":([0-9.]+).*/\1/p" "$work/report.json"; }

# judge CODE: what became of the generator.
judge() {
    case $1 in
    0) ;;
    1) fault "the generator found the faults above" ;;
    *) fault "the generator could not finish (code $1); the server's last lines: $(tail -n 5 "$work/server.log")" ;;
    esac
}

# run_load SECONDS ARGUMENT...: the generator, for at most so long; fails if it could not finish. quiet_load: shows what
# it says only if there were faults.
run_load() {
    local limit=$1 code=0
    shift
    timeout "$limit" "$work/loadgen" "$@" --port "$port" --pid "$server_pid" --json "$work/report.json" || code=$?
    judge "$code"
    return "$((code > 1))"
}
quiet_load() {
    local before=$faults
    run_load "$@" >"$work/load.out" || true
    ((faults == before)) || cat "$work/load.out"
}

# --- Figures ----------------------------------------------------------------------------------------------------------
# holds CONDITION: with numbers that may have fractions.
holds() { awk "BEGIN { exit !($1) }"; }
median() { tr ' ' '\n' <<<"$*" | sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
seconds_of_ms() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }
now_ms() { echo "$((${EPOCHREALTIME/[.,]/} / 1000))"; }
