import Locking
import MVI
import SessionJournal

/// The locale and the time zone of clients.
extension Session {
    /// The values that a client of this session, or of a space, has set.
    func settings(of client: SessionClient) -> ClientSettings? {
        if let credential = client.credential { return credential.settings }
        return (client.caller ?? self).core.withLock { $0.settings }
    }

    /// The locale and the time zone of a client.
    package func info(of client: SessionClient) -> ClientInfo { ClientInfo(settings(of: client), client.origin) }

    /// Sets a client's values, and has its streams show the views of its audiences by them.
    ///
    /// - Parameter credential: nil for the client with the session's own token.
    package func apply(_ settings: ClientSettings?, to credential: Credential?) {
        guard credential?.set(settings) ?? core.withLock({ $0.set(settings) }) else { return }
        accessGeneration.add(1, ordering: .releasing)
        changeStreams { core in
            for index in core.streams.all.indices where core.streams.all[index].credential === credential {
                core.streams.all[index].hasNews = true
            }
        }
    }

    /// Adopts the settings that another process stored.
    func adoptSettings(_ news: StoredSession) {
        // What was read before a change here does not undo it.
        guard news.accessChanges >= core.withLock({ $0.accessChanges }) else { return }
        apply(news.record.settings, to: nil)
        for credential in credentials {
            guard let stored = news.credentials.first(where: { $0.token == credential.hash }) else { continue }
            apply(stored.settings, to: credential)
        }
    }
}

extension SessionCore {
    /// Returns false if the client with the session's own token has these settings already.
    fileprivate mutating func set(_ settings: ClientSettings?) -> Bool {
        defer { self.settings = settings }
        return self.settings != settings
    }
}

extension SessionTable {
    /// Sets the locale and the time zone of a client, after the journal has them. A session that is not stored has those of
    /// its token: others store it.
    ///
    /// - Parameter credential: nil for the client with the session's own token.
    package func set(
        _ settings: ClientSettings?, of session: Session, _ credential: Credential?
    ) async throws(StoreError) {
        if let refusal = session.refusal(of: SessionClient(credential)) { throw refusal }
        if session.settings(of: SessionClient(credential)) == settings { return }
        let token = credential?.hash ?? session.tokenHash
        try await change(
            session, requires: credential.map { [$0.hash] } ?? [],
            settings: CredentialChange.NewSettings(token: token, value: settings))
        session.apply(settings, to: credential)
    }
}
