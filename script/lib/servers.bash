# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # whoever takes this in shares its variables
# For scripts that start one server after the other, on a port and with a data folder of its own; `root` is theirs.

me=script/${0##*/} server_pid='' sampler_pid='' health_pid='' clients_pid='' holder_pid='' proxy_pid='' mounted='' port='' faults=0 short=''
work=$(realpath "$(mktemp -d)") data=$work/data
trap 'clean_up' EXIT
trap 'exit 2' INT TERM

# shellcheck disable=SC2317
clean_up() {
    local pid
    # A server that boots a system is not the first process of that one.
    for pid in $sampler_pid $health_pid $holder_pid $clients_pid ${server_pid:+$(pgrep -P "$server_pid")} $server_pid; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    stop_proxy
    [[ -z $mounted ]] || umount -l "$mounted" || true
    rm -rf "$work"
}

# A proxy ends its own processes when it is asked to, not when it is killed.
stop_proxy() {
    [[ -n $proxy_pid ]] || return 0
    kill -TERM "$proxy_pid" 2>/dev/null || true
    wait "$proxy_pid" 2>/dev/null || true
    proxy_pid=
}

die() {
    printf "$me: %s\n" "$@" >&2
    exit 2
}

fault() {
    echo "FAULT: $*"
    faults=$((faults + 1))
}

# A load comes from one address, and from few sessions: what keeps one client from the others would keep it from the server.
export MVI_INTENT_RATE=0 MVI_SESSION_RATE=0 MVI_MAX_CONNECTIONS_PER_ADDRESS=1000000 MVI_MAX_STREAMS_PER_ADDRESS=1000000

# take_options "FLAG..." "NUMBER..." "TEXT..." ARGUMENT...: sets the variable of each option's name; `rest` is what else
# there is.
take_options() {
    local flags=" $1 " numbers=" $2 " texts=" $3 " name
    shift 3
    rest=()
    while (($# > 0)); do
        name=${1#--}
        if [[ $1 != --* ]]; then
            rest+=("$1")
        elif [[ $flags == *" $name "* ]]; then
            printf -v "$name" yes
        elif [[ $numbers == *" $name "* && ${2:-} =~ ^[1-9][0-9]*$ ]] || [[ $texts == *" $name "* && -n ${2:-} ]]; then
            printf -v "$name" %s "$2"
            shift
        else
            die "no option '$1', or none with the value '${2:-}'; $me's first lines have them"
        fi
        shift
    done
}

# or GIVEN LONG SHORT: what was asked for, else what this form of the run has.
or() { echo "${1:-$([[ -n $short ]] && echo "$3" || echo "$2")}"; }

# compile OUTPUT ARGUMENT...: C. Not by SwiftPM, which takes longer and would link Swift's library into it.
compile() {
    local compiler output=$1
    shift
    compiler=$(command -v clang || command -v cc) || die "no C compiler on the PATH; Swift's toolchain has clang"
    "$compiler" -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread -o "$output" "$@" \
        || die "$(basename "$output") could not be compiled (the compiler's words are above)"
}

# free_port NAME: sets the variable to a port on which no server listens.
free_port() {
    local found
    for _ in {1..50}; do
        # Below the range that outgoing connections take theirs from.
        found=$((20000 + RANDOM % 10000))
        (: <"/dev/tcp/127.0.0.1/$found") 2>/dev/null || break
    done
    printf -v "$1" %s "$found"
}

# A port and an empty data folder, for as many runs as follow.
new_server() {
    free_port port
    rm -rf "$data"
    mkdir "$data"
    : >"$work/server.log"
}

# launch COMMAND...: runs it as the server, and does not wait.
launch() {
    "$@" >>"$work/server.log" 2>&1 &
    server_pid=$!
}

is_ready() { curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$port/health/ready"; }

await_ready() {
    local why='was not ready within 20 s'
    for _ in {1..1000}; do
        is_ready && return
        if ! kill -0 "$server_pid" 2>/dev/null; then
            server_pid='' why='ended at its start'
            break
        fi
        sleep 0.02
    done
    tail -n 20 "$work/server.log" >&2
    die "the server $why (its last lines are above)"
}

# end_server SIGNAL: until it has ended, or is killed after 30 s; its exit code.
end_server() {
    local code=0
    kill -"$1" "$server_pid" 2>/dev/null || true
    if [[ $1 != KILL ]]; then
        for _ in {1..600}; do
            kill -0 "$server_pid" 2>/dev/null || break
            sleep 0.05
        done
        kill -KILL "$server_pid" 2>/dev/null || true
    fi
    wait "$server_pid" 2>/dev/null || code=$?
    server_pid=
    return "$code"
}
