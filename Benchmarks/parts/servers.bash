# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# The servers: how each is built, started and stopped.

server_pid='' port='' faults=0
work=$(realpath "$(mktemp -d)")
trap 'clean_up' EXIT
trap 'exit 2' INT TERM

die_with() {
    local code=$1
    shift
    printf 'script/bench: %s\n' "$@" >&2
    exit "$code"
}
die() { die_with 2 "$@"; }

# shellcheck disable=SC2317
clean_up() {
    [[ -z $server_pid ]] || kill -KILL "$server_pid" 2>/dev/null || true
    rm -rf "$work"
}

peers=$root/Benchmarks/peers

build() {
    echo "script/bench: building in release" >&2
    local product
    # As the image is built, with Swift's libraries inside; the peer likewise.
    local released=(-c release --static-swift-stdlib --package-path "$root" --scratch-path "$root/.build-bench/swift")
    local peer=(-c release --static-swift-stdlib --package-path "$peers/hummingbird2")
    for product in mvi-server sized-server; do
        swift build "${released[@]}" --product "$product" >&2
    done
    tools=$work
    compile "$tools/loadgen" "$root"/Benchmarks/{loadgen,modes}/*.c
    compile "$tools/limit" "$root"/Benchmarks/limit/*.c "$root"/Benchmarks/loadgen/{base,json}.c -lmicrohttpd
    swift build "${peer[@]}" >&2
    bin=$(swift build "${released[@]}" --show-bin-path)
    hummingbird=$(swift build "${peer[@]}" --show-bin-path)/hummingbird-peer
    nchan_module=$(find /usr/lib -name ngx_nchan_module.so 2>/dev/null | head -n 1 || true)
    [[ -n $nchan_module ]] || die "no ngx_nchan_module.so below /usr/lib; script/bootstrap bench installs libnginx-mod-nchan"
    ulimit -n "$(ulimit -Hn)"
}

# The limits that a scenario goes beyond; all else is as it is by default.
limits=(--max-sessions 40000 --max-streams 19000 --max-streams-per-session 12000 --max-connections 19500)

on_server_core=() on_generator_core=()
if [[ ${BENCH_PIN:-no} == yes ]]; then
    on_server_core=(taskset -c 0) on_generator_core=(taskset -c 1)
fi

# start_server NAME: runs it and waits until it is ready.
start_server() {
    local command=()
    stop_signal=TERM
    port=$(free_port) || exit 2
    rm -rf "$work/data"
    mkdir "$work/data"
    case $1 in
    mvi) command=("$bin/mvi-server" --port "$port" --journal memory --data "$work/data" "${limits[@]}") ;;
    mvi-sqlite) command=("$bin/mvi-server" --port "$port" --data "$work/data" "${limits[@]}") ;;
    mvi-sized)
        command=(
            env MVI_PORT="$port" MVI_JOURNAL=memory MVI_DATA="$work/data" MVI_MAX_SESSIONS=40000 MVI_MAX_STREAMS=19000
            MVI_MAX_CONNECTIONS=19500 "$bin/sized-server"
        )
        ;;
    limit) command=("$tools/limit" "$port") ;;
    hummingbird) command=("$hummingbird" "$port") ;;
    node) command=(node "$peers/node/peer.js" "$port") ;;
    nchan)
        # On SIGTERM this module frees something twice and aborts.
        stop_signal=KILL
        sed "s|PORT|$port|; s|FOLDER|$work/data|; s|/usr/lib/nginx/modules/ngx_nchan_module.so|$nchan_module|" \
            "$peers/nginx/nchan.conf" >"$work/data/nginx.conf"
        command=(nginx -e stderr -p "$work/data" -c "$work/data/nginx.conf")
        ;;
    esac
    "${on_server_core[@]}" "${command[@]}" >"$work/server.log" 2>&1 &
    server_pid=$!
    for _ in {1..1000}; do
        curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$port/health/ready" && return
        if ! kill -0 "$server_pid" 2>/dev/null; then
            server_pid=
            tail -n 20 "$work/server.log" >&2
            die "$1 ended at its start (its last lines are above)"
        fi
        sleep 0.02
    done
    die "$1 was not ready within 20 s"
}

stop_server() {
    kill -"$stop_signal" "$server_pid" 2>/dev/null || true
    for _ in {1..100}; do
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.05
    done
    kill -KILL "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
    server_pid=
}

describe_machine() {
    local cpu
    cpu=$(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)
    jq_string() { sed 's/\\/\\\\/g; s/"/\\"/g' <<<"$1" | tr -d '\n'; }
    printf '{"cpu":"%s","cores":%d,"memoryGiB":%d,"kernel":"%s"' "$(jq_string "$cpu")" "$(nproc)" \
        "$(($(awk '/MemTotal/ { print $2 }' /proc/meminfo) >> 20))" "$(uname -r)"
    printf ',"system":"%s"' "$(jq_string "$(. /etc/os-release && echo "$PRETTY_NAME")")"
    printf ',"swift":"%s"' "$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/\1/p' | head -n 1)"
    printf ',"libmicrohttpd":"%s"' "$(pkg-config --modversion libmicrohttpd)"
    printf ',"sqlite":"%s","node":"%s"' "$(pkg-config --modversion sqlite3)" "$(node --version)"
    printf ',"nginx":"%s"' "$(nginx -v 2>&1 | sed 's|.*/||')"
    printf ',"nchan":"%s"' "$(dpkg-query -W -f '${Version}' libnginx-mod-nchan 2>/dev/null || true)"
    printf ',"hummingbird":"%s"' "$(sed -n '/"identity" : "hummingbird"/,/}/s/.*"version" : "\(.*\)"/\1/p' \
        "$peers/hummingbird2/Package.resolved" 2>/dev/null | head -n 1)"
    printf ',"commit":"%s","date":"%s"' "$(git -C "$root" rev-parse --short HEAD)" "$(date -u +%Y-%m-%dT%H:%MZ)"
    printf ',"pinned":%s,"short":%s,"rounds":%d,"seconds":%d,"load":"%s"}\n' \
        "$([[ ${BENCH_PIN:-no} == yes ]] && echo true || echo false)" "$([[ -n $short ]] && echo true || echo false)" \
        "$rounds" "$seconds" "$(cut -d' ' -f1 /proc/loadavg)"
}
