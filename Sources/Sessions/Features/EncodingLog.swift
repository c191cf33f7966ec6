import MVI
import SessionJournal
import WireJSON

/// Turns a store's turns into bytes, once each, and hands them to its session.
@usableFromInline
struct EncodingLog<F: Feature>: TurnLog {
    @usableFromInline let feature: F
    @usableFromInline let stateLimit: Int
    @usableFromInline let outboxLimit: Int
    @usableFromInline let isRecording: Bool
    @usableFromInline let commit: EncodingCommit

    @inlinable
    init(feature: F, stateLimit: Int, outboxLimit: Int, isRecording: Bool, commit: @escaping EncodingCommit) {
        self.feature = feature
        self.stateLimit = stateLimit
        self.outboxLimit = outboxLimit
        self.isRecording = isRecording
        self.commit = commit
    }

    @inlinable
    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        var batch = EncodedBatch(turns: [], state: nil, schemaVersion: F.schemaVersion)
        batch.turns.reserveCapacity(turns.count)
        do throws(CommitFailure) {
            // Only the state after the last turn is kept.
            if let last = turns.last, turns.contains(where: { $0.stateChanged }) {
                let state = try encodeState(last.state)
                batch.state = state.bytes
                for turn in turns.dropLast() { batch.turns.append(try encode(turn, view: nil)) }
                batch.turns.append(try encode(last, view: Self.view(of: last, state)))
            } else {
                for turn in turns { batch.turns.append(try encode(turn, view: nil)) }
            }
        } catch {
            return .failed(error)
        }
        return commit(batch) { [feature] in done(Self.result($0, feature)) }.map { Self.result($0, feature) }
    }

    @inlinable
    static func result(_ outcome: SessionCommit, _ feature: F) -> CommitResult<F> {
        switch outcome {
        case .committed(let version): return .committed(version: version)
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

    /// The bytes of a view state that is the whole state, which most features show: it is encoded once.
    @inlinable
    static func view(of turn: TurnRecord<F>, _ state: (bytes: [UInt8], hasNulls: Bool)) -> [UInt8]? {
        guard turn.viewChanged, !state.hasNulls, let view = turn.view as? F.State, view == turn.state else {
            return nil
        }
        return state.bytes
    }

    /// - Parameter known: the encoded view state, if it is at hand.
    @inlinable
    func encode(_ turn: TurnRecord<F>, view known: [UInt8]?) throws(CommitFailure) -> EncodedTurn {
        var view: [UInt8]?
        if turn.viewChanged {
            let bytes: [UInt8]
            if let known {
                bytes = known
            } else {
                bytes = try Self.orInvalid { () throws(WireEncodingError) in try WireJSON.encode(turn.view) }
            }
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
            labelBytes += json.count + labelOverhead
            labels.append(EncodedLabel(json: json, timeToLive: feature.timeToLive(of: label)))
        }
        guard labelBytes <= outboxLimit else {
            throw CommitFailure(
                .tooLarge, "The turn's labels would take \(labelBytes) bytes; at most \(outboxLimit) are kept.")
        }
        return EncodedTurn(
            intentID: turn.intentID, view: view, labels: labels, recording: isRecording ? record(turn) : nil,
            reply: turn.attachment as? PendingReply)
    }

    @inlinable
    func encodeState(_ state: F.State) throws(CommitFailure) -> (bytes: [UInt8], hasNulls: Bool) {
        let encoded = try Self.orInvalid { () throws(WireEncodingError) in try WireJSON.encodeStored(state) }
        guard encoded.bytes.count <= stateLimit else {
            throw CommitFailure(
                .tooLarge, "The state would take \(encoded.bytes.count) bytes; at most \(stateLimit) are kept.")
        }
        return encoded
    }

    /// What happened in a turn, as it is recorded. One that JSON cannot hold says so, so that whoever replays it hears of it.
    @usableFromInline
    func record(_ turn: TurnRecord<F>) -> [UInt8]? {
        do throws(WireEncodingError) {
            return try WireJSON.encodeStored(turn.recording).bytes
        } catch {
            return try? WireJSON.encode(UnrecordableTurn(intent: turn.intentID.text, fault: error.detail))
        }
    }

    @inlinable
    static func orInvalid<Value>(
        _ encode: () throws(WireEncodingError) -> Value
    ) throws(CommitFailure) -> Value {
        do throws(WireEncodingError) {
            return try encode()
        } catch {
            throw CommitFailure(.invalid, "The turn's outcome cannot be written as JSON: \(error)")
        }
    }
}

/// Stands for a turn whose messages or state JSON cannot hold.
private struct UnrecordableTurn: Encodable {
    let intent: String
    let fault: String
}
