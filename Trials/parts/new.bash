# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# Packages of one's own, from nothing: what script/new writes is built, tested and run, and answers curl.

# timed NAME COMMAND...: runs a command and prints how long it took; a fault with its last lines if it fails.
timed() {
    local name=$1 start=$SECONDS
    shift
    if "$@" >"$work/$name.log" 2>&1; then
        printf '%-12s %4d s\n' "$name" $((SECONDS - start))
    else
        fault "$name failed: $*"
        tail -n 20 "$work/$name.log"
        return 1
    fi
}

# trial_new
trial_new() {
    local folder=$work/daily-poll pid='' port=$((RANDOM % 10000 + 20000)) state
    timed new "$root/script/new" daily-poll "$folder" --feature DailyPoll || return 0
    timed resolve swift package --package-path "$folder" resolve || return 0
    echo "packages     $(find "$folder/.build/checkouts" -mindepth 1 -maxdepth 1 | wc -l) ($(du -sm "$folder/.build/checkouts" | cut -f 1) MB)"
    timed build swift build --package-path "$folder" || return 0
    timed test swift test --package-path "$folder" || return 0
    server_pid=
    (cd "$folder" && MVI_PORT=$port exec .build/debug/daily-poll) >"$work/server.log" 2>&1 &
    server_pid=$!
    # shellcheck disable=SC2016
    timed start timeout 30 bash -c 'until "$0" health --port "$1"; do :; done' "$folder/.build/debug/daily-poll" "$port" \
        || return 0
    curl -s -c "$work/jar" --json '{"credential":"cookie"}' "localhost:$port/sessions" >/dev/null
    curl -s -b "$work/jar" --json '{"type":"add","amount":5}' "localhost:$port/features/daily-poll/intents" >/dev/null
    state=$(curl -s -b "$work/jar" "localhost:$port/features/daily-poll/state")
    [[ $state == '{"count":5}' ]] || fault "the feature answered '$state'"
    curl -sf "localhost:$port/" | grep -q '<h1>DailyPoll</h1>' || fault "the page is not there"
    kill -KILL "$server_pid"
    wait "$server_pid" 2>/dev/null || true
    (cd "$folder" && .build/debug/daily-poll sessions) | grep -qP '\t1\t' || fault "the session was not kept"
    server_pid=
    timed new-shared "$root/script/new" queue-desk "$work/queue-desk" --like shared || return 0
    # With its cache SwiftPM would take the plan of the other package, and run that one's tests.
    timed test-shared swift test --package-path "$work/queue-desk" --scratch-path "$folder/.build" \
        --disable-build-manifest-caching || return 0
    grep -q 'the line over HTTP" passed' "$work/test-shared.log" || fault "the tests of the shared package did not run"
}

# trial_tutorial: the tutorial, step by step.
trial_tutorial() {
    python3 "$root/Trials/new/tutorial.py" "$root" "$work" $((RANDOM % 10000 + 20000)) || fault "the tutorial is not as it is shown"
}
