import MVI
import ServiceLifecycle
import SessionJournal
import Sessions

/// Runs this server as a node: renews its lease, shows the appends of other nodes, and sends them the stores that its
/// streams show. Does nothing without a shared journal.
struct NodeService: Service {
    private static let interval: Duration = .seconds(1)
    private static let pause: Duration = .milliseconds(10)
    /// The number of beats between full comparisons with the journal and repeated messages to other nodes.
    private static let beatsBetweenComparisons = 3

    private let assembly: Assembly
    private var sessions: SessionTable { assembly.sessions }

    init(_ assembly: Assembly) { self.assembly = assembly }

    func run() async throws {
        connect()
        sessions.listen()
        await cancelWhenGracefulShutdown {
            // A node has to be reachable before it registers.
            while !assembly.isListening { guard (try? await Task.sleep(for: Self.pause)) != nil else { return } }
            var count = 0
            var (hasClockTrouble, hasAddressTrouble) = (false, false)
            repeat {
                sessions.beat(at: assembly.nodeAddress)
                let lease = sessions.environment.lease
                log(
                    lease?.clock.trouble, &hasClockTrouble,
                    end: "This machine's clock agrees with that of the journal's database again.")
                log(
                    lease?.addressTrouble, &hasAddressTrouble,
                    end: "The other node with this node's address is gone: this node runs work.")
                count += 1
                if count.isMultiple(of: Self.beatsBetweenComparisons) {
                    sessions.compareMarks()
                    sessions.refreshSeal()
                    assembly.link?.refreshKey()
                    tellOfWatchers()
                }
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }

    /// Logs a trouble once when it begins, and its end.
    private func log(_ trouble: String?, _ hasTrouble: inout Bool, end: String) {
        defer { hasTrouble = trouble != nil }
        guard hasTrouble != (trouble != nil) else { return }
        if let trouble { assembly.logger.error("\(trouble)") } else { assembly.logger.notice("\(end)") }
    }

    /// Connects the sessions to the other nodes.
    func connect() {
        guard let link = assembly.link else { return }
        link.connect(self)
        sessions.environment.onWatchElsewhere { owner, token, features in
            tell(link.client, owner, [WatchedSession(token: token, features: features)])
        }
        sessions.environment.onPresence { report in tellOthers(link.client, [report]) }
        sessions.connectMessages { message, token, owner in
            // Without an answer, it may have run: the receiver's log knows.
            try? await link.client.send(message, to: token, on: owner)
        }
        sessions.environment.onNeed { owner, token in
            // The next try shows the result.
            _ = try? await link.client.askToGiveAway(token, from: owner)
        }
    }

    /// Tells other nodes what streams of this one show, and who looks.
    func tellOfWatchers() {
        guard let link = assembly.link else { return }
        for (node, watched) in sessions.watchedElsewhere {
            tell(link.client, node, watched.map { WatchedSession(token: $0.token, features: $0.features) })
        }
        tellOthers(link.client, sessions.presences)
    }

    /// Sends the clients that look at stores here to all other nodes. Lost messages are repeated later.
    private func tellOthers(_ client: PeerClient, _ reports: [PresenceReport]) {
        guard !reports.isEmpty else { return }
        for node in sessions.environment.lease?.others ?? [] {
            Task { try? await client.send(present: reports, to: node) }
        }
    }

    /// Sends the stores that streams show. Lost messages are repeated later.
    private func tell(_ client: PeerClient, _ node: NodeRecord, _ watched: [WatchedSession]) {
        Task { try? await client.send(watched: watched, to: node) }
    }
}

extension NodeService: NodeRequests {
    func watched(by node: NodeID, _ watched: [WatchedSession]) async {
        sessions.watched(watched.map { ($0.token, $0.features) }, by: node)
    }

    func present(on node: NodeID, _ reports: [PresenceReport]) async { sessions.watched(reports, of: node) }

    func deliver(_ message: ToldMessage, to token: TokenHash) async -> TurnOutcome {
        await sessions.deliver(message, to: token)
    }

    func giveAway(session token: TokenHash) async -> Bool {
        await withCheckedContinuation { continuation in
            sessions.giveAway(token) { continuation.resume(returning: $0) }
        }
    }
}
