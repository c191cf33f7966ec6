# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# States that come whole beside states that come as patches: what a stream's bytes and the server's time are.

run_deltas() {
    local results state form streams round server
    results=$work/deltas
    printf '%-8s %-12s %8s %18s %22s\n' state form streams 'bytes an intent' 'server us an intent'
    for state in order rows moves; do
        server=mvi-sized
        [[ $state != order ]] || server=mvi-demo
        for streams in 1 4; do
            rm -f "$results".*
            for ((round = 1; round <= rounds; round++)); do
                for form in whole json-patch merge-patch; do
                    start_server "$server"
                    "$root/Benchmarks/deltas/measure.py" --port "$port" --pid "$server_pid" --state "$state" \
                        --form "$form" --streams "$streams" --intents "$(or '' 1000 50)" >>"$results.$form" \
                        || fault "deltas: $state as $form over $streams streams"
                    end_server TERM || true
                done
            done
            for form in whole json-patch merge-patch; do
                printf '%-8s %-12s %8d %18s %22s\n' "$state" "$form" "$streams" \
                    "$(median bytesPerIntent "$results.$form")" "$(median cpuPerIntent "$results.$form")"
            done
        done
    done
}

# median MEMBER FILE: of the lines of JSON.
median() {
    python3 -c 'import json, statistics, sys
print(round(statistics.median(json.loads(line)[sys.argv[1]] for line in open(sys.argv[2]))))' "$1" "$2"
}
