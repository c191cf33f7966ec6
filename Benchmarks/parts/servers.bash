# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# The servers: how each is built and started.

peers=$root/Benchmarks/peers

build_servers() {
    echo "script/bench: building in release" >&2
    local product
    # As the image is built, with Swift's libraries inside; the peer likewise.
    released=(-c release --static-swift-stdlib --package-path "$root" --scratch-path "$root/.build-bench/swift")
    for product in mvi-server trial-server; do
        swift build "${released[@]}" --product "$product" >&2
    done
    bin=$(swift build "${released[@]}" --show-bin-path)
}

build() {
    build_servers
    swift build "${released[@]}" --product journals >&2
    local peer=(-c release --static-swift-stdlib --package-path "$peers/hummingbird2")
    swift build "${peer[@]}" >&2
    hummingbird=$(swift build "${peer[@]}" --show-bin-path)/hummingbird-peer
    compile "$work/loadgen" "$root"/Benchmarks/{loadgen,modes}/*.c
    compile "$work/limit" "$root"/Benchmarks/limit/*.c "$root"/Benchmarks/loadgen/{base,json}.c -lmicrohttpd
    nchan_module=$(find /usr/lib -name ngx_nchan_module.so 2>/dev/null | head -n 1 || true)
    [[ -n $nchan_module ]] || die "no ngx_nchan_module.so below /usr/lib; script/bootstrap bench installs libnginx-mod-nchan"
    ulimit -n "$(ulimit -Hn)"
}

on_server_core=() on_generator_core=()
if [[ ${BENCH_PIN:-no} == yes ]]; then
    on_server_core=(taskset -c 0) on_generator_core=(taskset -c 1)
fi

# start_server NAME: runs it and waits until it is ready.
start_server() {
    new_server
    # The limits that a scenario goes beyond, and those of script/lib/servers.bash; all else is as it is by default.
    local command=(
        env MVI_PORT="$port" MVI_DATA="$data" MVI_MAX_SESSIONS=40000 MVI_MAX_STREAMS=19000
        MVI_MAX_STREAMS_PER_SESSION=12000 MVI_MAX_CONNECTIONS=19500
    )
    local node=(env NODE_PATH="$root/.build-peers/modules" node "$peers/node/peer.js")
    case $1 in
    first-* | second-*)
        local pair=${1%-*}
        command+=(MVI_JOURNAL="${1#*-}" "${!pair}")
        ;;
    mvi) command+=(MVI_JOURNAL=memory "$bin/mvi-server") ;;
    mvi-sqlite) command+=("$bin/mvi-server") ;;
    mvi-postgres)
        start_postgres
        command+=(MVI_JOURNAL="$database" "$bin/mvi-server")
        ;;
    mvi-demo) command+=(MVI_JOURNAL=memory MVI_DEMO_LATENCY=0 "$bin/mvi-server") ;;
    mvi-sized) command+=(MVI_JOURNAL=memory "$bin/trial-server" sized) ;;
    mvi-sum) command+=(MVI_JOURNAL=memory "$bin/trial-server" sum) ;;
    mvi-shared) command+=(MVI_JOURNAL=memory "$bin/trial-server" sum shared) ;;
    mvi-ruled) command+=(MVI_JOURNAL=memory "$bin/trial-server" sum ruled) ;;
    limit) command=("$work/limit" "$port") ;;
    hummingbird) command=("$hummingbird" "$port") ;;
    hummingbird-sqlite) command=("$hummingbird" "$port" "$data/peer.sqlite") ;;
    node) command=("${node[@]}" "$port") ;;
    node-sqlite) command=("${node[@]}" "$port" sqlite "$data/peer.sqlite") ;;
    node-postgres)
        start_postgres
        command=("${node[@]}" "$port" postgres "$database")
        ;;
    nchan)
        sed "s|PORT|$port|; s|FOLDER|$data|; s|/usr/lib/nginx/modules/ngx_nchan_module.so|$nchan_module|" \
            "$peers/nginx/nchan.conf" >"$data/nginx.conf"
        command=(nginx -e stderr -p "$data" -c "$data/nginx.conf")
        ;;
    esac
    launch "${on_server_core[@]}" "${command[@]}"
    await_ready
}

# A line each, name and value, for report/report.py.
describe_machine() {
    echo "cpu $(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
    echo "cores $(nproc)"
    echo "memoryGiB $(awk '/MemTotal/ { print int($2 / 1048576) }' /proc/meminfo)"
    echo "kernel $(uname -r)"
    echo "system $(. /etc/os-release && echo "$PRETTY_NAME")"
    echo "swift $(swift_version)"
    echo "libmicrohttpd $(pkg-config --modversion libmicrohttpd)"
    echo "sqlite $(pkg-config --modversion sqlite3)"
    echo "postgres $(dpkg-query -W -f '${Version}' 'postgresql-[0-9]*' 2>/dev/null || true)"
    echo "node $(node --version)"
    echo "nginx $(nginx -v 2>&1 | sed 's|.*/||')"
    echo "nchan $(dpkg-query -W -f '${Version}' libnginx-mod-nchan 2>/dev/null || true)"
    echo "hummingbird $(sed -n '/"identity" : "hummingbird"/,/}/s/.*"version" : "\(.*\)"/\1/p' \
        "$peers/hummingbird2/Package.resolved" 2>/dev/null | head -n 1)"
    echo "commit $(git -C "$root" rev-parse --short HEAD)"
    echo "date $(date -u +%Y-%m-%dT%H:%MZ)"
    echo "pinned $([[ ${BENCH_PIN:-no} == yes ]] && echo yes)"
    echo "short $short"
    echo "rounds $rounds"
    echo "seconds $seconds"
}
