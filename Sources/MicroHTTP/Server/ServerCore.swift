import Glibc
import Locking
import Logging
import Networks
import Synchronization

/// The state that a server's threads share.
final class ServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let logger: Logger
    let handler: any RequestHandler
    let reactor: Reactor
    let waiting: WaitingExchanges
    let progress: Progress
    let timeouts: ConnectionWatch.Timeouts
    let streamTiming: StreamHandle.Timing
    /// Connections that were accepted and that the library has not closed.
    let connections: Connections
    /// The bodies' use of the common budget, in units of `bodyUnit` bytes.
    private let bodyRoom: NetworkPlaces
    private let bodyUnit: Int
    /// True if an acceptor waits for a connection to close, and the functions that notify those that wait.
    private let isRoomAwaited = Atomic<Bool>(false)
    private let roomMade = Lock<[UInt64: @Sendable () -> Void]>([:])
    /// Requests in progress.
    let openRequests = Atomic<Int>(0)
    /// True if every response closes its connection.
    let isDraining = Atomic<Bool>(false)
    /// True after the grace: nothing new begins.
    let isStopping = Atomic<Bool>(false)

    init(_ configuration: HTTPServerConfiguration, _ logger: Logger, _ handler: any RequestHandler)
        throws(HTTPServerError)
    {
        self.configuration = configuration
        self.logger = logger
        self.handler = handler
        connections = Connections(configuration)
        bodyUnit = max(1, configuration.bodyBudget >> 16)
        let bodies = configuration.bodyBudget / bodyUnit
        bodyRoom = NetworkPlaces(bodies, perNetwork: bodies / 4)
        let progress = Progress()
        self.progress = progress
        waiting = WaitingExchanges { progress.changed() }
        timeouts = ConnectionWatch.Timeouts(
            head: min(configuration.headTimeout, .seconds(15)).clampedNanoseconds,
            body: configuration.bodyTimeout.clampedNanoseconds,
            answer: configuration.answerTimeout.clampedNanoseconds,
            write: configuration.writeTimeout.clampedNanoseconds,
            idle: configuration.idleTimeout.clampedNanoseconds)
        // Varied for each stream in `spreadStreamTiming()`; here the configuration's values.
        streamTiming = StreamHandle.Timing(
            heartbeat: configuration.heartbeat.clampedNanoseconds,
            writeDeadline: configuration.streamWriteDeadline.clampedNanoseconds,
            age: configuration.streamAge?.clampedNanoseconds)
        let shortest = min(timeouts.shortest, streamTiming.heartbeat, streamTiming.writeDeadline)
        let granularity = min(max(shortest / 64, 1_000_000), 250_000_000)
        let reactor = Reactor(threads: configuration.threads, granularity: granularity) {
            progress.changed()
        }
        guard let reactor else {
            throw HTTPServerError(
                .cannotListen, "Cannot start a thread for the connections: the system refuses it. Raise its limits.")
        }
        self.reactor = reactor
    }

    /// Varies the heartbeat's interval by up to 10 % and shortens the age by up to 20 %, so that streams opened
    /// together do not beat or end together.
    func spreadStreamTiming() -> StreamHandle.Timing {
        var timing = streamTiming
        timing.heartbeat = timing.heartbeat / 1000 * UInt64.random(in: 900...1100)
        timing.age = timing.age.map { $0 / 1000 * UInt64.random(in: 800...1000) }
        return timing
    }

    /// Returns the number of places in the bodies' budget for this number of bytes.
    func bodyPlaces(_ bytes: Int) -> Int { (bytes + bodyUnit - 1) / bodyUnit }

    /// Returns the number of bytes for this number of places.
    func bodyBytes(_ places: Int) -> Int { places * bodyUnit }

    /// Reserves room for a body beyond `smallBody`; nil if there is none in total or for the client's network, which
    /// has at most a quarter of all unless it is a proxy's.
    func takeBodyRoom(_ places: Int, for head: RequestHead) -> NetworkPlaces.Place? {
        let client = handler.client(of: head)
        return try? bodyRoom.take(places, for: configuration.isExempt(client) ? nil : client)
    }

    var heldBodyBytes: Int { bodyBytes(bodyRoom.taken) }

    /// Returns the handler's response to a fault.
    func response(to fault: RequestFault, head: RequestHead? = nil) -> Response {
        var response = handler.response(to: fault, head: head)
        response.status = fault.status
        if case .stream = response.body {
            response.discard(.finished)
            response.body = .empty
        }
        return response
    }

    /// Reports a response to the handler, and returns its bytes for when libmicrohttpd can no longer send it.
    func lastWords(_ response: Response, head: RequestHead?, since start: UInt64? = nil) -> [UInt8] {
        handler.answered(
            RequestAnswer(response, head: head, nanoseconds: start.map { monotonicNow() - $0 } ?? 0))
        return RawResponse.bytes(response)
    }

    var statistics: HTTPServerStatistics {
        var statistics = HTTPServerStatistics()
        statistics.openConnections = connections.count
        statistics.openRequests = openRequests.load(ordering: .acquiring)
        statistics.waitingExchanges = waiting.count
        statistics.openStreams = reactor.count(of: .stream)
        statistics.lingeringSockets = reactor.count(of: .linger)
        return statistics
    }

    /// True if another connection may be accepted.
    var hasRoom: Bool { connections.count < connections.limit }

    /// True if clients wait for a connection to close. Then each response closes its own.
    var isCrowded: Bool { isRoomAwaited.load(ordering: .relaxed) }

    /// Calls `action` once when a connection closes. Returns false if there is room already. Only for acceptors.
    func awaitRoom(_ acceptor: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        roomMade.withLock { $0[acceptor] = action }
        isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
        // After the store: a thread that closes a connection before it does not see the flag.
        return !(hasRoom && tellAcceptors())
    }

    /// Returns false if no acceptor waits for room.
    private func tellAcceptors() -> Bool {
        guard isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent) else { return false }
        let actions = roomMade.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values
        }
        for action in actions { action() }
        return true
    }

    /// Called after a connection was closed and uncounted.
    func roomChanged() {
        if isCrowded { _ = tellAcceptors() }
        progress.changed()
    }

    /// Sends `words` on a connection without further requests, drains the client's input, and closes.
    func sendAndClose(_ descriptor: Int32, _ words: [UInt8]) {
        let thread = reactor.entrance
        // Each is limited in time and bytes; this limits their number.
        guard thread.count(of: .linger) < 512 else {
            close(descriptor)
            return
        }
        LingeringSocket(descriptor: descriptor, lastWords: words, thread: thread).start()
    }

    func requestCompleted() {
        openRequests.subtract(1, ordering: .acquiringAndReleasing)
        progress.changed()
    }
}
