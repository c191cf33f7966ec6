import Glibc
import Locking
import Logging
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd. Streams leave the library after their head was sent.
package final class HTTPServer: Sendable {
    private struct Running {
        var core: ServerCore
        /// One for each thread of the reactor.
        var daemons: [Daemon]
        /// One for each listening socket.
        var acceptors: [Acceptor]
        var port: UInt16
    }

    private enum State {
        case new
        case starting
        case running(Running)
        case stopping(Running, waiting: [CheckedContinuation<Void, Never>])
        case stopped(port: UInt16)
    }

    private let configuration: HTTPServerConfiguration
    private let logger: Logger
    private let handler: any RequestHandler
    private let testsHandOver: Bool
    private let state = Lock(State.new)

    /// A server that is not started yet.
    package convenience init(configuration: HTTPServerConfiguration, logger: Logger, handler: any RequestHandler) {
        self.init(configuration, logger, handler, testsHandOver: true)
    }

    init(
        _ configuration: HTTPServerConfiguration, _ logger: Logger, _ handler: any RequestHandler, testsHandOver: Bool
    ) {
        self.configuration = configuration
        self.logger = logger
        self.handler = handler
        self.testsHandOver = testsHandOver
    }

    /// Listens, and serves from its return on. Call it once.
    ///
    /// The first start in a process checks over loopback that this libmicrohttpd leaves a handed-over socket open.
    /// Ignores `SIGPIPE` in the whole process from then on. A started server must be shut down.
    package func start() throws(HTTPServerError) {
        let isNew = state.withLock { state in
            guard case .new = state else { return false }
            state = .starting
            return true
        }
        guard isNew else {
            throw HTTPServerError(.alreadyStarted, "The server was started before. Create a new one to start again.")
        }
        do {
            let running = try launch()
            state.withLock { $0 = .running(running) }
        } catch {
            state.withLock { $0 = .stopped(port: 0) }
            throw error
        }
    }

    private func launch() throws(HTTPServerError) -> Running {
        try check()
        signal(SIGPIPE, SIG_IGN)
        if testsHandOver {
            try HandOverTest.run()
        }
        let (listenSocket, port) = try ListenSocket.open(host: configuration.host, port: configuration.port)
        let unixSocket: UnixSocket.Listening?
        let core: ServerCore
        do throws(HTTPServerError) {
            unixSocket = try configuration.unixSocket?.open()
        } catch {
            close(listenSocket)
            throw error
        }
        let closeSockets = {
            close(listenSocket)
            guard let unixSocket else { return }
            unixSocket.removeFile()
            close(unixSocket.descriptor)
        }
        do throws(HTTPServerError) {
            core = try ServerCore(configuration, logger, handler)
        } catch {
            closeSockets()
            throw error
        }
        var daemons: [Daemon] = []
        do throws(HTTPServerError) {
            for thread in core.reactor.threads { daemons.append(try Daemon(core, thread)) }
        } catch {
            closeSockets()
            core.reactor.halt()
            daemons.forEach { $0.stop() }
            throw error
        }
        var acceptors = [Acceptor(core, daemons, listenSocket: listenSocket)]
        if let unixSocket { acceptors.append(Acceptor(core, daemons, unixSocket: unixSocket)) }
        let running = Running(core: core, daemons: daemons, acceptors: acceptors, port: port)
        let isDriven = zip(core.reactor.threads, daemons).allSatisfy { $0.drive($1) }
        guard isDriven, acceptors.allSatisfy({ $0.start() }) else {
            finish(running)
            throw HTTPServerError(.cannotListen, "Cannot watch the listening socket: the system refuses it.")
        }
        return running
    }

    private func check() throws(HTTPServerError) {
        func need(_ holds: Bool, _ message: String) throws(HTTPServerError) {
            if !holds { throw HTTPServerError(.invalidConfiguration, message) }
        }
        try need(configuration.threads >= 1, "threads is \(configuration.threads); it must be at least 1.")
        try need(configuration.headLimit >= 1024, "headLimit is \(configuration.headLimit); it must be at least 1024.")
        try need(configuration.bodyLimit >= 0, "bodyLimit is \(configuration.bodyLimit); it must not be negative.")
        try need(
            configuration.connectionLimit >= 1,
            "connectionLimit is \(configuration.connectionLimit); it must be at least 1.")
    }

    /// The bound port; 0 before `start`.
    package var port: UInt16 {
        state.withLock { state in
            switch state {
            case .new, .starting: 0
            case .running(let running), .stopping(let running, _): running.port
            case .stopped(let port): port
            }
        }
    }

    /// Calls `answer` after every thread of the reactor has run its loop; at once if the server is not running.
    package func askReactor(_ answer: @escaping @Sendable () -> Void) {
        let core = state.withLock { state -> ServerCore? in
            guard case .running(let running) = state else { return nil }
            return running.core
        }
        guard let core else { return answer() }
        core.reactor.ask(answer)
    }

    /// The task queues of the server's threads; none before `start` and after `shutdown` has begun. Each runs a task on
    /// its thread, in order, or returns false if the thread has ended.
    package var loops: [@Sendable (@escaping @Sendable () -> Void) -> Bool] {
        state.withLock { state in
            guard case .running(let running) = state else { return [] }
            return running.core.reactor.threads.map { thread in { thread.perform($0) } }
        }
    }

    /// The used bytes of the bodies' budget.
    var heldBodyBytes: Int {
        state.withLock { state in
            guard case .running(let running) = state else { return 0 }
            return running.core.heldBodyBytes
        }
    }

    /// The server's current counts; all zero before `start` and after `shutdown`.
    package var statistics: HTTPServerStatistics {
        let core = state.withLock { state -> ServerCore? in
            switch state {
            case .new, .starting, .stopped: nil
            case .running(let running), .stopping(let running, _): running.core
            }
        }
        return core?.statistics ?? HTTPServerStatistics()
    }

    /// Stops accepting, gives requests and streams `grace` to end, then answers waiting requests with 503, cuts the
    /// remaining streams, and closes everything. Meanwhile every response closes its connection.
    ///
    /// Returns when everything is closed. May be called repeatedly and concurrently: each call returns when that is
    /// done. Must not be called from a handler.
    package func shutdown(grace: Duration) async {
        let running = state.withLock { state -> Running? in
            guard case .running(let running) = state else { return nil }
            state = .stopping(running, waiting: [])
            return running
        }
        guard let running else { return await waitForShutdown() }
        await drain(running, grace)
        await stop(running)
        let waiting = state.withLock { state in
            guard case .stopping(_, let waiting) = state else { preconditionFailure("cannot stop twice") }
            state = .stopped(port: running.port)
            return waiting
        }
        waiting.forEach { $0.resume() }
    }

    private func waitForShutdown() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard case .stopping(let running, let waiting) = state else { return true }
                state = .stopping(running, waiting: waiting + [continuation])
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func drain(_ running: Running, _ grace: Duration) async {
        let core = running.core
        core.isDraining.store(true, ordering: .sequentiallyConsistent)
        running.acceptors.forEach { $0.stop() }
        // Nothing listens from here on. A client that does not complete its request must not delay the others.
        core.reactor.members(of: .connection).forEach { ($0 as? ConnectionWatch)?.hurryRequest() }
        let isIdle: @Sendable () -> Bool = {
            core.reactor.count(of: .acceptor) == 0 && core.openRequests.load(ordering: .acquiring) == 0
                && core.reactor.count(of: .stream) == 0
        }
        guard await !core.progress.wait(atMost: grace, until: isIdle) else { return }
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        core.reactor.members(of: .stream).forEach { ($0 as? StreamHandle)?.abort(.shutdown) }
    }

    /// Stops the hand-over test's server after its one stream has ended. Blocks until everything is closed.
    func stopAfterTest() {
        let running = state.withLock { state -> Running? in
            guard case .running(let running) = state else { return nil }
            state = .stopped(port: running.port)
            return running
        }
        guard let running else { return }
        finish(running)
    }

    private func finish(_ running: Running) {
        // First the threads, since a daemon is used by one thread at a time.
        running.core.reactor.halt()
        running.daemons.forEach { $0.stop() }
        running.core.reactor.dismiss()
    }

    private func stop(_ running: Running) async {
        let core = running.core
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        for member in core.reactor.members(of: .connection) {
            (member as? ConnectionWatch)?.exchange?.overrule(core.response(to: .stopping))
        }
        // Without a limit: the daemon must not stop before, and each of them has its response.
        while await !core.progress.wait(atMost: .seconds(1), until: { core.waiting.count == 0 }) {}
        // Leaves a moment to send the responses, also to refused clients.
        _ = await core.progress.wait(atMost: .seconds(1)) {
            core.openRequests.load(ordering: .acquiring) == 0 && core.reactor.count(of: .linger) == 0
        }
        await withCheckedContinuation { continuation in
            // Joining threads blocks, which is not allowed in the task pool.
            let thread = SystemThread {
                self.finish(running)
                continuation.resume()
            }
            guard let thread else { preconditionFailure("the system has no thread to stop the server with") }
            thread.detach()
        }
    }
}
