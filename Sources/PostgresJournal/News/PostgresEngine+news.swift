import Locking
import PostgreSQL
import SessionJournal

/// The listener of news and its wake-up.
struct NewsHearing {
    var heard: (@Sendable (JournalNews) -> Void)?
    /// Ends the listener's waits; nil without a listener.
    var wake: WakePipe?
}

extension PostgresEngine {
    /// Sets the function that receives news. The first call starts the listener's thread.
    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) {
        let isFirst = hearing.withLock { hearing in
            defer { hearing.heard = heard }
            return hearing.heard == nil
        }
        guard isFirst, threadStartedIfOpen() else { return }
        guard let wake = WakePipe(), let thread = SystemThread({ [self] in Listener(self, wake).run() }) else {
            logger.error("News from other servers cannot be received: the system has no thread or file for it.")
            return threadEnded()
        }
        hearing.withLock { $0.wake = wake }
        thread.detach()
        // The journal may have been closed before the listener could be woken.
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

    /// Sends a heartbeat to this process's listener on a connection that does not listen.
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
