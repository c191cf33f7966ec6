# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# A store that many sessions share, beside one session with as many streams, and beside sessions with a store each.

# The scenarios: the server, and how many sessions have the streams.
shared_servers=(mvi-sum mvi-shared mvi-ruled)

run_shared() {
    local streams server code round sessions
    streams=$(or '' 10000 1000) results=$work/shared
    mkdir "$results"
    for ((round = 1; round <= rounds; round++)); do
        for server in "${shared_servers[@]}"; do
            sessions=$streams code=0
            [[ $server != mvi-sum ]] || sessions=1
            with_load "$server" "$results/$server.$round.json" fanout --feature tally --streams "$streams" \
                --sessions "$sessions" --seconds "$seconds" --warmup "$warmup" || code=$?
            ((code == 0)) || fault "$server, round $round: $(grep -hE 'violation|loadgen:|FAILED' "$work/err" "$work/out" | head -n 3)" >&2
        done
        # The memory of as many sessions with a stream and a store each.
        code=0
        with_load mvi-sum "$results/own.$round.json" load --feature tally --streams "$streams" --rate 100 --connections 16 \
            --active 100 --seconds 1 --warmup 0 || code=$?
        ((code == 0)) || fault "own stores, round $round: $(grep -hE 'violation|loadgen:|FAILED' "$work/err" "$work/out" | head -n 3)" >&2
    done
    python3 "$root/Benchmarks/report/shared.py" "$results" "$streams"
}

run_audiences() {
    python3 "$root/Benchmarks/report/audiences.py" "$bin/trial-server" --rounds "$rounds" --seconds "$seconds"
}
