# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Many reminders come due while no server runs: how long the next one takes to fire them all, each once, what it holds
# meanwhile, and how long intents beside them take.

build_reminding() {
    "$root/script/bootstrap"
    swift build --package-path "$root" -c "$configuration" --product trial-server >&2
    trial_server=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/trial-server
}

run_reminding() {
    launch env MVI_HOST=127.0.0.1 MVI_PORT="$port" MVI_DATA="$data" MVI_LOG_LEVEL=warning "$trial_server" reminding
    await_ready
}

fired() { curl --silent --max-time 10 "http://127.0.0.1:$port/fired"; }

trial_reminders() {
    local count=$1 due start now all rss
    build_reminding
    new_server
    run_reminding
    # Later than it takes to set them.
    due=$(($(date +%s) + 20 + count / 1000))
    python3 "$root/Trials/clients/reminders.py" set "$port" "$count" "$due" || die "the reminders could not be set"
    (($(date +%s) < due)) || die "setting the reminders took too long"
    (($(fired) == 0)) || fault "reminders fired before their time"
    end_server KILL || true
    while (($(date +%s) <= due)); do sleep 0.2; done
    echo "reminders                $count, all due before the start"

    run_reminding
    start=$(now_ms)
    # The first number is how many intents there were.
    python3 "$root/Trials/clients/reminders.py" tap "$port" 5 >"$work/taps" &
    clients_pid=$!
    rss=0
    while :; do
        all=$(fired) now=$(now_ms)
        ((rss > $(rss_kib))) || rss=$(rss_kib)
        ((all < count)) || break
        ((now - start < 600000)) || { fault "after 10 min only $all of $count have fired" && break; }
        sleep 0.1
    done
    echo "all fired after          $(seconds_of_ms $((now - start))) s"
    echo "memory at most           $((rss / 1024)) MiB"
    wait "$clients_pid" || fault "intents beside the reminders failed"
    clients_pid=
    echo "intents beside them      $(awk '{ print $1 " in 5 s, median " $2 " ms, p99 " $3 " ms" }' "$work/taps")"
    python3 "$root/Trials/clients/reminders.py" tap "$port" 5 | awk '{ print "the same afterwards      median " $2 " ms, p99 " $3 " ms" }'

    # Each once, also after another death.
    end_server KILL || true
    run_reminding
    sleep 2
    (($(fired) == 0)) || fault "$(fired) reminders fired again after a restart"
    stop_server
}
