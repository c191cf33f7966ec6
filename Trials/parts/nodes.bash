# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# Several nodes on one PostgreSQL database, which the trials start and stop themselves.

# build_nodes: the server with the features of these trials, and a client that is quick enough for one session.
build_nodes() {
    "$root/script/bootstrap" nodes
    compile "$work/hot" "$root/Trials/nodes/hot.c"
    node_server=${MVI_NODE_SERVER:-}
    [[ " $* " == *" zombie "* || " $* " == *" deploys "* || " $* " == *" forget "* \
        || " $* " == *" messages "* || " $* " == *" all "* ]] || return 0
    [[ -z $node_server ]] || return 0
    swift build --package-path "$root" -c "$configuration" --product trial-server >&2
    node_server=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/trial-server
}

# build_older: server and clients of the last release, whose commit docs/releases.md names, once; and this build's clients.
build_older() {
    older='' older_root=''
    [[ " $* " == *" versions "* || " $* " == *" all "* ]] || return 0
    local commit each
    # The newest one is the first row.
    commit=$(sed -nE 's/^\| [0-9.]+ \| `([0-9a-f]{40})` \|$/\1/p' "$root/docs/releases.md" | head -n 1)
    git -C "$root" cat-file -e "$commit^{commit}" || die "the commit '$commit' of the last release is not here: git fetch --unshallow"
    older_root=$root/.build-older/$commit older=$older_root/.build/release/mvi-server
    mkdir -p "$older_root"
    git -C "$root" archive "$commit" | tar -x -C "$older_root"
    [[ -x $older ]] || swift build --package-path "$older_root" -c release --product mvi-server >&2 || die "the last release does not build"
    for each in "$root" "$older_root"; do
        # The driver looks into its client, as tests do.
        swift build --package-path "$each" --product swift-client-driver >&2 \
            && "$each/script/bootstrap" javascript && "$each/script/bootstrap" kotlin && "$each/Clients/Kotlin/build" >&2 \
            || die "the clients in $each do not build"
    done
}

# trial_nodes LENGTH NAME...: LENGTH in what the trial counts, seconds, rounds or sessions; 0 for its own.
trial_nodes() {
    local code=0 length=$1
    shift
    build_nodes "$@"
    build_older "$@"
    local options=(--server "$server" --tools "$work" --length "$length" --sessions "${sessions:-0}")
    [[ -z $node_server ]] || options+=(--node-server "$node_server")
    [[ -z $older ]] || options+=(--older "$older" --older-root "$older_root")
    [[ -z $short ]] || options+=(--short)
    PYTHONDONTWRITEBYTECODE=1 python3 "$root/Trials/nodes/main.py" "$@" "${options[@]}" || code=$?
    case $code in
    0) ;;
    1) fault "several nodes do not do what docs/many-nodes.md says (the lines above have it)" ;;
    *) fault "the nodes could not be tried (code $code)" ;;
    esac
}
