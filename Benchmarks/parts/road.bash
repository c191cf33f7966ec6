# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# What one warm intent passes: a bearer token, a journal in SQLite, one node, one stream; from two runs of a debug build
# under callgrind, since nothing of it is inlined.

# traced TIMES FILE: a run with so many intents.
traced() {
    new_server
    MVI_PORT=$port MVI_JOURNAL=sqlite MVI_DATA=$data MVI_LOG_LEVEL=error SWIFT_DETERMINISTIC_HASHING=1 \
        valgrind --tool=callgrind --compress-strings=no --compress-pos=no --callgrind-out-file="$2" \
        "$micro" request "$1" >"$work/road.log" 2>&1 || die "the run failed: $(tail -n 5 "$work/road.log")"
}

run_road() {
    local binary code=0
    command -v valgrind >/dev/null || "$root/script/bootstrap" bench
    swift build --package-path "$root" --product micro >&2
    binary=$(swift build --package-path "$root" --show-bin-path)/micro
    micro=$work/micro
    # valgrind 3.19 gives up over debug information in forms that it does not know.
    strip --strip-debug -o "$micro" "$binary"
    traced 40 "$work/few"
    traced 140 "$work/many"
    python3 "$root/Benchmarks/road/road.py" "$binary" "$work/few" "$work/many" 100 "$root/Benchmarks/road/thresholds.txt" \
        ${write:+--write} ${list:+--list "$list"} || code=$?
    ((code == 0)) || fault "an intent passes more than it may (the lines above say what)"
}
