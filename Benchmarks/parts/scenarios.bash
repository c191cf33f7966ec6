# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# What is measured. Each result is one file: SCENARIO.VARIANT.SERVER.ROUND.json

# In a closed loop two intents of one session can be under way at once, and a stream may then show the newer state only:
# that is allowed there, and in no other scenario.

# in_turns SCENARIO VARIANT "SERVER..." MODE ARGUMENT...: every server once, then every server again.
in_turns() {
    local scenario=$1 variant=$2 servers=$3 round server file code
    shift 3
    for ((round = 1; round <= rounds; round++)); do
        for server in $servers; do
            file=$results/$scenario.$variant.$server.$round.json
            rm -f "$file"
            start_server "$server"
            code=0
            local more=()
            [[ $server != nchan ]] || more=(--nchan)
            timeout 300 "${on_generator_core[@]}" "$work/loadgen" "$@" "${more[@]}" --port "$port" --pid "$server_pid" \
                --json "$file" >"$work/out" 2>"$work/err" || code=$?
            if ((code > 0)); then
                {
                    fault "$scenario $variant $server, round $round (code $code):"
                    grep -hE 'violation|loadgen:|FAILED|skipped' "$work/err" "$work/out" || true
                    tail -n 3 "$work/server.log"
                } >&2
            fi
            printf '%-10s %-6s %-12s %s  %s\n' "$scenario" "$variant" "$server" "$round" \
                "$(awk '/PerSecond/ { printf "%s %.0f  ", $1, $2 } /^cpuPer/ { printf "%s %.2f us", $1, $2 }' "$work/out")"
            # On SIGTERM nchan frees something twice and aborts.
            end_server "$([[ $server == nchan ]] && echo KILL || echo TERM)" || true
        done
    done
}

ours="limit mvi mvi-sqlite hummingbird node"
timing() { echo "--seconds $seconds --warmup $warmup"; }

# shellcheck disable=SC2046  # timing is several words
{
    scenario_closed() {
        local streams
        for streams in 100 1000 $(or '' 10000 2000); do
            in_turns closed "$streams" "$ours" load --rate 0 --connections 64 --streams "$streams" \
                --may-conflate $(timing)
        done
    }

    scenario_steady() {
        in_turns steady all "$ours" load --rate 2000 --connections 64 --streams "$(or '' 10000 1000)" $(timing)
    }

    scenario_fanout() {
        in_turns fanout all "limit mvi hummingbird node nchan" fanout --streams "$(or '' 10000 1000)" $(timing)
    }

    scenario_idle() {
        local streams
        for streams in 100 $(or '' 18000 2000); do
            in_turns idle "$streams" "$ours" load --rate 0 --connections 64 --streams "$streams" --active 100 \
                --may-conflate $(timing)
        done
    }

    scenario_storm() {
        in_turns storm all "$ours" storm --streams "$(or '' 10000 1000)"
    }

    scenario_size() {
        local bytes
        for bytes in 200 4096 65536; do
            in_turns size "$bytes" "limit mvi-sized hummingbird node" load --rate 0 --connections 64 --streams 100 \
                --feature "sized:$bytes" --may-conflate $(timing)
        done
    }

    scenario_multiplex() {
        in_turns multiplex all "limit mvi-sized hummingbird node" load --rate 0 --connections 64 \
            --streams "$(or '' 1000 200)" --feature sized:200 --features 10 $(timing)
    }
}

write_report() {
    python3 "$root/Benchmarks/report/report.py" "$results" "$(or '' "$root/Benchmarks" "$results")"
}
