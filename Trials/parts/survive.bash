# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Trials of what is kept: clients count on while the server is killed, loses its disk's power or has no room on it.

# Bounds that are not what is tried here: a receipt younger than ten minutes is never dropped for another.
generous=(
    --max-receipts 100000 --receipt-bytes 64MiB --outbox-bytes 16MiB --outbox-labels 100000 --demo-latency 20ms --log-level warning
    --record-turns 1000
)

# start_clients ARGUMENT...: the generator beside this script, once its sessions are made and its streams are open.
start_clients() {
    : >"$work/clients.out"
    "$work/loadgen" survive --port "$port" --json "$work/report.json" "$@" >>"$work/clients.out" 2>"$work/clients.log" &
    clients_pid=$!
    for _ in {1..1600}; do
        grep -q 'sessions count' "$work/clients.log" && return
        clients_live || break
        sleep 0.05
    done
    cat "$work/clients.log" >&2
    die "the clients could not begin (their words are above)"
}

clients_live() { kill -0 "$clients_pid" 2>/dev/null; }

# Has them bring the last intents to an answer and compare everything. The server must run.
finish_clients() {
    local code=0
    kill -TERM "$clients_pid" 2>/dev/null || true
    wait "$clients_pid" || code=$?
    clients_pid=
    cat "$work/clients.log" >&2
    cat "$work/clients.out"
    judge "$code"
}

# below N: a random whole number from 0 to N - 1, the same for the same seed. In `chance`, since a subshell would draw
# the same one again.
below() { chance=$(((RANDOM << 15 | RANDOM) % $1)); }

# Copies the databases as they lie there, the server being dead, and has SQLite look at all of each.
check_integrity() {
    local file found
    rm -rf "$work/copy"
    mkdir "$work/copy"
    find "$data" -type f ! -name '*-shm' -exec cp -t "$work/copy" {} +
    for file in "$work/copy"/*.sqlite; do
        found=$(sqlite3 "$file" 'PRAGMA integrity_check' 2>&1) || true
        checks=$((checks + 1))
        [[ $found == ok ]] || fault "after round $round: $(basename "$file"): $found"
    done
}

need_sqlite() {
    command -v sqlite3 >/dev/null || die "no 'sqlite3' on the PATH, which looks at the data; Debian: apt-get install sqlite3"
}

# The disk that the next server finds.
next_cut() {
    [[ $1 == power ]] || return 0
    cuts=$((cuts + 1))
    disk_with DISK_SHADOW="$work/shadow" DISK_REPORT="$work/cuts"
    [[ -z $lies ]] || disk+=(DISK_LIES=1)
    # The first one finds nothing to cut.
    ((cuts == 1)) || disk+=(DISK_CUT="$( ((cuts % 2)) && echo torn || echo cut)" DISK_SEED="$((seed + cuts))")
}

# trial_rounds KIND ROUNDS: the server dies at random moments and comes back, the clients go on.
trial_rounds() {
    local kind=$1 rounds=$2 before took slowest=0 sum=0 starts=0
    checks=0 cuts=0 RANDOM=$seed
    echo "seed                     $seed"
    new_server
    : >"$work/cuts"
    next_cut "$kind"
    run_server "${generous[@]}"
    await_ready
    start_clients --seed "$seed"
    for ((round = 1; round <= rounds; round++)); do
        below 650
        sleep "$(seconds_of_ms $((50 + chance)))"
        if ! clients_live; then
            fault "the clients gave up in round $round"
            break
        fi
        end_server KILL || true
        if ((round % 20 == 0 || round == rounds)) && [[ $kind == kill ]]; then check_integrity; fi
        # Now and then it dies while it starts.
        below 10
        if ((chance == 0)); then
            next_cut "$kind"
            run_server "${generous[@]}"
            below 80
            sleep "$(seconds_of_ms "$chance")"
            end_server KILL || true
            starts=$((starts + 1))
        fi
        next_cut "$kind"
        before=$(now_ms)
        run_server "${generous[@]}"
        await_ready
        took=$(($(now_ms) - before)) sum=$((sum + $(now_ms) - before))
        ((took <= slowest)) || slowest=$took
    done
    echo "rounds                   $((round - 1)), and $starts deaths at the start"
    echo "from start to ready      $((sum / (round > 1 ? round - 1 : 1))) ms on average, $slowest ms at most"
    finish_clients
    disk=()
}

trial_kill() {
    need_sqlite
    trial_rounds kill "$1"
    echo "integrity checks         $checks"
    stop_server
    replay_sessions
}

# What was recorded gives the same states again, with the same build.
replay_sessions() {
    local found
    "$server" export --sample 1000 --into "$work/sessions" --data "$data" >&2
    found=$("$server" replay "$work/sessions") || fault "recorded turns differ or cannot be read: ${found:0:2000}"
    sed -nE 's/^\{"sessions":([0-9]+),"turns":([0-9]+),.*/replayed                 \2 turns of \1 sessions/p' <<<"$found"
}

trial_power() {
    local lost
    trial_rounds power "$1"
    awk '{ files += $2; unsynced += $4; kept += $7; names += $11 }
        END { printf "power cuts               %d: %d unsynced sectors, of which %d happened to survive; %d unsynced names\n",
            NR, unsynced, kept, names }' "$work/cuts"
    stop_server
    [[ -n $lies ]] || return 0
    # The disk said that it had written and had not: a trial that finds nothing then finds nothing ever.
    lost=$(reported lost) faults=0
    echo "on a disk that lies      ${lost%.*} lost intents were found"
    ((${lost%.*} > 0)) || fault "nothing was found to be lost"
}
