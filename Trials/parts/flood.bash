# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # the parts of script/trial share their variables; awk has its own
# One address floods the server, with its settings as they are by default, and then eight; clients of another address must
# not suffer.

# The bounds, from what was measured: 80 MB of memory, 20 MB of data after two minutes. Streams that are not read, and
# bodies, may hold more at times.
flood_rss_mib=600 flood_data_mib=512
# What the flood may add to the p99 of the others on two cores, which flood, clients and server share: 250 ms where
# nothing else runs. The phase without the flood shows what the machine does by itself.
flood_p99_ms=250
# What a new client of another address waits at most, at the 99th percentile.
flood_newcomer_ms=500
flood_flags=() guest_flags=() flood_networks=

# Asks for both kinds of health on the admin port each second; a line for each question: kind, code, milliseconds.
start_asking_health() {
    : >"$work/health"
    (
        trap - EXIT
        while kill -0 "$server_pid" 2>/dev/null; do
            began=$(now_ms) code=0
            curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$admin_port/health/live" || code=$?
            echo "live $code $(($(now_ms) - began))" >>"$work/health"
            began=$(now_ms) code=0
            timeout 2 "$server" health --port "$port" --admin-port "$admin_port" >/dev/null 2>&1 || code=$?
            echo "command $code $(($(now_ms) - began)) $(du -sk "$data" | cut -f 1)" >>"$work/health"
            sleep 1
        done
    ) 2>/dev/null &
    health_pid=$!
}

stop_asking_health() {
    kill "$health_pid" 2>/dev/null || true
    wait "$health_pid" 2>/dev/null || true
    health_pid=
}

# of_health PROGRAM: awk over the questions.
of_health() { awk "$1" "$work/health"; }

# be_guests SECONDS NAME: the clients of the other address, and their figures. Leaves `p99`, the greater of both, and
# `newcomer_p99`, that of new clients' sessions and streams.
be_guests() {
    local code=0 event
    timeout $(($1 + 120)) "$work/loadgen" guests --seconds "$1" --port "$port" --pid "$server_pid" \
        ${guest_flags[@]+"${guest_flags[@]}"} --json "$work/report.json" >"$work/guests.out" 2>"$work/guests.log" || code=$?
    ((code == 0)) || cat "$work/guests.log" "$work/guests.out"
    judge "$code"
    p99=$(answer_ms p99)
    # What a new client waits for its session and its first state, in milliseconds.
    newcomer_p99=$(awk '/^newSessionP99|^newStreamP99/ { if ($2 > most) most = $2 } END { print most }' "$work/guests.out")
    event=$(sed -nE 's/.*"eventMs":\{[^}]*"p99":([0-9.]+).*/\1/p' "$work/report.json")
    awk -v name="$2" '
        /^successPercent/ { success = $2 } /^requests/ { requests = $2 } /^serverCores/ { cores = $2 }
        /^newSession/ || /^newStream/ { value[$1] = $2 }
        /^answerMs/ || /^eventMs/ { value[$1 50] = $3; value[$1 99] = $7; value[$1 "max"] = $11 }
        END {
            printf "%s: %s %% of %s requests, server %.2f cores\n", name, success, requests, cores
            printf "    answer               p50 %.1f ms, p99 %.1f ms, at most %.1f ms\n",
                value["answerMs" 50], value["answerMs" 99], value["answerMs" "max"]
            printf "    event                p50 %.1f ms, p99 %.1f ms, at most %.1f ms\n",
                value["eventMs" 50], value["eventMs" 99], value["eventMs" "max"]
            printf "    new session          p50 %.1f ms, p99 %.1f ms\n", value["newSessionP50"], value["newSessionP99"]
            printf "    new stream           p50 %.1f ms, p99 %.1f ms\n", value["newStreamP50"], value["newStreamP99"]
        }' "$work/guests.out"
    if holds "${event:-0} > ${p99:-0}"; then p99=$event; fi
}

