import MVI
import SessionJournal
import WireJSON

/// Encodes what turns of a store made, and decodes what was stored.
@usableFromInline
enum StoreCoding {
    /// One object for all stores of a server, so that a closure that has it needs no allocation.
    @usableFromInline
    final class Limits: Sendable {
        @usableFromInline let state: Int
        /// The limits of a session's outbox: a turn with more labels or bytes could not be delivered completely.
        @usableFromInline let outbox: (labels: Int, bytes: Int)
        /// Writes the secrets in recordings.
        @usableFromInline let pseudonyms = Pseudonyms()

        init(_ limits: SessionLimits) {
            (state, outbox) = (limits.stateBytes, (limits.outboxLabels, limits.outboxBytes))
        }
    }

    /// Stands for the view state of a feature with audiences, which no client is shown.
    @usableFromInline static let hiddenView = Array("null".utf8)

    static func audiences<F: Feature>(of runner: TurnRunner<F>, _ limits: Limits) -> AudienceBook {
        let feature = runner.feature
        return AudienceBook(
            audience: { AudienceKey(feature.audience(of: $0)) },
            capture: { $0 ? runner.workingState : runner.state },
            encode: { state, key throws(StoreError) in
                guard let state = state as? F.State, let audience = key.value as? F.Audience else {
                    throw StoreError(.failed, "The store belongs to another feature.")
                }
                let bytes = try encoding { () throws(WireEncodingError) in
                    try WireJSON.encode(feature.view(state, for: audience))
                }
                try check(bytes, "view state", limit: limits.state)
                return bytes
            })
    }

    static func presence<F: Feature>(of feature: F) -> FaceWriter {
        { viewer throws(StoreError) in
            guard let presence = feature.presence(of: viewer) else { return nil }
            let bytes = try encoding { () throws(WireEncodingError) in try WireJSON.encode(presence) }
            try check(bytes, "presence", limit: PresenceBook.mostBytes)
            return bytes
        }
    }

    /// The turn of an action that was stored as JSON.
    static func perform<F: Feature>(_ json: [UInt8], of type: F.Type) throws -> RunTurn {
        TurnRunner<F>.perform(try action(of: type, json))
    }

    /// Makes another writer's state the head. Returns the members that would be lost, as `lost` does.
    static func adopt<F: Feature>(
        _ stored: StoredStore, by runner: any StoreRunner, of type: F.Type
    ) throws(StoreError) -> [String] {
        guard let runner = runner as? TurnRunner<F> else { return [] }
        let initial = runner.feature.initialState
        switch KeptState.read(stored.state, version: stored.schemaVersion, of: F.self, initial: initial) {
        case .state(let state, let lost):
            runner.adopt(state)
            return lost
        case .newer: throw .newerState
        case .unreadable(let reason): throw StoreError(.invalid, reason)
        }
    }

    // MARK: Writing

    /// Encodes each turn after it ran, so that one that cannot be stored is refused before it joins its batch.
    @inlinable
    static func output<F: Feature>(of feature: F.Type, _ limits: Limits) -> TurnRunner<F>.Output {
        let hasAudiences = F.hasAudiences
        return { (turn, view, isViewChanged) throws(StoreError) in
            var (state, shown): ([UInt8]?, [UInt8]?) = (nil, nil)
            var isViewRecorded = false
            let (secrets, userInfo) =
                turn.isRecorded ? (limits.pseudonyms.count, limits.pseudonyms.counting) : (nil, .init())
            if turn.hasMessages {
                let encoded = try encoding { () throws(WireEncodingError) in
                    try WireJSON.encodeStored(turn.state, userInfo: userInfo)
                }
                try check(encoded.bytes, "state", limit: limits.state)
                state = encoded.bytes
                if isViewChanged, hasAudiences {
                    shown = hiddenView
                    isViewRecorded = turn.isRecorded && view as? F.State != turn.state
                } else if isViewChanged {
                    // A view state that is the whole state, as in most features, is encoded once.
                    if !encoded.hasNulls, let same = view as? F.State, same == turn.state {
                        shown = encoded.bytes
                    } else {
                        let bytes = try encoding { () throws(WireEncodingError) in try WireJSON.encode(view) }
                        try check(bytes, "view state", limit: limits.state)
                        shown = bytes
                        isViewRecorded = turn.isRecorded
                    }
                }
            }
            var reminders: [EncodedReminder]?
            // Here, where the feature's types are known.
            if let requests = turn.rare?.reminders, !requests.isEmpty { reminders = try Self.reminders(requests) }
            return TurnResult(
                turn, state: state, view: shown,
                labels: turn.labels.isEmpty ? [] : try labels(of: turn, limit: limits.outbox),
                reminders: reminders,
                recording: secrets.flatMap {
                    // A text without secrets is that of the recording.
                    record(
                        TurnRecording(turn, view: isViewRecorded ? view : nil),
                        state: limits.pseudonyms.count == $0 ? state : nil, limits.pseudonyms)
                })
        }
    }

