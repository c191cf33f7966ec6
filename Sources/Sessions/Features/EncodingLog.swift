import MVI
import SessionJournal
import WireJSON

/// Turns a store's turns into bytes, once each, and hands them to its session.
struct EncodingLog<F: Feature>: TurnLog {
    let feature: F
    let stateLimit: Int
    let outboxLimit: Int
    let commit: EncodingCommit

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        var batch = EncodedBatch(turns: [], state: nil, schemaVersion: F.schemaVersion)
        batch.turns.reserveCapacity(turns.count)
        do throws(CommitFailure) {
            for turn in turns { batch.turns.append(try encode(turn)) }
            // Only the state after the last turn is kept.
            if let last = turns.last, turns.contains(where: { $0.stateChanged }) {
                batch.state = try encodeState(last, view: batch.turns.last?.view)
            }
        } catch {
            return .failed(error)
        }
        return commit(batch) { [feature] in done(Self.result($0, feature)) }.map { Self.result($0, feature) }
    }

    private static func result(_ outcome: SessionCommit, _ feature: F) -> CommitResult<F> {
        switch outcome {
        case .committed: return .committed
        case .failed(let failure): return .failed(failure)
        case .conflict(let head):
            do {
                return .conflict(newer: try StoredState.read(head, of: F.self, initial: feature.initialState))
            } catch {
                return .failed(
                    CommitFailure(.unavailable, "Another writer left a state that cannot be read: \(error)"))
            }
        }
    }

    private func encode(_ turn: TurnRecord<F>) throws(CommitFailure) -> EncodedTurn {
        var view: [UInt8]?
        if turn.viewChanged {
            let bytes = try Self.orInvalid { () throws(WireEncodingError) in try WireJSON.encode(turn.view) }
            guard bytes.count <= stateLimit else {
                throw CommitFailure(
                    .tooLarge, "The view state would take \(bytes.count) bytes; at most \(stateLimit) are kept.")
            }
            view = bytes
        }
        var labels: [EncodedLabel] = []
        var labelBytes = 0
        for label in turn.labels {
            let json = try Self.orInvalid { () throws(WireEncodingError) in try WireJSON.encode(label) }
            labelBytes += json.count + Outbox.overhead
            labels.append(EncodedLabel(json: json, timeToLive: feature.timeToLive(of: label)))
        }
        guard labelBytes <= outboxLimit else {
            throw CommitFailure(
                .tooLarge, "The turn's labels would take \(labelBytes) bytes; at most \(outboxLimit) are kept.")
        }
        return EncodedTurn(
            intentID: turn.intentID, view: view, labels: labels, recording: nil,
            reply: turn.attachment as? PendingReply)
    }

    private func encodeState(_ turn: TurnRecord<F>, view: [UInt8]?) throws(CommitFailure) -> [UInt8] {
        let bytes = try Self.orInvalid { () throws(WireEncodingError) in try StoredState.write(turn.state) }
        guard bytes.count <= stateLimit else {
            throw CommitFailure(
                .tooLarge, "The state would take \(bytes.count) bytes; at most \(stateLimit) are kept.")
        }
        return bytes
    }

    private static func orInvalid<Value>(
        _ encode: () throws(WireEncodingError) -> Value
    ) throws(CommitFailure) -> Value {
        do throws(WireEncodingError) {
            return try encode()
        } catch {
            throw CommitFailure(.invalid, "The turn's outcome cannot be written as JSON: \(error)")
        }
    }
}
