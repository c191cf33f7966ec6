import MVI
import WireJSON

/// In this module, since `MVI` does not know the wire's JSON.
extension TurnRecording {
    private enum CodingKeys: CodingKey {
        case intent, cause, actions, messages, state, view, labels
        case kind, schemaVersion, subject, now, uuids, reads, sends, launched, microseconds, failure, refusal
    }

    /// Omits facts that a turn does not have.
    private func encodeFacts(_ members: inout KeyedEncodingContainer<CodingKeys>) throws {
        func list<Element: Encodable>(_ elements: [Element], _ key: CodingKeys) throws {
            if !elements.isEmpty { try members.encode(elements, forKey: key) }
        }
        try members.encode(ifAny: facts.kind, forKey: .kind)
        try members.encode(ifAny: facts.schemaVersion, forKey: .schemaVersion)
        try members.encode(ifAny: facts.subject, forKey: .subject)
        try members.encode(ifAny: facts.now, forKey: .now)
        try list(facts.uuids, .uuids)
        try list(facts.reads, .reads)
        try list(facts.sends, .sends)
        try list(facts.launched, .launched)
        try members.encode(ifAny: facts.microseconds, forKey: .microseconds)
        try members.encode(ifAny: facts.failure, forKey: .failure)
        try members.encode(ifAny: facts.refusal, forKey: .refusal)
    }

    private static func facts(_ members: KeyedDecodingContainer<CodingKeys>) throws -> TurnFacts {
        func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] {
            try members.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        var facts = TurnFacts()
        facts.kind = try members.decodeIfPresent(TurnFacts.Kind.self, forKey: .kind)
        facts.schemaVersion = try members.decodeIfPresent(Int.self, forKey: .schemaVersion)
        facts.subject = try members.decodeIfPresent(Subject.self, forKey: .subject)
        facts.now = try members.decodeIfPresent(Timestamp.self, forKey: .now)
        (facts.uuids, facts.reads) = (try list(.uuids), try list(.reads))
        (facts.sends, facts.launched) = (try list(.sends), try list(.launched))
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
        if WireJSON.isOther(encoder) { return try WireJSON.encodeStored(self, to: encoder) }
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(intent, forKey: .intent)
        try members.encode(ifAny: cause, forKey: .cause)
        try members.encode(actions, forKey: .actions)
        try members.encode(messages, forKey: .messages)
        try members.encode(ifAny: view, forKey: .view)
        try members.encode(labels, forKey: .labels)
        try encodeFacts(&members)
        // Last: see `RecordingText`.
        try members.encode(state, forKey: .state)
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
        let members = try decoder.container(keyedBy: CodingKeys.self)
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

extension KeyedEncodingContainer {
    /// Omits nil. The encoding of stored values writes it as `null` with `encodeIfPresent`.
    fileprivate mutating func encode<Value: Encodable>(ifAny value: Value?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) }
    }
}
