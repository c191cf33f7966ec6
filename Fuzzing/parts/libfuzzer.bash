# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # script/fuzz has the others
# One target under libFuzzer: the trap that shows that it is guided, then the run.

scratch=$root/.build-fuzz
fuzzer=$scratch/release/fuzz
crashes=$scratch/crashes
# Fewer, and a module was built without counters: those of the targets alone are some thousand.
least_counters=20000

# A backtrace of Swift's would take the signal before libFuzzer can write the input down.
export SWIFT_BACKTRACE=enable=no
# Leaks are not looked for: see script/test.
export ASAN_OPTIONS=detect_leaks=0
# The same input always takes the same edges.
export SWIFT_DETERMINISTIC_HASHING=1

# All modules of Swift count the edges that they take; what is C only has Address Sanitizer. The flags are given here and
# not in the manifest, where they would make the package unusable as a dependency. lld, since gold ends with an internal
# error.
build_fuzzer() {
    swift build --package-path "$root" --scratch-path "$scratch" --configuration release --product fuzz \
        --sanitize address -Xswiftc -sanitize=fuzzer -Xswiftc -DFUZZING -Xswiftc -use-ld=lld >&2 \
        || die "the fuzzer could not be built (the compiler's words are above)"
    mkdir -p "$crashes"
}

# find_trap TARGET: from nothing to the four bytes that are planted. Guided it takes some hundred thousand runs, without
# guidance four thousand million. The time is for slow targets on a busy machine.
find_trap() {
    local log=$work/trap.log counters
    tried='' runs='' rate='' edges=''
    if FUZZ_TRAP=yes "$fuzzer" "$1" -artifact_prefix="$work/" -max_total_time=600 -max_len=8 \
        -use_value_profile=1 -print_final_stats=1 >"$log" 2>&1; then
        row "$1" "the planted trap was not found: the fuzzer is not guided"
        faults=$((faults + 1))
        return 1
    fi
    if ! grep -q 'The planted trap was found' "$log"; then
        keep_log "$1" "$log"
        row "$1" "failed before it found the planted trap; see $kept"
        faults=$((faults + 1))
        return 1
    fi
    tried=$(number 's/^stat::number_of_executed_units: *//p' "$log")
    counters=$(number 's/^INFO: Loaded [0-9]* modules *(\([0-9]*\) inline.*/\1/p' "$log")
    if ((${counters:-0} < least_counters)); then
        row "$1" "only ${counters:-no} edges are counted: a module was built without -sanitize=fuzzer"
        faults=$((faults + 1))
        return 1
    fi
}

# fuzz TARGET SECONDS
fuzz() {
    local log=$work/fuzz.log grown=$scratch/corpus/$1 code=0
    mkdir -p "$grown"
    # Longer inputs are slower and reach nothing more: no seed has 2,000 bytes.
    "$fuzzer" "$1" -artifact_prefix="$crashes/$1-" -max_total_time="$2" -max_len=2048 -timeout=10 -rss_limit_mb=2048 \
        -use_value_profile=1 -print_final_stats=1 "$grown" "$root/Fuzzing/Corpus/$1" >"$log" 2>&1 || code=$?
    runs=$(number 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(number 's/^stat::average_exec_per_sec: *//p' "$log")
    edges=$(number 's/.* cov: \([0-9]*\) .*/\1/p' "$log")
    if ((code == 0)); then
        row "$1" "every property held"
        return
    fi
    faults=$((faults + 1))
    keep_log "$1" "$log"
    row "$1" "FAILED: $(grep -m 1 -oE 'Fatal error: .*|ERROR: (AddressSanitizer|libFuzzer): .*' "$log" || echo "see its log")"
    echo "    log: $kept"
    sed -n "s|.*Test unit written to \(.*\)|    again: script/fuzz $1 \1|p" "$log"
}

row() { printf '%-10s %10s %9s %8s %8s  %s\n' "$1" "${tried:--}" "${runs:--}" "${rate:--}" "${edges:--}" "$2"; }

# number SED-SCRIPT FILE: the last that it prints.
number() { sed -n "$1" "$2" | tail -n 1; }

keep_log() {
    kept=$crashes/$1.log
    cp "$2" "$kept"
}
