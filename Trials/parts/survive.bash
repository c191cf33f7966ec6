# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Trials of what is kept: clients count on while the server is killed, loses its disk's power or has no room on it.

# Bounds that are not what is tried here: a receipt younger than ten minutes is never dropped for another.
generous=(
    --max-receipts 100000 --outbox-bytes 16MiB --outbox-labels 100000 --demo-latency 20ms --log-level warning
)

# start_clients ARGUMENT...: the generator beside this script, once its sessions are made and its streams are open.
start_clients() {
    "$loadgen" survive --port "$port" --json "$work/report.json" "$@" >"$work/clients.out" 2>"$work/clients.log" &
    clients_pid=$!
    for _ in {1..600}; do
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
    case $code in
    0) ;;
    1) fault "not everything fits together (above)" ;;
    *) fault "the clients could not finish (code $code); the server's last lines: $(tail -n 5 "$work/server.log")" ;;
    esac
}

# below N: a random whole number from 0 to N - 1, the same for the same seed. In `chance`, since a subshell would draw
# the same one again.
below() { chance=$(((RANDOM << 15 | RANDOM) % $1)); }

seconds_of_ms() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }
now_ms() { echo "$((${EPOCHREALTIME/[.,]/} / 1000))"; }

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

# rounds_of KIND ROUNDS: the server dies at random moments and comes back, the clients go on.
rounds_of() {
    local kind=$1 rounds=$2 before took slowest=0 sum=0 starts=0
    checks=0
    for ((round = 1; round <= rounds; round++)); do
        below 650
        sleep "$(seconds_of_ms $((50 + chance)))"
        if ! clients_live; then
            fault "the clients gave up in round $round"
            break
        fi
        kill_server
        if ((round % 20 == 0 || round == rounds)) && [[ $kind == kill ]]; then check_integrity; fi
        # Now and then it dies while it starts.
        below 10
        if ((chance == 0)); then
            next_cut "$kind"
            run_server "${generous[@]}"
            below 80
            sleep "$(seconds_of_ms "$chance")"
            kill_server
            starts=$((starts + 1))
        fi
        next_cut "$kind"
        before=$(now_ms)
        run_server "${generous[@]}"
        await_ready
        took=$(($(now_ms) - before))
        sum=$((sum + took))
        ((took <= slowest)) || slowest=$took
    done
    rounds=$((round - 1))
    ((rounds == 0)) && rounds=1
    echo "rounds                   $((round - 1)), and $starts deaths at the start"
    echo "from start to ready      $((sum / rounds)) ms on average, $slowest ms at most"
}

# The disk that the next server finds.
next_cut() {
    disk=()
    [[ $1 == kill ]] && return
    cuts=$((cuts + 1))
    disk_with DISK_SHADOW="$work/shadow" DISK_REPORT="$work/cuts" "${lies[@]}"
    # The first one finds nothing to cut.
    ((cuts == 1)) || disk+=(DISK_CUT="$( ((cuts % 2)) && echo torn || echo cut)" DISK_SEED="$((seed + cuts))")
}

trial_kill() {
    local rounds=$1
    faults=0
    need_sqlite
    RANDOM=$seed
    echo "seed                     $seed"
    new_server
    run_server "${generous[@]}"
    await_ready
    start_clients --seed "$seed"
    rounds_of kill "$rounds"
    finish_clients
    echo "integrity checks         $checks"
    verdict kill
}

trial_power() {
    local rounds=$1
    faults=0 cuts=0
    RANDOM=$seed
    echo "seed                     $seed"
    build_disk
    new_server
    : >"$work/cuts"
    next_cut power
    run_server "${generous[@]}"
    await_ready
    start_clients --seed "$seed"
    rounds_of power "$rounds"
    finish_clients
    awk '{ files += $2; unsynced += $4; kept += $7; names += $11 }
        END { printf "power cuts               %d: %d unsynced sectors, of which %d happened to survive; %d unsynced names\n",
            NR, unsynced, kept, names }' "$work/cuts"
    disk=()
    if ((${#lies[@]})); then
        # The disk said that it had written and had not: a trial that finds nothing then finds nothing ever.
        stop_server
        local lost
        lost=$(reported lost)
        if ((${lost%.*} > 0)); then
            echo "trial power on a disk that lies: ${lost%.*} lost intents were found, as they must be"
            return 0
        fi
        echo "trial power on a disk that lies: FAILED (nothing was found to be lost)"
        return 1
    fi
    verdict power
}
