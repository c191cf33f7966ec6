# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # the parts of script/trial share their variables; awk has its own
# Trials of the streams: 10,000 of them, clients that vanish, one that does not read.

trial_streams() {
    local seconds=$1 streams=$2 rate=$3 empty window start end first last
    need_files $((streams + 600))
    start_server --max-sessions $((streams + 100)) --max-streams $((streams + 100))
    empty=$(rss_kib)
    start_sampling
    if run_load $((seconds + 300)) load --streams "$streams" --rate "$rate" --seconds "$seconds"; then
        # The first and the last minute, or half of a shorter run.
        window=$((seconds >= 120 ? 60 : seconds / 2))
        start=$(reported startedAt) end=$(reported endedAt)
        first=$(mean_rss_kib "$start" "$(awk "BEGIN { printf \"%.3f\", $start + $window }")")
        last=$(mean_rss_kib "$(awk "BEGIN { printf \"%.3f\", $end - $window }")" "$end")
        awk -v empty="$empty" -v first="$first" -v last="$last" -v window="$window" -v streams="$streams" 'BEGIN {
            printf "server RSS       %.1f MiB empty, %.1f MiB in the first %d s, %.1f MiB in the last %d s (%+.1f %%)\n",
                empty / 1024, first / 1024, window, last / 1024, window, first ? (last - first) * 100 / first : 0
            printf "                 %.2f KiB for each session with its store and stream\n", (first - empty) / streams
        }'
        over "$start" "$end" '&& $1 - last >= 30 { last = $1; line = line sprintf("%s%.1f", line ? ", " : "", $2 / 1024) }
            END { print "                 " line " MiB, every 30 s" }'
        echo "server files     $(most 3) at most"
        # A label is kept for five minutes for clients that are away: these may add up so long, nothing else may.
        holds "$last <= $first * 1.05 + $(reported labels) * 0.5" || fault "memory is not flat"
    fi
    stop_sampling
    stop_server
}

trial_vanish() {
    local clients=$1 rounds=$2 try empty_files files threads rss files_after threads_after rss_after
    local sessions=$(((clients + 3) / 4))
    need_files $((2 * clients + 600))
    # The server learns that a client is gone a moment after the next one has come: many more than there are at a time
    # can be open for it. Turning them away is right, but not what is tried here.
    start_server --max-sessions $((6 * sessions + 100)) --max-streams $((2 * clients + 100)) \
        --max-connections $((8 * clients + 500))
    empty_files=$(files)
    # The first time round fills caches, pools and tables that are kept; nothing may be added to them after that. What
    # leaks grows every time; an allocator that keeps a little more once does not.
    for try in 0 1 2 3 4; do
        files=$(files) threads=$(status_of Threads) rss=$(rss_kib)
        echo "- time $try$( ((try)) || echo ', to warm up')"
        run_load $((rounds * 10 + 120)) vanish --clients "$clients" --rounds "$rounds" --sessions "$sessions" || break
        # Until the generator's connections are gone from the server.
        for _ in {1..150}; do
            (($(files) > empty_files)) || break
            sleep 0.1
        done
        files_after=$(files) threads_after=$(status_of Threads) rss_after=$(rss_kib)
        echo "server files     $empty_files at the start, $files before, $files_after after"
        echo "server threads   $threads before, $threads_after after"
        echo "server RSS       $((rss / 1024)) MiB before, $((rss_after / 1024)) MiB after"
        ((try)) || continue
        ((files_after <= empty_files)) || fault "$((files_after - empty_files)) descriptors are left"
        ((threads_after <= threads)) || fault "$((threads_after - threads)) threads are left"
        ((rss_after <= rss * 21 / 20 + 4096)) && break
        ((try < 4)) || fault "memory grew each time"
    done
    stop_server
}

trial_slow() {
    local bound options
    need_files 600
    for bound in within beyond; do
        echo "- $bound the outbox's bound"
        if [[ $bound == within ]]; then
            start_server --outbox-bytes 4194304 --outbox-labels 20000
            options=()
        else
            start_server --outbox-bytes 8192
            options=(--expect-overflow)
        fi
        start_sampling
        run_load 180 slow --seconds "$1" "${options[@]}" || true
        stop_sampling
        echo "server RSS       $(($(most 2) / 1024)) MiB at most"
        stop_server
    done
}
