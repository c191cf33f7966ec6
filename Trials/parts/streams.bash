# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# Trials of the streams: 10,000 of them, clients that vanish, one that does not read.

trial_streams() {
    local seconds=$1 streams=$2 rate=$3
    faults=0
    need_files $((streams + 600))
    start_server --max-sessions $((streams + 100)) --max-streams $((streams + 100))
    local empty
    empty=$(rss_kib)
    start_sampling
    if run_load $((seconds + 300)) load --streams "$streams" --rate "$rate" --seconds "$seconds"; then
        local window start end first last
        # The first and the last minute, or half of a shorter run.
        window=$((seconds >= 120 ? 60 : seconds / 2))
        start=$(reported startedAt) end=$(reported endedAt)
        first=$(mean_rss_kib "$start" "$(plus "$start" "$window")")
        last=$(mean_rss_kib "$(plus "$end" "-$window")" "$end")
        awk -v empty="$empty" -v first="$first" -v last="$last" -v window="$window" -v streams="$streams" 'BEGIN {
            printf "server RSS       %.1f MiB empty, %.1f MiB in the first %d s, %.1f MiB in the last %d s (%+.1f %%)\n",
                empty / 1024, first / 1024, window, last / 1024, window, first ? (last - first) * 100 / first : 0
            printf "                 %.2f KiB for each session with its store and stream\n", (first - empty) / streams
        }'
        echo "                 $(rss_over_time "$start" "$end") MiB, every 30 s"
        echo "server CPU       $(cores "$start" "$end") cores"
        echo "server files     $(most 3) at most"
        # A label is kept for five minutes for clients that are away: these may add up so long, nothing else may.
        awk -v first="$first" -v last="$last" -v labels="$(reported labels)" \
            'BEGIN { exit !(last <= first * 1.05 + labels * 0.5) }' || fault "memory is not flat"
    fi
    stop_sampling
    verdict streams
}

plus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a + b }'; }

# Waits for the connections of a generator that has ended to be gone from the server.
settle() {
    local wanted=$1
    for _ in {1..150}; do
        (($(files) <= wanted)) && return
        sleep 0.1
    done
}

trial_vanish() {
    local clients=$1 rounds=$2 sessions
    faults=0
    sessions=$(((clients + 3) / 4))
    need_files $((2 * clients + 600))
    # The server learns that a client is gone a moment after the next one has come: many more than there are at a time
    # can be open for it. Turning them away is right, but not what is tried here.
    start_server --max-sessions $((6 * sessions + 100)) --max-streams $((2 * clients + 100)) \
        --max-connections $((8 * clients + 500))
    # The first time round fills caches, pools and tables that are kept; nothing may be added to them after that.
    local empty_files
    empty_files=$(files)
    echo "- the first time, to warm up"
    run_load $((rounds * 10 + 120)) vanish --clients "$clients" --rounds "$rounds" --sessions "$sessions" >"$work/first" \
        || cat "$work/first"
    settle "$empty_files"
    local files_before threads_before rss_before files_after threads_after rss_after try
    # What leaks grows every time; an allocator that keeps a little more once does not.
    for try in 1 2 3 4; do
        files_before=$(files) threads_before=$(threads) rss_before=$(rss_kib)
        echo "- time $try that counts"
        run_load $((rounds * 10 + 120)) vanish --clients "$clients" --rounds "$rounds" --sessions "$sessions" || break
        settle "$empty_files"
        files_after=$(files) threads_after=$(threads) rss_after=$(rss_kib)
        echo "server files     $empty_files at the start, $files_before before, $files_after after"
        echo "server threads   $threads_before before, $threads_after after"
        echo "server RSS       $((rss_before / 1024)) MiB before, $((rss_after / 1024)) MiB after"
        ((files_after <= empty_files)) || fault "$((files_after - empty_files)) descriptors are left"
        ((threads_after <= threads_before)) || fault "$((threads_after - threads_before)) threads are left"
        ((rss_after <= rss_before * 21 / 20 + 4096)) && break
        ((try < 4)) || fault "memory grew each time"
    done
    verdict vanish
}

slow_once() {
    start_sampling
    run_load 180 slow "$@" || true
    stop_sampling
    echo "server RSS       $(($(most 2) / 1024)) MiB at most"
}

trial_slow() {
    local seconds=$1
    faults=0
    need_files 600
    echo "- within the outbox's bound"
    start_server --outbox-bytes 4194304 --outbox-labels 20000
    slow_once --seconds "$seconds"
    stop_server
    echo "- beyond the outbox's bound"
    start_server --outbox-bytes 8192
    slow_once --seconds "$seconds" --expect-overflow
    verdict slow
}
