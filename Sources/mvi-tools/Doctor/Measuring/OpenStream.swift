import EventStream
import LibCurl
import Locking

/// A stream that is being read, with its events and their times.
///
/// A task of its own reads it; any task may read the record and wait for changes.
final class OpenStream: Sendable {
    struct Event: Sendable {
        let name: String
        /// The time since the request.
        let arrival: Duration
        /// The `feature` in its data; nil without one.
        let feature: String?
        /// Its data, if it is short.
        let data: [UInt8]
    }

    struct Record: Sendable {
        var head: Answer?
        var events: [Event] = []
        var hasEnded = false
        /// The reason for its failure; nil for an open stream and after a clean end.
        var failure: String?
        var lastByte = Duration.zero
        var longestSilence = Duration.zero
        /// The time from the request to the stream's end.
        var length: Duration?
    }

    private struct State {
        var record = Record()
        var changes = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
    }

    /// The maximal number of events that are read.
    private static let eventLimit = 10_000
    private static let dataLimit = 4_096

    private let state: Lock<State>
    private let reader: Task<Void, Never>
    private let start: ContinuousClock.Instant

    init(_ client: CurlClient, _ request: CurlRequest) {
        let state = Lock(State())
        let start = ContinuousClock.now
        (self.state, self.start) = (state, start)
        reader = Task { await Self.read(client, request, start, state) }
    }

    deinit { reader.cancel() }

    /// Closes the stream.
    func close() async {
        reader.cancel()
        await reader.value
    }

    var record: Record { state.withLock { $0.record } }

    /// The time since the request.
    var age: Duration { ContinuousClock.now - start }

    /// Waits until `find` returns a value for the record; nil at the timeout or the end of the stream.
    func first<Found: Sendable>(
        within limit: Duration, _ find: @escaping @Sendable (Record) -> Found?
    ) async -> Found? {
        // Existing events count, however short the timeout is.
        if let found = find(record) { return found }
        return await mvi_tools.within(limit) { [self] in
            while !Task.isCancelled {
                let (record, changes) = state.withLock { ($0.record, $0.changes) }
                if let found = find(record) { return found }
                guard !record.hasEnded else { return nil }
                await change(after: changes)
            }
            return nil
        }
    }

    /// Returns after the record has changed more often than this, or after cancellation.
    private func change(after changes: Int) async {
        let number = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    guard state.changes == changes, !Task.isCancelled else { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    private static func change(_ state: Lock<State>, _ change: (inout Record) -> Void) {
        let waiters = state.withLock { state in
            change(&state.record)
            state.changes += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// The parser's state for the answer's bytes.
    private struct Reading {
        var parser = EventParser(maximumLineLength: 4 << 20, maximumEventLength: 4 << 20)
        var count = 0
        var failure: String?

        mutating func take(_ bytes: [UInt8], _ arrival: Duration) -> [Event]? {
            do throws(EventParsingError) {
                let events = try parser.feed(bytes).map { event(of: $0, arrival) }
                count += events.count
                guard count > eventLimit else { return events }
                failure = "more than \(eventLimit) events"
            } catch {
                failure = "not an event stream: \(Readable.text("\(error)"))"
            }
            return nil
        }
    }

    private static func read(
        _ client: CurlClient, _ request: CurlRequest, _ start: ContinuousClock.Instant, _ state: Lock<State>
    ) async {
        let reading = Lock(Reading())
        var failure: String?
        do throws(CurlFailure) {
            try await client.stream(request) { part in
                let arrival = ContinuousClock.now - start
                switch part {
                case .head(let head):
                    change(state) { record in
                        record.head = Answer(head)
                        record.lastByte = arrival
                    }
                case .bytes(let bytes):
                    guard let events = reading.withLock({ $0.take(bytes, arrival) }) else { return false }
                    change(state) { record in
                        record.longestSilence = max(record.longestSilence, arrival - record.lastByte)
                        record.lastByte = arrival
                        record.events += events
                    }
                }
                return true
            }
        } catch {
            failure = error.reason == .cancelled ? nil : reading.withLock { $0.failure } ?? ServerLink.words(error)
        }
        change(state) { record in
            record.hasEnded = true
            record.failure = failure
            record.length = ContinuousClock.now - start
        }
    }

    private static func event(of parsed: ParsedEvent, _ arrival: Duration) -> Event {
        Event(
            name: parsed.name, arrival: arrival, feature: Wire.read(FeatureEvent.self, parsed.data)?.feature,
            data: parsed.data.count <= dataLimit ? parsed.data : [])
    }
}
