import Locking
import SessionJournal

@testable import PostgresJournal

/// Stores a journal's news, and waits for them.
final class NewsKeeper: Sendable {
    private struct State {
        var news: [JournalNews] = []
        var waits: [(matches: @Sendable (JournalNews) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())

    init(_ journal: PostgresJournal) { journal.listen { [self] in keep($0) } }

    private func keep(_ news: JournalNews) {
        let resumed = state.withLock { state in
            state.news.append(news)
            let resumed = state.waits.filter { $0.matches(news) }
            state.waits.removeAll { $0.matches(news) }
            return resumed
        }
        for wait in resumed { wait.resume.resume() }
    }

    var count: Int { state.withLock { $0.news.count } }

    func interruptions() -> Int {
        state.withLock { $0.news.count { if case .interrupted = $0 { true } else { false } } }
    }

    /// Waits for news, including earlier ones from an index on.
    func hear(from place: Int = 0, _ matches: @escaping @Sendable (JournalNews) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.news.dropFirst(place).contains(where: matches) { return true }
                state.waits.append((matches, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func hearInterruption(from place: Int = 0) async {
        await hear(from: place) { if case .interrupted = $0 { true } else { false } }
    }

    func hear(_ batch: JournalBatch) async {
        await hear { if case .appended(let heads) = $0 { heads[batch.session] == batch.head } else { false } }
    }
}
