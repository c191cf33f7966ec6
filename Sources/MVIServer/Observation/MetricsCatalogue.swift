import PrometheusMetrics

/// The descriptions of all metrics, as in `/metrics`. A test compares the names with `docs/observation.md`.
enum MetricsCatalogue {
    static let all: [(name: String, help: String)] = [
        ("mvi_intents_total", "Intents that reached a session, by feature and by what became of them."),
        ("mvi_turns_total", "Turns that were committed, by feature and by what they were of."),
        ("mvi_turn_duration_seconds", "Time that a turn's own code took: interceptors, handlers, view, encoding."),
        ("mvi_slow_turns_total", "Turns that kept their thread for more than 50 ms, by feature."),
        ("mvi_failures_total", "Throws in features' code, by feature and by where it was thrown."),
        ("mvi_work_running", "Pieces of launched work that run now, by feature."),
        (
            "mvi_queue_length",
            "Jobs of a session that ran and were committed together: more than one where some waited."
        ),
        ("mvi_answers_total", "HTTP answers, by status and by problem; \"none\" where they tell no problem."),
        ("mvi_request_duration_seconds", "Time from a request's line to its answer, by route, streams apart."),
        ("mvi_requests_open", "Requests that have begun and have no answer yet."),
        ("mvi_requests_waiting", "Requests that wait for a state or for launched work now."),
        ("mvi_connections_open", "Connections of clients, streams apart."),
        ("mvi_streams_open", "Streams that are open now."),
        ("mvi_streams_opened_total", "Streams that were opened."),
        ("mvi_streams_ended_total", "Streams that ended, by why."),
        ("mvi_stream_resets_total", "Streams that were told that they cannot go on where they were, by why."),
        ("mvi_events_total", "Events that were given to streams, by kind."),
        ("mvi_conflations_total", "States that a stream was not told, since a newer one was there before it had room."),
        ("mvi_labels_replayed_total", "Labels that were told to a stream again, or late."),
        ("mvi_labels_dropped_total", "Labels that were given up before any client got them."),
        ("mvi_sessions_in_memory", "Sessions in memory now."),
        ("mvi_stores_in_memory", "Stores in memory now."),
        ("mvi_sessions_expired_total", "Sessions that this server forgot since their time was over."),
        ("mvi_limits_reached_total", "How often a limit was reached, and something was refused or given up for it."),
        ("mvi_journal_appends_total", "Appends to the journal, by what became of them."),
        ("mvi_journal_append_duration_seconds", "Time from an append to the journal's answer."),
        ("mvi_journal_group_size", "Appends that one transaction made permanent; none of a journal in memory."),
        ("mvi_journal_transaction_duration_seconds", "Time that a transaction of the journal took."),
        ("mvi_journal_in_trouble", "1 while the journal cannot keep anything, else 0."),
        ("mvi_ready", "1 while /health/ready answers 200, else 0."),
        ("mvi_build_info", "Always 1; the version is in its label."),
        ("process_cpu_seconds_total", "Processor time of the process."),
        ("process_resident_memory_bytes", "Memory of the process that is in RAM."),
        ("process_virtual_memory_bytes", "Memory that the process has mapped."),
        ("process_open_fds", "Files and sockets that the process has open."),
        ("process_max_fds", "How many it may have open."),
        ("process_threads", "Threads of the process."),
        ("process_start_time_seconds", "When the server was made, in seconds since 1970."),
    ]

    /// Those of servers that share the journal.
    static let ofNodes: [(name: String, help: String)] = [
        ("mvi_node_lease_held", "1 while this node may run sessions' work, else 0."),
        ("mvi_node_sessions_owned", "Sessions whose work runs on this node."),
        ("mvi_node_requests_total", "Requests that were sent on to other nodes, by what became of them."),
        ("mvi_node_fences_total", "How often this node's work ended, since its lease expired or others forgot it."),
        ("mvi_node_clock_difference_seconds", "How far this node's clock is ahead of the database's."),
        ("mvi_journal_news_late", "1 while news of other nodes do not come through the database, else 0."),
        ("mvi_journal_news_delays_total", "How often news of other nodes began to be late."),
        ("mvi_journal_connections_lost_total", "Connections to the database that were lost."),
        ("mvi_journal_groups_split_total", "Groups of appends that failed together and were tried one by one."),
        ("mvi_journal_oldest_transaction_seconds", "The age of the oldest transaction in the database."),
    ]

    /// The bucket bounds of histograms that do not measure answers' durations.
    private static let buckets: [String: [Double]] = [
        // Most turns take some microseconds; at 50 ms they are slow.
        "mvi_turn_duration_seconds": [
            0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
            0.05, 0.1, 1,
        ],
        "mvi_queue_length": [1, 2, 4, 8, 16, 32, 64],
        "mvi_journal_group_size": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
    ]

    static func describe(in registry: PrometheusRegistry) {
        for (name, help) in all + ofNodes { registry.describe(name, help: help, buckets: buckets[name]) }
    }
}
