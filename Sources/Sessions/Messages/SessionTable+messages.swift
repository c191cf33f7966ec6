import Locking
import MVI
import SessionJournal

/// The delivery of messages to other sessions.
extension SessionTable {
    /// The number of requests for a session that another node owns.
    private static var tries: Int { 6 }

    /// Has the sessions tell each other their messages.
    ///
    /// - Parameter forward: sends a message to the node that owns its receiver. Returns nil if that does not answer.
    package func connectMessages(
        forward: (@Sendable (ToldMessage, TokenHash, NodeRecord) async -> TurnOutcome?)? = nil
    ) {
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
        case .ended, .unknown: .refused(.sessionEnded)
        }
    }

    private typealias Forward = @Sendable (ToldMessage, TokenHash, NodeRecord) async -> TurnOutcome?

    private func post(_ message: ToldMessage, _ forward: Forward?) async -> TurnOutcome {
        let lookups: [SessionLookup]
        switch message.receiver.kind {
        case .shared:
            guard let name = environment.features.space(of: message.feature) else {
                return .unavailable(.featureNotFound)
            }
            lookups = [await awaitResult { done in space(name, permit: { nil }) { done($0) } }]
        case .session(let id):
            do throws(StoreError) { lookups = await found(try await records(.id(id))) } catch {
                return .unavailable(error)
            }
        case .subject(let subject):
            do throws(StoreError) { lookups = await found(try await records(.subject(subject))) } catch {
                return .unavailable(error)
            }
        }
        // The worst of several: one that is tried again is not told twice where it was heard.
        var outcome = TurnOutcome.refused(.sessionEnded)
        for lookup in lookups {
            switch lookup {
            case .live(let session, _):
                let result = await deliver(message, to: session, forward)
                switch (result, outcome) {
                case (.unavailable, _), (.elsewhere, _), (.failed, _): return result
                case (_, .ran), (_, .replayed): break
                default: outcome = result
                }
            case .damaged(_, let error), .failed(let error): return .unavailable(error)
            case .ended, .unknown: break
            }
        }
        return outcome
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
        var count = 0
        while true {
            let outcome = await run(message, in: session)
            guard case .elsewhere = outcome, count < Self.tries else { return outcome }
            if let owner = session.owningNode, let forward,
                let answer = await forward(message, session.tokenHash, owner)
            {
                guard case .elsewhere = answer else { return answer }
            } else {
                await environment.ask(for: session)
            }
            if count > 0 {
                try? await environment.clock.sleep(for: environment.stores.pause(afterFailures: count))
            }
            await session.caughtUp()
            count += 1
        }
    }
}
