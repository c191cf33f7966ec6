@testable import mvi_tools

/// Two answers of one server, ten seconds apart.
enum Answers {
    /// The time of the first reading.
    static let start = 1_790_000_100.0

    static func metrics(_ text: String, after seconds: Double = 0) -> Metrics {
        Metrics(MetricsText.read(text), time: start + seconds)
    }

    static let first = text(
        committed: 1_000, refused: 10, answers: 1_500, limited: 5, cpu: 2.5, counts: [900, 990, 1_000], failures: 3,
        streams: 12)
    static let second = text(
        committed: 13_400, refused: 15, answers: 14_000, limited: 35, cpu: 9, counts: [9_900, 10_980, 11_000],
        failures: 4, streams: 10_012)

    private static func text(
        committed: Int, refused: Int, answers: Int, limited: Int, cpu: Double, counts: [Int], failures: Int,
        streams: Int
    ) -> String {
        """
        # HELP mvi_intents_total Intents answered.
        # TYPE mvi_intents_total counter
        mvi_intents_total{feature="orders",outcome="committed"} \(committed)
        mvi_intents_total{feature="orders",outcome="refused"} \(refused)
        mvi_intents_total{feature="cart",outcome="committed"} 7
        mvi_turns_total{feature="orders",kind="intent"} \(committed)
        mvi_answers_total{status="202",problem="none"} \(answers)
        mvi_answers_total{status="429",problem="too-many-requests"} \(limited)
        mvi_events_total{type="state"} \(committed * 2)
        mvi_events_total{type="ping"} 40
        mvi_streams_opened_total \(streams)
        mvi_streams_ended_total{reason="client"} 2
        mvi_failures_total{feature="orders",stage="execute"} \(failures)
        mvi_limits_reached_total{limit="intent-rate"} \(limited)
        mvi_journal_appends_total{result="committed"} \(committed)
        mvi_journal_append_duration_seconds_bucket{le="0.001"} \(counts[0])
        mvi_journal_append_duration_seconds_bucket{le="0.01"} \(counts[1])
        mvi_journal_append_duration_seconds_bucket{le="+Inf"} \(counts[2])
        mvi_journal_append_duration_seconds_sum 4.5
        mvi_journal_append_duration_seconds_count \(counts[2])
        mvi_journal_group_size_bucket{le="8"} \(counts[0])
        mvi_journal_group_size_bucket{le="+Inf"} \(counts[2])
        mvi_journal_group_size_sum \(counts[2] * 4)
        mvi_journal_group_size_count \(counts[2])
        mvi_turn_duration_seconds_bucket{feature="orders",le="0.0001"} \(counts[0])
        mvi_turn_duration_seconds_bucket{feature="orders",le="0.001"} \(counts[1])
        mvi_turn_duration_seconds_bucket{feature="orders",le="+Inf"} \(counts[2])
        mvi_turn_duration_seconds_sum{feature="orders"} 1.5
        mvi_turn_duration_seconds_count{feature="orders"} \(counts[2])
        mvi_request_duration_seconds_bucket{route="sendIntent",le="0.002"} \(counts[1])
        mvi_request_duration_seconds_bucket{route="sendIntent",le="+Inf"} \(counts[2])
        mvi_request_duration_seconds_count{route="sendIntent"} \(counts[2])
        mvi_streams_open \(streams)
        mvi_sessions_in_memory 10050
        mvi_stores_in_memory 20090
        mvi_requests_open 3
        mvi_connections_open 120
        mvi_work_running 12
        mvi_build_info{version="0.1.0"} 1
        mvi_ready 1
        process_cpu_seconds_total \(cpu)
        process_resident_memory_bytes 536870912
        process_open_fds 214
        process_max_fds 1048576
        process_start_time_seconds 1790000000
        process_threads 19

        """
    }
}
