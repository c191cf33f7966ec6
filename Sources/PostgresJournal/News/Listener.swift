import Locking
import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A thread that receives news from other processes on its own connection.
///
/// `LISTEN` belongs to a connection's session, so this connection must not use a pooler that gives each transaction to
/// another server process. Heartbeats from a writer's connection test the channel. Without them, `interrupted` is sent
/// every few seconds, and its receiver compares its data with the database.
final class Listener {
    private let engine: PostgresEngine
    private let wake: WakePipe
    private var connection: PostgresConnection?
    private var nextAttempt: ContinuousClock.Instant = .now
    private var failedAttempts = 0
    private var nextBeat: ContinuousClock.Instant = .now
    /// The time of the last heartbeat or of the connection.
    private var lastBeat: ContinuousClock.Instant = .now
    private var nextPoll: ContinuousClock.Instant = .now
    private var isLate = false

    init(_ engine: PostgresEngine, _ wake: WakePipe) { (self.engine, self.wake) = (engine, wake) }

    /// The thread's main function.
    func run() {
        while !engine.isClosing {
            if connection == nil { connectIfDue() }
            if let connection {
                do { try listen(connection) } catch { lose(error) }
            } else {
                pollIfDue()
                wake.wait(until: min(nextAttempt, nextPoll))
            }
        }
        connection = nil
        engine.threadEnded()
    }

    private func connectIfDue() {
        guard ContinuousClock.now >= nextAttempt else { return }
        let options = engine.options
        do {
            let made = try PostgresConnection(engine.listenTarget, deadline: .now + options.connectTime)
            let channels = engine.channels
            _ = try made.run([PostgresStatement(engine.statements.keepalives)], deadline: .now + options.lockTime)
            try made.listen(to: [channels.news, channels.heartbeat], deadline: .now + options.lockTime)
            connection = made
            engine.count { $0.connections += 1 }
        } catch { return lose(error) }
        failedAttempts = 0
        (nextBeat, lastBeat, isLate) = (.now, .now, false)
        engine.count { $0.areNewsLate = false }
        // News sent meanwhile are lost.
        tellInterrupted()
    }

    /// Receives news until the next heartbeat is due.
    private func listen(_ connection: PostgresConnection) throws {
        if ContinuousClock.now >= nextBeat {
            nextBeat = .now + engine.options.heartbeatInterval
            engine.beat()
        }
        for notification in try connection.notifications(until: nextBeat, or: wake) {
            if notification.channel == engine.channels.heartbeat {
                heardBeat()
            } else if let news = NewsMessage(text: notification.payload).news(to: engine.channels.sender) {
                engine.hear(news)
            }
        }
        guard ContinuousClock.now - lastBeat > engine.options.heartbeatTime else { return }
        if !isLate {
            isLate = true
            engine.count { ($0.newsDelays, $0.areNewsLate) = ($0.newsDelays + 1, true) }
            engine.logger.warning(
                "News from other servers does not arrive through the journal's database; the server polls it every few seconds. Listening needs a direct connection, see --journal-listen."
            )
        }
        guard ContinuousClock.now >= nextPoll else { return }
        // Tests if the connection is dead.
        _ = try connection.run([PostgresStatement("SELECT 1")], deadline: .now + engine.options.connectTime)
        pollIfDue()
    }

    private func heardBeat() {
        lastBeat = .now
        guard isLate else { return }
        isLate = false
        engine.count { $0.areNewsLate = false }
        engine.logger.notice("News from other servers arrives through the journal's database again.")
        tellInterrupted()
    }

    private func lose(_ error: any Error) {
        if connection != nil { engine.count { $0.connectionsLost += 1 } }
        connection = nil
        if failedAttempts == 0 {
            engine.logger.warning(
                "The connection for news from other servers was lost; the server reconnects.",
                metadata: ["reason": "\(StoreError(error, at: engine.listenTarget.description))"])
        }
        let options = engine.options
        // A closed connection can often be reopened at once. Many nodes must not reconnect in the same moment.
        let pause = min(options.firstRetry * (1 << min(failedAttempts, 10)), options.lastRetry)
        nextAttempt = .now + pause * Double.random(in: 0.75...1.25)
        failedAttempts += 1
    }

    private func pollIfDue() { if ContinuousClock.now >= nextPoll { tellInterrupted() } }

    private func tellInterrupted() {
        nextPoll = .now + engine.options.pollInterval
        engine.hear(.interrupted)
    }
}
