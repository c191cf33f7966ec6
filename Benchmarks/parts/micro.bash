# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# Instructions of one piece of the hot path, from two runs under callgrind: they repeat to the digit.

thresholds=$root/Benchmarks/thresholds.txt

# instructions PIECE TIMES: of the whole process.
instructions() {
    new_server
    # Hashing is seeded anew in each process otherwise. The settings are for the piece that is a whole server, whose client
    # is faster than the intents that a session may send.
    MVI_PORT=$port MVI_INTENT_RATE=0 MVI_JOURNAL=memory MVI_DATA=$data MVI_LOG_LEVEL=error \
        SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$micro" "$1" "$2" 2>&1 \
        >/dev/null | sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
}

swift_version() { swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/\1/p' | head -n 1; }

# Counts of another compiler or processor say nothing about the thresholds.
counted_with() { echo "Swift $(swift_version), $(uname -m)"; }

run_micro() {
    local piece few many each most
    if [[ -z $write ]] && ! grep -qxF "# Counted with $(counted_with)." "$thresholds"; then
        echo "script/bench: not counted: this is $(counted_with); $(sed -n 's/^# C/c/p' "$thresholds")" >&2
        return
    fi
    command -v valgrind >/dev/null || "$root/script/bootstrap" bench
    swift build --package-path "$root" -c release --product micro >&2
    # valgrind 3.19 gives up over debug information in forms that it does not know.
    micro=$work/micro
    strip --strip-debug -o "$micro" "$(swift build --package-path "$root" -c release --show-bin-path)/micro"
    [[ -z $write ]] || {
        echo "# Instructions of one run of each piece that script/bench micro lets pass: what was measured and a twentieth more."
        echo "# Make the file anew with script/bench micro --write, and say why."
        echo "# Counted with $(counted_with)."
    } >"$thresholds"
    for piece in $("$micro"); do
        few=$(instructions "$piece" 1000) many=$(instructions "$piece" 3000)
        each=$(((many - few) / 2000))
        if [[ -n $write ]]; then
            echo "$piece $((each * 21 / 20))" >>"$thresholds"
            printf '%-14s %8d\n' "$piece" "$each"
            continue
        fi
        most=$(awk -v piece="$piece" '$1 == piece { print $2 }' "$thresholds")
        printf '%-14s %8d instructions, at most %d\n' "$piece" "$each" "${most:-0}"
        if ((each > ${most:-0})); then
            fault "$piece takes $each instructions and may take ${most:-none: it is not in $thresholds}" >&2
        fi
    done
}
