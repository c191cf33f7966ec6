import MVI
import SessionJournal
import Testing

@testable import PostgresJournal

/// A client that counts: each turn's state is its number. After a failed append it continues like a session.
struct Client: Sendable {
    let session: TestSession
    private(set) var head = SessionHead.empty
    /// The number of appends that were acknowledged, or found in the log after an unknown outcome.
    private(set) var kept = 0
    private(set) var unknown = 0
    private(set) var failed = 0

    init(_ session: TestSession, after head: SessionHead = .empty, kept: Int = 0) {
        (self.session, self.head, self.kept) = (session, head, kept)
    }

    /// Appends one turn, with retries until it is certainly stored once.
    mutating func count(in journal: PostgresJournal, until deadline: ContinuousClock.Instant) async throws {
        let batch = session.turn(after: head, state: "\(kept + 1)", labels: ["\(kept + 1)"])
        while true {
            try #require(ContinuousClock.now < deadline, "the journal did not recover")
            switch await journal.append(batch) {
            case .committed:
                (head, kept) = (batch.head, kept + 1)
                return
            case .failed:
                failed += 1
                await Task.yield()
            case .unknown:
                unknown += 1
                guard try await isKept(batch, in: journal, until: deadline) else { continue }
                (head, kept) = (batch.head, kept + 1)
                return
            case .conflict:
                Issue.record("a conflict: what was certainly not kept was kept later")
                throw ClientCannotGoOn()
            case .duplicate, .callersChanged, .heardBefore:
                Issue.record("a receipt or a caller from nowhere")
                throw ClientCannotGoOn()
            }
        }
    }

    /// Resolves an unknown outcome by reading, like sessions.
    private func isKept(
        _ batch: JournalBatch, in journal: PostgresJournal, until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        while true {
            try #require(ContinuousClock.now < deadline, "the journal did not recover")
            guard let news = try? await journal.news(session, since: head) else {
                await Task.yield()
                continue
            }
            if news.recentHeads.contains(batch.head) { return true }
            #expect(news.head == head)
            return false
        }
    }

    /// Checks that every acknowledged append is stored exactly once.
    func expectAll(in journal: PostgresJournal) async throws {
        let news = try #require(try await journal.news(session))
        #expect(news.head == head)
        #expect(news.changed.first.map { String(decoding: $0.state, as: UTF8.self) } == "\(kept)")
        #expect(news.labels.map { String(decoding: $0.json, as: UTF8.self) } == (1...kept).map { "\($0)" })
    }
}

struct ClientCannotGoOn: Error {}
