import MVI
import WireJSON

/// In this module, since `MVI` does not know the wire's JSON.
@usableFromInline
enum Member: String, CodingKey {
    case intent, cause, actions, messages, state, view, labels
    case kind, schemaVersion, subject, now, uuids, reads, sends, launched, by, microseconds, failure, refusal
}

extension TurnRecording {
    /// Returns the recording as JSON. Its last member is the state: see `RecordingText`. Omits facts that the turn does not
    /// have, and actions and messages that are not `Encodable`.
    ///
    /// - Parameter state: the state's text, if it is known.
    @inlinable
    func json(
        state: [UInt8]? = nil, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireEncodingError) -> [UInt8] {
        var text = ObjectText(size: 320 + (state?.count ?? 0), userInfo: userInfo)
        text.append(.intent, string: intent)
        if let cause { try text.append(.cause, cause) }
        try text.append(.actions, each: actions)
        try text.append(.messages, each: messages)
        if let view { try text.append(.view, view) }
        try text.append(.labels, each: labels)
        if let kind = facts.kind { text.append(.kind, string: kind.rawValue) }
        if let version = facts.schemaVersion { try text.append(.schemaVersion, version) }
        if let subject = facts.subject { try text.append(.subject, subject) }
        if let now = facts.now { try text.append(.now, now) }
        if !facts.uuids.isEmpty { try text.append(.uuids, facts.uuids) }
        if !facts.reads.isEmpty { try text.append(.reads, facts.reads) }
        if !facts.sends.isEmpty { try text.append(.sends, facts.sends) }
        if !facts.launched.isEmpty { try text.append(.launched, facts.launched) }
        if let turn = facts.by { text.append(.by, integer: turn) }
        if let microseconds = facts.microseconds { text.append(.microseconds, integer: microseconds) }
        if let failure = facts.failure { text.append(.failure, string: failure) }
        if let refusal = facts.refusal { text.append(.refusal, string: refusal) }
        if let state { text.append(.state, json: state) } else { try text.append(.state, self.state) }
        return text.finished()
    }

    private static func facts(_ members: KeyedDecodingContainer<Member>) throws -> TurnFacts {
        func list<Element: Decodable>(_ key: Member) throws -> [Element] {
            try members.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        var facts = TurnFacts()
        facts.kind = try members.decodeIfPresent(TurnFacts.Kind.self, forKey: .kind)
        facts.schemaVersion = try members.decodeIfPresent(Int.self, forKey: .schemaVersion)
        facts.subject = try members.decodeIfPresent(Subject.self, forKey: .subject)
        facts.now = try members.decodeIfPresent(Timestamp.self, forKey: .now)
        (facts.uuids, facts.reads) = (try list(.uuids), try list(.reads))
        (facts.sends, facts.launched) = (try list(.sends), try list(.launched))
        facts.by = try members.decodeIfPresent(UInt64.self, forKey: .by)
        facts.microseconds = try members.decodeIfPresent(UInt64.self, forKey: .microseconds)
        facts.failure = try members.decodeIfPresent(String.self, forKey: .failure)
        facts.refusal = try members.decodeIfPresent(String.self, forKey: .refusal)
        return facts
    }
}

extension TurnRecording: Encodable where F.Message: Encodable, F.Action: Encodable {
    /// Writes a recording as a server stores it, and as `Fixture` of `MVITesting` reads it. Its values are JSON as on
    /// the wire with every encoder, regardless of the encoder's format for enums and dates.
    ///
    /// - Throws: `EncodingError` for values that JSON cannot hold, such as a number that is not finite.
    public func encode(to encoder: any Encoder) throws {
        try WireJSON.encode(to: encoder) { info throws(WireEncodingError) in try json(userInfo: info) }
    }
}

extension TurnRecording: Decodable where F.Message: Decodable, F.Action: Decodable {
    /// Reads a recording that a server or ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        if WireJSON.isOther(decoder) {
            self = try WireJSON.decode(Self.self, from: decoder)
            return
        }
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            intent: try members.decode(String.self, forKey: .intent),
            cause: try members.decodeIfPresent(F.Intent.self, forKey: .cause),
            actions: try members.decode([F.Action].self, forKey: .actions),
            messages: try members.decode([F.Message].self, forKey: .messages),
            state: try members.decode(F.State.self, forKey: .state),
            view: try members.decodeIfPresent(F.ViewState.self, forKey: .view),
            labels: try members.decode([F.Label].self, forKey: .labels), facts: try Self.facts(members))
    }
}

extension ObjectText {
    @usableFromInline
    mutating func append(_ name: Member, string: String) { append(name.rawValue, string: string) }
    @usableFromInline
    mutating func append(_ name: Member, integer: UInt64) { append(name.rawValue, integer: integer) }
    @usableFromInline
    mutating func append(_ name: Member, json: [UInt8]) { append(name.rawValue, json: json) }

    @usableFromInline
    mutating func append<T: Encodable>(_ name: Member, _ value: T) throws(WireEncodingError) {
        try append(name.rawValue, value)
    }

    @usableFromInline
    mutating func append<T>(_ name: Member, each values: [T]) throws(WireEncodingError) {
        try append(name.rawValue, each: values)
    }
}
