import Locking
import MVI
import MVITesting
import SessionJournal
import WireJSON

/// The journal of a hosted store. It records each turn, and a test decides the results of appends.
package final class AppendLog<F: Feature>: Sendable {
    /// The result of an append.
    package enum End: Sendable {
        case committed
        /// Another writer was first and changed the store to that state.
        indirect case conflict(newer: F.State)
        case failed(StoreError)

        package static var unavailable: End { .failed(StoreError(.unavailable, "The disk is gone.")) }
    }

    /// A turn as its batch records it.
    package struct Turn: Sendable {
        package let intentID: String
        package let state: F.State
        package let messages: Int
        /// The labels that are texts.
        package let labels: [String]
    }

    package static var token: TokenHash { TokenHash([UInt8](repeating: 7, count: 32)) }

    package let journal: HeldJournal
    package let isRecording: Bool
    private let state: Held

    /// The recorded appends, the results of the next ones, and the store's session: nil until the session is kept.
    private final class Held: Sendable {
        typealias Place = (session: String, feature: FeatureID, view: @Sendable (F.State) -> F.ViewState)

        let batches = Collected<(batch: JournalBatch, recordings: [RecordedTurn])>()
        /// Those of the batch that is about to be appended.
        let recordings = Lock<[RecordedTurn]>([])
        let ends: Lock<[End]>
        let place = Lock<Place?>(nil)

        init(_ ends: [End]) { self.ends = Lock(ends) }

        /// Changes the store to a state, as another writer does.
        func write(_ state: F.State, to journal: HeldJournal) {
            guard let place = place.withLock({ $0 }) else { return }
            do {
                journal.writeElsewhere(
                    place.feature, of: place.session, state: try WireJSON.encodeStored(state).bytes,
                    view: try WireJSON.encode(place.view(state)))
            } catch {
                preconditionFailure("the state is not JSON: \(error)")
            }
        }
    }

    /// - Parameters:
    ///   - ends: the results of the first appends, at once; the others are committed.
    ///   - isHolding: holds each append until `end`.
    ///   - then: called with each turn before its append completes.
    package init(
        _ ends: [End] = [], isHolding: Bool = false, isRecording: Bool = true,
        then: @escaping @Sendable (Turn) -> Void = { _ in }
    ) {
        let held = Held(ends)
        state = held
        self.isRecording = isRecording
        journal = HeldJournal { journal, _ in
            switch held.ends.withLock({ $0.isEmpty ? .committed : $0.removeFirst() }) {
            case .committed: return nil
            case .failed(let error): return .failed(error)
            case .conflict(let newer):
                // The append finds another head.
                held.write(newer, to: journal)
                return nil
            }
        } arrived: { batch in
            let recordings = held.recordings.withLock { recordings in
                defer { recordings = [] }
                return recordings
            }
            held.batches.append((batch, recordings))
            for turn in Self.turns(of: recordings) { then(turn) }
        }
        if isHolding { journal.hold() }
    }

    /// Creates a log that holds each append until the test ends it.
    package static var held: AppendLog { AppendLog(isHolding: true) }

    /// Sets the results of the next appends, which complete at once.
    package func next(_ ends: End...) { state.ends.withLock { $0 = ends } }

    // MARK: Appends

    /// The turns of each received append, including held and failed ones; without refused intents.
    package var batches: [[Turn]] { state.batches.all.map { Self.turns(of: $0.recordings) } }

    /// All received appends.
    package var appends: [JournalBatch] { state.batches.all.map(\.batch) }

    /// The recordings of all received appends.
    package var recordings: [RecordedTurn] { state.batches.all.flatMap(\.recordings) }

    /// Notes the recordings of the next append.
    func willAppend(_ recordings: [RecordedTurn]) { state.recordings.withLock { $0 = recordings } }

    /// Returns when that many appends have been received in all.
    package func batches(atLeast count: Int) async { await state.batches.atLeast(count) }

    private static func turns(of recordings: [RecordedTurn]) -> [Turn] {
        recordings.compactMap { turn in
            do {
                let recorded = try WireJSON.decode(Recorded.self, from: turn.recording)
                // It has changed nothing.
                if recorded.refusal != nil { return nil }
                return Turn(
                    intentID: recorded.intent, state: recorded.state, messages: recorded.messages.count,
                    labels: recorded.labels.compactMap(\.text))
            } catch {
                preconditionFailure("the recording is none of the feature's: \(error)")
            }
        }
    }

    private struct Recorded: Decodable {
        let intent: String
        let state: F.State
        let messages: [Value]
        let labels: [Value]
        let refusal: String?
    }

    /// Any JSON.
    private struct Value: Decodable {
        let text: String?
        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }

    // MARK: Ends

    /// Ends the append that is held longest.
    package func end(_ end: End = .committed) {
        switch end {
        case .committed: journal.releaseOne()
        case .failed(let error): journal.releaseOne(.failed(error))
        case .conflict(let newer):
            state.write(newer, to: journal)
            journal.releaseOne()
        }
    }

    // MARK: The session

    /// Keeps the session, with the store if it has a state.
    package func keepSession(
        _ session: String, _ feature: FeatureID, _ kept: F.State?, at time: Duration,
        view: @escaping @Sendable (F.State) -> F.ViewState
    ) throws {
        let record = SessionRecord(
            id: session, tokenHash: Self.token, epoch: "test", credential: .bearer, created: time, lastSeen: time)
        _ = try journal.now { journal.create(record, credential: nil, done: $0) }
        state.place.withLock { $0 = (session, feature, view) }
        if let kept { state.write(kept, to: journal) }
    }
}
