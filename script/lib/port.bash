# shellcheck shell=bash
# For scripts that start servers; `die MESSAGE` is theirs.

free_port() {
    local candidate
    for _ in {1..50}; do
        # Below the range that outgoing connections take theirs from.
        candidate=$((20000 + RANDOM % 12000))
        if ! (: <"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    die "no free port between 20000 and 32000"
}

# compile OUTPUT ARGUMENT...: C. Not by SwiftPM, which takes longer and would link Swift's library into it.
compile() {
    local compiler output=$1
    shift
    compiler=$(command -v clang || command -v cc) || die "no C compiler on the PATH; Swift's toolchain has clang"
    "$compiler" -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread -o "$output" "$@"
}