    @inlinable
    static func labels<F: Feature>(
        of turn: borrowing Turn<F>, limit: (labels: Int, bytes: Int)
    ) throws(StoreError) -> [EncodedLabel] {
        let (labels, feature) = (turn.labels, turn.feature)
        guard labels.count <= limit.labels else {
            throw StoreError(.tooLarge, "The turn published \(labels.count) labels; at most \(limit.labels) are kept.")
        }
        var addressees = (turn.rare?.addressees ?? [])[...]
        var encoded: [EncodedLabel] = []
        var bytes = 0
        for (index, label) in labels.enumerated() {
            let json = try encoding { () throws(WireEncodingError) in try WireJSON.encode(label) }
            var to: LabelAddressee?
            if let next = addressees.first, next.label == index {
                to = try addressee(next.to, of: turn)
                addressees.removeFirst()
            }
            bytes += json.count + (to?.size ?? 0)
            encoded.append(EncodedLabel(json: json, timeToLive: feature.timeToLive(of: label), to: to))
        }
        guard bytes <= limit.bytes else {
            throw StoreError(.tooLarge, "The turn's labels would take \(bytes) bytes; at most \(limit.bytes) are kept.")
        }
        return encoded
    }

    /// An addressee as it is stored; nil for everyone.
    @usableFromInline
    static func addressee<F: Feature>(
        _ addressee: Addressee<F.Audience>, of turn: borrowing Turn<F>
    ) throws(StoreError) -> LabelAddressee? {
        switch addressee.kind {
        case .everyone: return nil
        case .audience(let audience):
            // `audience` is available only for those.
            guard let audience = audience as? any Encodable else { return nil }
            return .audience(try encoding { () throws(WireEncodingError) in try WireJSON.encode(audience) })
        case .sender:
            if let sender = turn.sender { return .sender(sender.id) }
            guard !turn.isShared else { throw .noSender }
            return nil
        case .subject(let subject): return .subject(subject)
        case .session(let id): return .session(id)
        }
    }

    @usableFromInline
    static func reminders<F: Feature>(_ requests: [ReminderRequest<F>]) throws(StoreError) -> [EncodedReminder] {
        var encoded: [EncodedReminder] = []
        for request in requests {
            switch request {
            case .cancel(let id): encoded.append(EncodedReminder(id: id, action: nil))
            case .set(let id, let due, let action):
                // `remind` is available only for `Codable` actions.
                guard let action = action as? any Encodable else { continue }
                let json = try encoding { () throws(WireEncodingError) in try WireJSON.encodeStored(action).bytes }
                encoded.append(EncodedReminder(id: id, action: (due.sinceEpoch, json)))
            case .tell(let message):
                encoded.append(
                    EncodedReminder(id: "", action: (message.time.sinceEpoch, try message.encoded()), message: message))
            }
        }
        return encoded
    }

    @usableFromInline
    static func action<F: Feature>(of type: F.Type, _ json: [UInt8]) throws -> F.Action {
        guard let type = F.Action.self as? any Decodable.Type,
            let action = try WireJSON.decode(type, from: json, filling: nil) as? F.Action
        else { throw StoreError(.invalid, "The actions of the feature \"\(F.name)\" can no longer be decoded.") }
        return action
    }

    /// The record of a turn. If it contains what JSON cannot hold, or messages or actions that are not `Codable`, it
    /// says so.
    ///
    /// - Parameter state: the state's text, if it is known.
    @inlinable
    static func record<F: Feature>(
        _ recording: TurnRecording<F>, state: [UInt8]?, _ pseudonyms: Pseudonyms
    ) -> [UInt8]? {
        var fault = "the feature's messages or actions are not Codable"
        if F.Message.self is any Encodable.Type, F.Action.self is any Encodable.Type {
            do throws(WireEncodingError) {
                return try recording.json(state: state, userInfo: pseudonyms.writing)
            } catch {
                fault = error.detail
            }
        }
        return unrecordable(recording.intent, fault)
    }

    @usableFromInline
    static func unrecordable(_ intent: String, _ fault: String) -> [UInt8]? {
        try? WireJSON.encode(UnrecordableTurn(intent: intent, fault: fault))
    }

    @usableFromInline
    static func check(_ bytes: [UInt8], _ what: StaticString, limit: Int) throws(StoreError) {
        guard bytes.count <= limit else {
            throw StoreError(.tooLarge, "The \(what) would take \(bytes.count) bytes; at most \(limit) are kept.")
        }
    }

    @inlinable
    static func encoding<Value>(_ encode: () throws(WireEncodingError) -> Value) throws(StoreError) -> Value {
        do throws(WireEncodingError) {
            return try encode()
        } catch {
            throw StoreError(.notEncodable, "The turn's outcome cannot be written as JSON: \(error)")
        }
    }
}

extension SessionStore {
    /// The beginning of a store, until that is committed.
    final class Beginning: Sendable {
        /// The initial state as it is stored, and as clients see it.
        let state: [UInt8]
        let view: [UInt8]
        /// The reason why the stored state could not be read; nil if it could, or none was stored.
        let setsAside: String?
        /// JSON Pointers of members of the stored state that the feature's state does not read: the next commit would
        /// lose them.
        let lost: [String]

