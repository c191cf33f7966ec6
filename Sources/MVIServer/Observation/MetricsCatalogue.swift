import PrometheusMetrics

/// The help texts of the metrics at `/metrics`. A test checks that `docs/observation.md` has the same names.
enum MetricsCatalogue {
    static let all: [(name: String, help: String)] = [
        ("mvi_intents_total", "Intents that reached a session, by feature and outcome."),
        ("mvi_turns_total", "Committed turns, by feature and kind."),
        ("mvi_turn_duration_seconds", "Duration of a turn's own code: interceptors, handlers, view, encoding."),
        ("mvi_slow_turns_total", "Turns that took more than 50 ms, by feature."),
        ("mvi_failures_total", "Errors thrown by features' code, by feature and place."),
        ("mvi_work_running", "Running pieces of launched work, by feature."),
        (
            "mvi_queue_length",
            "Jobs of a session that were committed together; more than one if some waited."
        ),
        ("mvi_answers_total", "HTTP answers, by status and problem, \"none\" without a problem."),
        ("mvi_request_duration_seconds", "Time from a request's line to its answer, by route, without streams."),
        ("mvi_requests_open", "Requests without an answer yet."),
        ("mvi_requests_waiting", "Requests that wait for a state or for launched work."),
        ("mvi_connections_open", "Connections of clients, without streams."),
        ("mvi_streams_open", "Open streams."),
        ("mvi_streams_opened_total", "Opened streams."),
        ("mvi_streams_ended_total", "Ended streams, by reason."),
        ("mvi_stream_resets_total", "Streams that got a reset, by reason."),
        ("mvi_events_total", "Events sent to streams, by kind."),
        ("mvi_conflations_total", "States skipped by a stream because a newer one replaced them."),
        ("mvi_labels_replayed_total", "Labels sent to a stream again, or late."),
        ("mvi_labels_dropped_total", "Labels dropped before any client got them."),
        ("mvi_sessions_in_memory", "Sessions in memory."),
        ("mvi_stores_in_memory", "Stores in memory."),
        ("mvi_sessions_expired_total", "Sessions that expired on this server."),
        ("mvi_limits_reached_total", "Refusals and drops because of a limit, by limit."),
        ("mvi_journal_appends_total", "Appends to the journal, by outcome."),
        ("mvi_journal_append_duration_seconds", "Time from an append to the journal's result."),
        ("mvi_journal_group_size", "Appends per transaction of the journal; none for a journal in memory."),
        ("mvi_journal_transaction_duration_seconds", "Duration of a transaction of the journal."),
        ("mvi_journal_in_trouble", "1 while the journal is not writable, else 0."),
        ("mvi_ready", "1 while /health/ready answers 200, else 0."),
        ("mvi_log_lines_dropped_total", "Log lines that were dropped because the log was not read in time."),
        ("mvi_build_info", "Always 1; its label has the version."),
        ("process_cpu_seconds_total", "Processor time of the process."),
        ("process_resident_memory_bytes", "Resident memory of the process."),
        ("process_virtual_memory_bytes", "Virtual memory of the process."),
        ("process_open_fds", "Open files and sockets of the process."),
        ("process_max_fds", "Maximal number of open files and sockets."),
        ("process_threads", "Threads of the process."),
        ("process_start_time_seconds", "Time of the server's creation, in seconds since 1970."),
    ]

    /// The metrics of servers that share the journal.
    static let ofNodes: [(name: String, help: String)] = [
        ("mvi_node_lease_held", "1 while this node holds its lease, else 0."),
        ("mvi_node_sessions_owned", "Sessions that this node owns."),
        ("mvi_node_requests_total", "Requests forwarded to other nodes, by outcome."),
        ("mvi_node_fences_total", "Times that this node lost its lease or its registration."),
        ("mvi_node_clock_difference_seconds", "Seconds that this node's clock is ahead of the database's."),
        ("mvi_journal_news_late", "1 while notifications of other nodes are late, else 0."),
        ("mvi_journal_news_delays_total", "Times that notifications of other nodes became late."),
        ("mvi_journal_connections_lost_total", "Lost connections to the database."),
        ("mvi_journal_groups_split_total", "Groups of appends that failed and were retried one by one."),
        ("mvi_journal_oldest_transaction_seconds", "Age of the oldest transaction in the database."),
    ]

    /// The upper bounds of the buckets of histograms that do not measure response times.
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
