# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# What is measured. Each result is one file: SCENARIO.VARIANT.SERVER.ROUND.json

# In a closed loop two intents of one session can be under way at once, and a stream may then show the newer state only:
# that is allowed there, and in no other scenario.

# in_turns SCENARIO VARIANT "SERVER..." COMMAND ARGUMENT...: every server once, then every server again, until the targets'
# spread is small or there were twice as many rounds. COMMAND gets the server, a file for the result, and the arguments.
in_turns() {
    local scenario=$1 variant=$2 servers=$3 command=$4 round server name code
    shift 4
    rm -f "$results/$scenario.$variant".*
    for ((round = 1; round <= $(or '' $((2 * rounds)) "$rounds"); round++)); do
        ((round <= rounds)) || is_unsteady "$scenario" "$variant" || break
        for server in $servers; do
            name=$scenario.$variant.$server.$round
            echo "$name $(busy_cores)" >>"$results/others.txt"
            code=0
            "$command" "$server" "$results/$name.json" "$@" || code=$?
            if ((code > 0)); then
                {
                    fault "$scenario $variant $server, round $round (code $code):"
                    grep -hE 'violation|loadgen:|FAILED|skipped' "$work/err" "$work/out" || true
                    tail -n 3 "$work/server.log"
                } >&2
            fi
            printf '%-10s %-6s %-18s %s  %s\n' "$scenario" "$variant" "$server" "$round" \
                "$(awk '/PerSecond/ { printf "%s %.0f  ", $1, $2 } /^cpuPer/ { printf "%s %.2f us", $1, $2 }' "$work/out")"
        done
    done
}

is_unsteady() { python3 "$root/Benchmarks/report/report.py" "$results" --unsteady "$1" "$2"; }

# What other programs take of the processors, in cores, while nothing of ours runs.
busy_cores() {
    local before
    before=$(ticks)
    sleep 0.5
    echo "$before $(ticks) $(nproc)" | awk '{ printf "%.2f\n", ($3 - $1) / ($4 - $2) * $5 }'
}

# Those that were not idle, and all.
ticks() { awk '{ for (i = 2; i <= 9; i++) all += $i; print all - $5 - $6, all; exit }' /proc/stat; }

# with_load SERVER FILE MODE ARGUMENT...
with_load() {
    local server=$1 file=$2 more=() code=0
    shift 2
    [[ $server != nchan ]] || more=(--nchan)
    start_server "$server"
    timeout 300 "${on_generator_core[@]}" "$work/loadgen" "$@" "${more[@]}" --port "$port" --pid "$server_pid" \
        --json "$file" >"$work/out" 2>"$work/err" || code=$?
    # On SIGTERM nchan frees something twice and aborts.
    end_server "$([[ $server == nchan ]] && echo KILL || echo TERM)" || true
    stop_postgres
    return "$code"
}

# alone JOURNAL FILE TASKS
alone() {
    local place=$data/journal code=0
    new_server
    if [[ $1 == postgres ]]; then
        start_postgres
        place=$database
    fi
    timeout 300 "$bin/journals" "$place" "$3" "$seconds" >"$2" 2>"$work/err" || code=$?
    tr '{,:}' '\n\n \n' <"$2" | tr -d '"' >"$work/out"
    stop_postgres
    return "$code"
}

durable="mvi-sqlite mvi-postgres hummingbird-sqlite node-sqlite node-postgres"
ours="limit mvi mvi-sqlite hummingbird node"
timing() { echo "--seconds $seconds --warmup $warmup"; }

# shellcheck disable=SC2046  # timing is several words
{
    scenario_closed() {
        local streams
        for streams in 100 1000 $(or '' 10000 2000); do
            in_turns closed "$streams" "limit mvi hummingbird node $durable" with_load load --rate 0 --connections 64 --streams "$streams" \
                --may-conflate $(timing)
        done
    }

    scenario_steady() {
        in_turns steady all "limit mvi hummingbird node $durable" with_load load --rate 2000 --connections 64 \
            --streams "$(or '' 10000 1000)" $(timing)
    }

    scenario_fanout() {
        in_turns fanout all "limit mvi hummingbird node nchan" with_load fanout --streams "$(or '' 10000 1000)" $(timing)
    }

    scenario_idle() {
        local streams
        for streams in 100 $(or '' 18000 2000); do
            in_turns idle "$streams" "$ours" with_load load --rate 0 --connections 64 --streams "$streams" --active 100 \
                --may-conflate $(timing)
        done
    }

    scenario_storm() {
        in_turns storm all "$ours" with_load storm --streams "$(or '' 8000 1000)"
    }

    scenario_size() {
        local bytes
        for bytes in 200 4096 65536; do
            in_turns size "$bytes" "limit mvi-sized hummingbird node" with_load load --rate 0 --connections 64 --streams 100 \
                --feature "sized:$bytes" --may-conflate $(timing)
        done
    }

    scenario_multiplex() {
        in_turns multiplex all "limit mvi-sized hummingbird node" with_load load --rate 0 --connections 64 \
            --streams "$(or '' 1000 200)" --feature sized:200 --features 10 $(timing)
    }

    scenario_journals() {
        local tasks
        for tasks in 64 1024; do in_turns journals "$tasks" "sqlite postgres" alone "$tasks"; done
    }
}

write_report() {
    python3 "$root/Benchmarks/report/report.py" "$results" "$(or '' "$root/Benchmarks" "$results")"
}