        init(_ state: [UInt8], _ view: [UInt8], setsAside: String?, lost: [String]) {
            (self.state, self.view, self.setsAside, self.lost) = (state, view, setsAside, lost)
        }
    }

    /// Creates a store. Throws a `StoreError` for a state of a newer version.
    ///
    /// - Parameter stored: the stored store; nil for a new one.
    convenience init<F: Feature>(
        _ feature: F, _ code: TurnCode<F>, _ definition: FeatureDefinition, _ id: FeatureID, in session: Session,
        stored: StoredStore?
    ) throws {
        let initial = feature.initialState
        var state = initial
        var setsAside: String?
        var lost: [String] = []
        if let stored {
            switch KeptState.read(stored.state, version: stored.schemaVersion, of: F.self, initial: initial) {
            case .state(let read, let members): (state, lost) = (read, members)
            case .newer: throw StoreError.newerState
            case .unreadable(let reason): setsAside = reason
            }
        }
        let shared = session.shared
        var environment = shared.storesOfFeature[definition.name] ?? shared.stores
        (environment.instance, environment.session) = (id.text, session.info)
        let runner = TurnRunner(
            feature, state: state, environment: environment, middleware: shared.middleware,
            output: code.output(shared.storeLimits))
        let kept = try stored == nil || setsAside != nil ? WireJSON.trimmed(WireJSON.encodeStored(state).bytes) : []
        let view = try F.hasAudiences ? StoreCoding.hiddenView : WireJSON.encode(runner.view)
        // One array if the view state is the whole state: both are stored.
        let beginning = Beginning(kept, view == kept ? kept : WireJSON.trimmed(view), setsAside: setsAside, lost: lost)
        self.init(
            session, id, definition, runner, environment, beginning,
            audiences: F.hasAudiences ? StoreCoding.audiences(of: runner, shared.storeLimits) : nil,
            presence: F.hasPresence ? StoreCoding.presence(of: feature) : nil, commit: code.commit(runner))
    }
}

extension StoreError {
    fileprivate static let noSender = StoreError(
        .failed,
        "The turn has no sender to whom a label could be directed. In work and reminders, use `.session` with "
            + "`turn.sender?.session` of the intent.")
}

/// Stands for a turn that cannot be recorded.
private struct UnrecordableTurn: Encodable {
    let intent: String
    let fault: String
}

/// The functions that run in each turn of a feature's stores. They are created in the author's module, for which the
/// compiler specializes them.
@usableFromInline
struct TurnCode<F: Feature>: Sendable {
    /// Decodes a body for the feature, and for the store whose runner it is.
    let decode: @Sendable (_ body: [UInt8], (any StoreRunner)?) -> DecodedIntent
    let output: @Sendable (StoreCoding.Limits) -> TurnRunner<F>.Output
    let commit: @Sendable (TurnRunner<F>) -> @Sendable () -> Void

    @inlinable
    init() {
        self.init(
            decode: { DecodedIntent($0, of: F.self, for: $1) }, output: { StoreCoding.output(of: F.self, $0) },
            commit: { runner in { runner.commit() } })
    }

    @usableFromInline
    init(
        decode: @escaping @Sendable (_ body: [UInt8], (any StoreRunner)?) -> DecodedIntent,
        output: @escaping @Sendable (StoreCoding.Limits) -> TurnRunner<F>.Output,
        commit: @escaping @Sendable (TurnRunner<F>) -> @Sendable () -> Void
    ) {
        (self.decode, self.output, self.commit) = (decode, output, commit)
    }
}

/// The result of decoding a body for its feature. It is decoded once.
@usableFromInline
enum DecodedIntent: Sendable {
    /// Asks a store's feature whether the intent needs a check first.
    @usableFromInline
    typealias CheckOf = @Sendable (any StoreRunner) -> PendingCheck?

    /// The intent's turn, and the check to ask for once there is a store.
    case turn(RunTurn, check: CheckOf?)
    /// The intent has to pass a check first.
    case check(PendingCheck)
    case fault(WireDecodingError)

    /// - Parameter runner: the store's runner; nil if no store is in memory.
    @inlinable
    init<F: Feature>(_ body: [UInt8], of feature: F.Type, for runner: (any StoreRunner)?) {
        do throws(WireDecodingError) {
            let intent = try WireJSON.decode(F.Intent.self, from: body, limits: .value)
            guard let runner = runner as? TurnRunner<F> else {
                self = .turn(TurnRunner<F>.execute(intent)) { ($0 as? TurnRunner<F>)?.check(intent) }
                return
            }
            if let check = runner.check(intent) {
                self = .check(check)
            } else {
                self = .turn(TurnRunner<F>.execute(intent), check: nil)
            }
        } catch {
            self = .fault(error)
        }
    }

    var fault: WireDecodingError? { if case .fault(let fault) = self { fault } else { nil } }
}
