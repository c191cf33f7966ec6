import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

/// The stores of a recorded session as they were after one of its turns, for a new session in a developer's journal.
/// Reminders, work, labels and the subject are not part of it.
package struct Fork: Sendable {
    private struct Store {
        let feature: FeatureID
        let schemaVersion: Int
        let state: [UInt8]
        let view: [UInt8]
    }

    /// The members of a recording that a fork needs.
    private struct Parts: Decodable {
        let state: JSONText?
        let view: JSONText?
        let schemaVersion: Int?
    }

    private let stores: [Store]
    /// The feature instances with recorded turns until then that were disposed of, before or after the turn.
    package let disposed: [String]

    /// The feature instances with a store.
    package var features: [String] { stores.map(\.feature.text) }

    /// - Throws: `NotRecorded` with a sentence if the recording does not have the state of each store after the turn.
    package init(_ session: RecordedSession, at turn: UInt64) throws(NotRecorded) {
        guard let first = session.turns.first?.sequence, let last = session.turns.last?.sequence else {
            throw NotRecorded("has no recorded turns.")
        }
        let numbers = Set(session.turns.map(\.sequence))
        guard numbers.contains(turn) else {
            throw NotRecorded("has recorded turns from \(first) to \(last), and \(turn) is none of them.")
        }
        let earlier = session.turns.filter { $0.sequence <= turn }
        var found: [Store] = []
        for store in session.stores {
            guard let feature = FeatureID(store.feature), (store.madeSequence ?? 0) <= turn else { continue }
            let recorded = earlier.last { $0.feature == store.feature }
            let parts = recorded?.recording.flatMap { try? WireJSON.decode(Parts.self, from: $0.bytes) }
            // Turns that were not recorded may have changed it.
            let isKnown = recorded.map { recorded in
                store.sequence.map { $0 <= recorded.sequence } ?? false
                    || (recorded.sequence...turn).allSatisfy { numbers.contains($0) }
            }
            if let parts, let state = parts.state, isKnown == true {
                found.append(
                    Store(
                        feature: feature, schemaVersion: parts.schemaVersion ?? store.schemaVersion,
                        state: Self.readable(state), view: Self.readable(parts.view ?? state)))
            } else if recorded == nil, let sequence = store.sequence, sequence <= turn {
                // It did not change since.
                found.append(
                    Store(
                        feature: feature, schemaVersion: store.schemaVersion, state: Self.readable(store.state),
                        view: Self.readable(store.state)))
            } else {
                throw NotRecorded("does not have the state of \"\(store.feature)\" after turn \(turn).")
            }
        }
        let there = Set(found.map(\.feature.text))
        disposed = Set(earlier.map(\.feature)).subtracting(there).sorted()
        guard !found.isEmpty else { throw NotRecorded("has no store after turn \(turn).") }
        stores = found
    }

    /// Returns a state with the texts of pseudonyms in the place of secrets, which a `Secret<String>` can read.
    private static func readable(_ state: JSONText) -> [UInt8] {
        var (output, rest) = ([UInt8](), state.bytes[...])
        let end = Array(#"›"}"#.utf8)
        while let start = rest.firstRange(of: SecretCoding.mark),
            let stop = rest[start.upperBound...].firstRange(of: end)
        {
            output += rest[..<start.lowerBound]
            WireJSON.appendString(
                SecretCoding.pseudonym(String(decoding: rest[start.upperBound..<stop.lowerBound], as: UTF8.self)),
                to: &output)
            rest = rest[stop.upperBound...]
        }
        return output + rest
    }

    /// Stores a new anonymous session with the stores. Returns its token.
    package func make(in journal: any Journal, now: Duration) async throws(StoreError) -> String {
        let token = SessionToken.random()
        let record = SessionRecord(
            id: Epoch.random(), tokenHash: token.hash, epoch: Epoch.random(), credential: .bearer, created: now,
            lastSeen: now)
        let key = try await awaitResult { journal.create(record, credential: nil, done: $0) }.get()
        let changes = stores.enumerated().map { index, store in
            let number = UInt64(index + 1)
            return StoreChange(
                feature: store.feature, kind: .made, number: number, version: number, made: number,
                schemaVersion: store.schemaVersion, state: store.state, view: store.view)
        }
        let head = SessionHead(number: UInt64(changes.count), nonce: .random(in: .min ... .max))
        let batch = JournalBatch(session: key, expecting: .empty, head: head, time: now, stores: changes)
        let result = await awaitResult { done in if let result = journal.append(batch, done: done) { done(result) } }
        guard case .committed = result else { throw StoreError(.unavailable, "The session was not stored: \(result)") }
        return token.text
    }
}