# trial_flood SECONDS [PARTS]: from one address with the settings as they are, then from eight that together take every
# total, which are lowered so far.
trial_flood() {
    echo 'from one address'
    flood "$@"
    echo 'from eight addresses'
    flood_flags=(--max-connections 1024 --max-connections-per-address 256 --max-streams 1200
        --max-streams-per-address 300 --max-kept-sessions 800 --max-waits 64 --session-rate 100)
    flood_networks=yes
    # Fewer than an equal share of each total: a network that has more is not a new one.
    guest_flags=(--clients 30 --connections 30 --rate 120)
    flood "$@"
}

# flood SECONDS [PARTS]
flood() {
    local seconds=$1 parts=${2:-} quiet p99 began failed cpu most_kib code=0
    need_files 9000
    new_server
    free_port admin_port
    # The quotas that other trials turn off are what is tried here.
    launch env -u MVI_INTENT_RATE -u MVI_SESSION_RATE -u MVI_MAX_CONNECTIONS_PER_ADDRESS -u MVI_MAX_STREAMS_PER_ADDRESS \
        "$server" --host 127.0.0.1 --port "$port" --admin-port "$admin_port" --data "$data" --log-level warning \
        ${flood_flags[@]+"${flood_flags[@]}"}
    await_ready
    be_guests $((seconds >= 20 ? seconds / 4 : 5)) 'without the flood'
    quiet=$p99

    start_sampling
    start_asking_health
    "$work/loadgen" flood --port "$port" --seconds "$seconds" ${flood_networks:+--networks} ${parts:+--parts "$parts"} \
        >"$work/flood.out" 2>"$work/flood.log" &
    clients_pid=$!
    # Until it has the sessions that it uses.
    sleep 2
    be_guests "$seconds" 'with the flood'
    stop_asking_health
    stop_sampling
    most_kib=$(status_of VmHWM)
    cpu=$(awk '{ print $14 + $15 }' "/proc/$server_pid/stat")

    # It goes on while the server stops.
    began=$(now_ms)
    end_server TERM || code=$?
    echo "stop after               $(($(now_ms) - began)) ms, code $code"
    ((code == 0)) || fault "the server ended with code $code after SIGTERM; its last lines: $(tail -n 5 "$work/server.log")"
    (($(now_ms) - began <= 10000)) || fault "the server was not gone within its grace of 10 s"
    kill -TERM "$clients_pid" 2>/dev/null || true
    wait "$clients_pid" || fault "the flood ended early: $(cat "$work/flood.log")"
    clients_pid=
    cat "$work/flood.out"

    echo "server RSS               $((most_kib / 1024)) MiB at most"
    echo "server files             $(most 3) at most"
    awk -v ticks="$cpu" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "server CPU               %.1f s\n", ticks / hz }'
    of_health '$4 > most { most = $4 } END { printf "data folder              %.1f MiB at most\n", most / 1024 }'
    of_health '$2 == 0 { n[$1]++; if ($3 > most[$1]) most[$1] = $3 } END {
        printf "health                   live %d times, %d ms at most; the command %d times, %d ms at most\n",
            n["live"], most["live"], n["command"], most["command"] }'
    failed=$(of_health '$2 != 0' | wc -l)
    ((failed == 0)) || fault "health failed $failed times: $(of_health '$2 != 0' | sort | uniq -c | head -n 5)"
    (($(wc -l <"$work/health") >= seconds / 4)) || fault "health was asked $(wc -l <"$work/health") times only"
    ((most_kib <= flood_rss_mib * 1024)) || fault "more than $flood_rss_mib MiB of memory"
    of_health "\$4 > $flood_data_mib * 1024 { exit 1 }" || fault "the data folder grew beyond $flood_data_mib MiB"
    holds "${p99:-1e9} <= ${quiet:-0} + $flood_p99_ms" \
        || fault "the p99 of the others went from $quiet to $p99 ms, more than $flood_p99_ms ms up"
    holds "${newcomer_p99:-1e9} <= $flood_newcomer_ms" \
        || fault "the p99 of new clients was $newcomer_p99 ms, more than $flood_newcomer_ms"
}
