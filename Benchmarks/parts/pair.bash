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
                    --streams 10000 --may-conflate --seconds "$seconds" --warmup "$warmup" || code=$?
                ((code == 0)) || fault "$journal ${!name}, round $round: $(grep -hE 'violation|loadgen:|FAILED' "$work/err" "$work/out" | head -n 3)" >&2
            done
        done
    done
    for name in first second; do count_request "$name"; done
    python3 "$root/Benchmarks/report/pair.py" "$results" "$first" "$second"
}

# count_request NAME: instructions of a request, by the program `micro` that was built beside the server. valgrind cannot run
# the server itself, whose first thread ends.
count_request() {
    local built few many
    built=$(dirname "${!1}")/micro
    if [[ ! -x $built ]]; then
        echo "script/bench: no instructions: build micro beside ${!1}, with swift build -c release --product micro" >&2
        return
    fi
    micro=$work/micro
    strip --strip-debug -o "$micro" "$built"
    few=$(instructions request 1000) many=$(instructions request 3000)
    echo $(((many - few) / 2000)) >"$results/instructions.$1"
}
