import MVI
import WireJSON

/// The members of a recording. Outside of `TurnRecording`, since a generic type's own types are looked up at run time.
private enum Member: CodingKey {
    case intent, cause, actions, messages, state, view, labels
    case kind, schemaVersion, subject, sender, locale, timeZone, now, uuids, viewers, reads, directed, sends, launched
    case tells, toldBy, by, microseconds, failure, refusal
}

/// In this module, since `MVI` does not know the wire's JSON.
extension TurnRecording {
    /// Returns the recording as JSON. Its last member is the state: see `RecordingText`. Omits facts that the turn does not
    /// have, and actions and messages that are not `Encodable`.
    ///
    /// - Parameter state: the state's text, if it is known.
    @inlinable
    func json(
        state: [UInt8]? = nil, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(WireEncodingError) -> [UInt8] {
        var object = JSONObject(size: 320 + (state?.count ?? 0), userInfo: userInfo)
        object.add("intent", intent)
        if let cause { try object.add("cause", storing: cause) }
        try object.add("actions", storingEach: actions)
        try object.add("messages", storingEach: messages)
        if let view { try object.add("view", storing: view) }
        try object.add("labels", storingEach: labels)
        if let kind = facts.kind { object.add("kind", kind.rawValue) }
        if let version = facts.schemaVersion { object.add("schemaVersion", version) }
        if let subject = facts.subject { try object.add("subject", storing: subject) }
        if let sender = facts.sender { try object.add("sender", storing: sender) }
        if let locale = facts.locale { object.add("locale", locale) }
        if let zone = facts.timeZone { object.add("timeZone", zone) }
        if let now = facts.now { try object.add("now", storing: now) }
        if !facts.uuids.isEmpty { try object.add("uuids", storing: facts.uuids) }
        if let viewers = facts.viewers {
            try object.add("viewers", storing: Viewers<F.Presence>(json: Array(viewers.utf8), of: F.self))
        }
        if !facts.reads.isEmpty { try object.add("reads", storing: facts.reads) }
        if !facts.directed.isEmpty { try object.add("directed", storing: facts.directed) }
        if !facts.sends.isEmpty { try object.add("sends", storing: facts.sends) }
        if !facts.tells.isEmpty { try object.add("tells", storing: facts.tells) }
        if let session = facts.toldBy { object.add("toldBy", session) }
        if !facts.launched.isEmpty { try object.add("launched", storing: facts.launched) }
        if let turn = facts.by { object.add("by", turn) }
        if let microseconds = facts.microseconds { object.add("microseconds", microseconds) }
        if let failure = facts.failure { object.add("failure", failure) }
        if let refusal = facts.refusal { object.add("refusal", refusal) }
        if let state { object.add("state", json: state) } else { try object.add("state", storing: self.state) }
        return WireJSON.trimmed(object.close())
    }

    private static func facts(_ members: KeyedDecodingContainer<Member>) throws -> TurnFacts {
        func list<Element: Decodable>(_ key: Member) throws -> [Element] {
            try members.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        var facts = TurnFacts()
        facts.kind = try members.decodeIfPresent(TurnFacts.Kind.self, forKey: .kind)
        facts.schemaVersion = try members.decodeIfPresent(Int.self, forKey: .schemaVersion)
        facts.subject = try members.decodeIfPresent(Subject.self, forKey: .subject)
        facts.sender = try members.decodeIfPresent(Sender.self, forKey: .sender)
        facts.locale = try members.decodeIfPresent(String.self, forKey: .locale)
        facts.timeZone = try members.decodeIfPresent(String.self, forKey: .timeZone)
        facts.now = try members.decodeIfPresent(Timestamp.self, forKey: .now)
        facts.viewers = try members.decodeIfPresent(Viewers<F.Presence>.self, forKey: .viewers).map {
            String(decoding: try WireJSON.encode($0), as: UTF8.self)
        }
        (facts.uuids, facts.reads) = (try list(.uuids), try list(.reads))
        facts.directed = try list(.directed)
        (facts.sends, facts.tells, facts.launched) = (try list(.sends), try list(.tells), try list(.launched))
        facts.toldBy = try members.decodeIfPresent(String.self, forKey: .toldBy)
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
