import MVI
import WireJSON

/// In this module, since `MVI` does not know the wire's JSON.
extension TurnRecording {
    private enum CodingKeys: CodingKey { case intent, cause, actions, messages, state, labels }
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
        try members.encodeIfPresent(cause, forKey: .cause)
        try members.encode(actions, forKey: .actions)
        try members.encode(messages, forKey: .messages)
        try members.encode(state, forKey: .state)
        try members.encode(labels, forKey: .labels)
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
            labels: try members.decode([F.Label].self, forKey: .labels))
    }
}
