# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# Two builds of the server in turns, so that what the machine does meanwhile strikes both.

run_pair() {
    (($# == 2)) || die "pair takes two servers, such as .build-before/release/mvi-server .build/release/mvi-server"
    local each journal name names code round
    for each; do [[ -x $each ]] || die "'$each' is no program"; done
    first=$(realpath "$1") second=$(realpath "$2")
    "$root/script/bootstrap" bench
    compile "$work/loadgen" "$root"/Benchmarks/{loadgen,modes}/*.c
    ulimit -n "$(ulimit -Hn)"
    results=$work/pair
    mkdir "$results"
    # Every second round begins with the other one: what comes second finds warmer caches.
    for ((round = 1; round <= rounds; round++)); do
        names="first second"
        ((round % 2)) || names="second first"
        for journal in memory sqlite; do
            for name in $names; do
                echo "script/bench: round $round of $rounds, $journal, ${!name}" >&2
                code=0
                with_load "$name-$journal" "$results/$journal.$name.$round.json" load --rate 0 --connections 64 \
                    --streams 1000 --may-conflate --seconds "$seconds" --warmup "$warmup" || code=$?
                ((code == 0)) || fault "$journal ${!name}, round $round: $(grep -hE 'violation|loadgen:|FAILED' "$work/err" "$work/out" | head -n 3)" >&2
            done
        done
    done
    for name in first second; do counted_load "$name"; done
    python3 "$root/Benchmarks/report/pair.py" "$results" "$first" "$second"
}

# counted_load NAME: instructions of short and long runs of that server under callgrind, for the difference.
counted_load() {
    local length
    # valgrind 3.19 gives up over debug information in forms that it does not know.
    strip --strip-debug -o "$work/stripped" "${!1}"
    for length in 2 8; do
        new_server
        # The program itself, not env: its process is the one to end.
        MVI_PORT=$port MVI_DATA=$data MVI_JOURNAL=memory SWIFT_DETERMINISTIC_HASHING=1 launch valgrind --tool=callgrind \
            --callgrind-out-file=/dev/null "$work/stripped"
        await_ready
        timeout 300 "$work/loadgen" load --rate 0 --connections 8 --streams 16 --may-conflate --seconds "$length" --warmup 0 \
            --port "$port" --pid "$server_pid" --json "$results/counted.$1.$length.json" >"$work/out" 2>"$work/err" || true
        end_server TERM || true
        sed -nE 's/.*Collected : ([0-9]+).*/\1/p' "$work/server.log" >"$results/counted.$1.$length"
    done
}
