import MVI
import SessionJournal

/// The client of a stream, as it is compared with the addressees of labels.
final class LabelReader: Sendable {
    private let session: String
    /// Its name as a sender; nil in its own session.
    private let sender: String?
    private let client: SessionClient

    init(_ client: SessionClient, in session: Session) {
        (self.client, self.session) = (client, (client.caller ?? session).id)
        sender = client.caller.map { session.senderID(of: $0.visitor(client.credential)) }
    }

    /// - Parameter audiences: the JSON of the client's audiences; nil if they are not known, and any may be its own.
    func isMeant(by label: StoredLabel, _ audiences: [FeatureID: [UInt8]]?) -> Bool {
        switch label.to {
        case nil: return true
        case .audience(let json)?: return audiences.map { $0[label.feature] == json } ?? true
        case .sender(let id)?: return sender == id
        case .session(let id)?: return session == id
        case .subject(let subject)?:
            let standing = client.standing
            return !standing.isEmpty && standing.allSatisfy { $0?.identity == subject }
        }
    }
}

extension SessionCore {
    /// True if a stream has yet to look at directed labels.
    func hasDirected(_ index: Int) -> Bool { streams.all[index].nextLabel < outbox.directedEnd }

    /// True if a directed label is for a stream's client, as it is now.
    mutating func isMeant(by label: StoredLabel, _ index: Int, _ stream: SessionStream, _ forms: StreamForms?) -> Bool {
        let rare = streams.all[index].makeRare()
        let reader = rare.reader ?? LabelReader(stream.client, in: stream.session)
        rare.reader = reader
        return reader.isMeant(by: label, forms?.audiences ?? [:])
    }

    /// True if a label that a stream has yet to look at is directed to its client: its step is not that of others.
    mutating func isAnyDirected(to index: Int, _ stream: SessionStream, _ forms: StreamForms?) -> Bool {
        guard hasDirected(index) else { return false }
        for next in outbox.index(from: streams.all[index].nextLabel)..<outbox.count {
            let label = outbox.entries[next].label
            if label.to != nil, isMeant(by: label, index, stream, forms) { return true }
        }
        return false
    }

    /// Has a stream tell of directed labels that left the outbox if its client was meant.
    mutating func noteMissed(_ rare: StreamState.Rare, _ index: Int, _ stream: SessionStream, _ forms: StreamForms?) {
        for label in rare.missed where isMeant(by: label, index, stream, forms) { rare.reset = (.overflow, true) }
        rare.missed = []
    }

    /// True if a label was published while the stream's client could not see its feature.
    func isHidden(_ label: StoredLabel, from index: Int) -> Bool {
        // A space keeps no history of access: what is written now is judged by the access now.
        if life == .space { return streams.all[index].denied.contains(label.feature) }
        guard let access, let record = access[streams.all[index].credential?.number ?? 0] else { return false }
        return record.hides(label.feature, number: label.id.number)
    }
}

extension SessionCore {
    /// True if a stream's next step needs the JSON of its client's audiences, which `forms` does not have.
    func wantsAudiences(of number: UInt64, _ forms: StreamForms) -> Bool {
        forms.audiences == nil && streams.index(of: number).map(hasDirected) == true
    }
}

extension SessionStream {
    /// The JSON of the client's audiences. Calls the features' code, so under no lock.
    ///
    /// - Parameter areKnown: true if the client is who it was when they were judged last.
    func audiencesAsJSON(areKnown: Bool) -> [FeatureID: [UInt8]] {
        let uses = audiences.withLock { $0.uses }
        let viewers = areKnown ? [] : session.viewers(of: client)
        return uses.compactMapValues { use in (areKnown ? use.key : use.book.audience(of: viewers))?.json }
    }
}
