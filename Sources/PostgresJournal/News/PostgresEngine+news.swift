import Locking
import PostgreSQL
import SessionJournal

/// Who hears news, and what makes them come.
struct NewsHearing {
    var heard: (@Sendable (JournalNews) -> Void)?
    /// Ends the listener's waits; nil as long as there is no listener.
    var wake: WakePipe?
}

extension PostgresEngine {
    /// Has a function called for news. The first call starts the thread that hears them.
    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) {
        let isFirst = hearing.withLock { hearing in
            defer { hearing.heard = heard }
            return hearing.heard == nil
        }
        guard isFirst, threadStartedIfOpen() else { return }
        guard let wake = WakePipe(), let thread = SystemThread({ [self] in Listener(self, wake).run() }) else {
            logger.error("News of other servers cannot be heard: the system gave no thread or no file for it.")
            return threadEnded()
        }
        hearing.withLock { $0.wake = wake }
        thread.detach()
        // It may have been closed before the listener could be woken.
        if isClosing { wake.wake() }
    }

    func hear(_ news: JournalNews) { hearing.withLock { $0.heard }?(news) }

    func endListening() {
        let wake = hearing.withLock { hearing in
            hearing.heard = nil
            return hearing.wake
        }
        wake?.wake()
    }

    /// Sends a heartbeat to this process's listener, by a connection that does not listen.
    func beat() {
        var news = OutgoingNews()
        news.beat()
        leaveNews(news)
    }

    func tellContention(of session: SessionKey) {
        var news = OutgoingNews()
        news.contend(session)
        leaveNews(news)
    }
}
