import Locking
import MVI
import SessionJournal

/// The delivery of messages to other sessions.
extension SessionTable {
    package typealias Forward = @Sendable (ToldMessage, TokenHash, NodeRecord) async -> TurnOutcome?

    /// Has the sessions tell each other their messages.
    ///
    /// - Parameter forward: sends a message to the node that owns its receiver. Returns nil if that does not answer.
    package func connectMessages(forward: Forward? = nil) {
        environment.onMessage { [weak self] message in
            guard let self else { return .unavailable(.sessionEnded) }
            return await post(message, forward)
        }
    }

    /// Delivers a message that another node forwards, if its receiver runs its turns here.
    package func deliver(_ message: ToldMessage, to token: TokenHash) async -> TurnOutcome {
        switch await found(token) {
        case .live(let session, _): await run(message, in: session)
        case .damaged(_, let error), .failed(let error): .unavailable(error)
        // The node that asks finds out what became of it, or makes a space anew.
        case .ended, .unknown: .elsewhere(.elsewhere)
        }
    }

    private func post(_ message: ToldMessage, _ forward: Forward?) async -> TurnOutcome {
        let lookups: [SessionLookup]
        do throws(StoreError) {
            switch message.receiver.kind {
            case .shared:
                guard let name = environment.features.space(of: message.feature) else { throw .featureNotFound }
                lookups = [await awaitResult { done in space(name, permit: { nil }) { done($0) } }]
            case .session(let id): lookups = await found(try await records(.id(id)))
            case .subject(let subject): lookups = await found(try await records(.subject(subject)))
            }
        } catch {
            return .unavailable(error)
        }
        // The worst of several, after all were told: one that is told again does not run it twice.
        var worst = TurnOutcome.refused(.sessionEnded)
        for lookup in lookups {
            let outcome: TurnOutcome
            switch lookup {
            case .live(let session, _): outcome = await deliver(message, to: session, forward)
            case .damaged(_, let error), .failed(let error): outcome = .unavailable(error)
            case .ended, .unknown: continue
            }
            if outcome.rank >= worst.rank { worst = outcome }
        }
        return worst
    }

    private func found(_ records: [SessionRecord]) async -> [SessionLookup] {
        var lookups: [SessionLookup] = []
        for record in records where record.space == nil { lookups.append(await found(record.tokenHash)) }
        return lookups
    }

    private func run(_ message: ToldMessage, in session: Session) async -> TurnOutcome {
        await withCheckedContinuation { continuation in
            session.startLoads([message.feature])
            session.enqueue(MessageJob(session, message) { continuation.resume(returning: $0) })
        }
    }

    /// Runs a message where its receiver's turns run.
    private func deliver(_ message: ToldMessage, to session: Session, _ forward: Forward?) async -> TurnOutcome {
        await whereOwned(
            session, isElsewhere: { if case .elsewhere = $0 { true } else { false } },
            asking: { await forward?(message, session.tokenHash, $0) },
            { await run(message, in: session) })
    }
}

extension TurnOutcome {
    /// Its place among the outcomes of several receivers: higher if the message has to be told again.
    fileprivate var rank: Int {
        switch self {
        case .refused, .unjudged: 0
        case .ran, .replayed: 1
        case .failed: 2
        case .unavailable, .elsewhere, .needsStore, .dropped: 3
        }
    }
}
