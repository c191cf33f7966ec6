import Glibc
import Locking
import Logging
import Networks
import Synchronization

/// What a server's threads share.
final class ServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let logger: Logger
    let handler: any RequestHandler
    let reactor: Reactor
    let suspended: SuspendedExchanges
    let progress: Progress
    let timeouts: ConnectionWatch.Timeouts
    let streamTiming: StreamHandle.Timing
    /// Accepted and not closed by the library.
    let connections: Connections
    /// What bodies hold beyond what each may, in units of so many bytes.
    private let bodyRoom: NetworkPlaces
    private let bodyUnit: Int
    /// Whether the acceptor waits for a connection to close, and what tells it that one has.
    private let isRoomAwaited = Atomic<Bool>(false)
    private let roomMade = Lock<@Sendable () -> Void>({})
    /// Requests begun and not completed.
    let openRequests = Atomic<Int>(0)
    /// Every response closes its connection.
    let isDraining = Atomic<Bool>(false)
    /// The grace is over: nothing new is begun.
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
        suspended = SuspendedExchanges { progress.changed() }
        timeouts = ConnectionWatch.Timeouts(
            head: min(configuration.headTimeout, .seconds(15)).clampedNanoseconds,
            body: configuration.bodyTimeout.clampedNanoseconds,
            answer: configuration.answerTimeout.clampedNanoseconds,
            write: configuration.writeTimeout.clampedNanoseconds,
            idle: configuration.idleTimeout.clampedNanoseconds)
        // Spread for each stream in `streamTiming()`; here what the configuration says.
        streamTiming = StreamHandle.Timing(
            heartbeat: configuration.heartbeat.clampedNanoseconds,
            writeDeadline: configuration.streamWriteDeadline.clampedNanoseconds,
            age: configuration.streamAge?.clampedNanoseconds)
        let shortest = min(timeouts.shortest, streamTiming.heartbeat, streamTiming.writeDeadline)
        let granularity = min(max(shortest / 64, 1_000_000), 250_000_000)
        let reactor = Reactor(threads: max(1, configuration.threads / 2), granularity: granularity) {
            progress.changed()
        }
        guard let reactor else {
            throw HTTPServerError(
                .cannotListen, "Cannot start a thread for the streams: the system refuses it. Raise its limits.")
        }
        self.reactor = reactor
    }

    /// The heartbeat's interval moved by up to 10 %, so that streams opened together do not beat together, and the age by
    /// up to 20 % less, so that they do not end together.
    func spreadStreamTiming() -> StreamHandle.Timing {
        var timing = streamTiming
        timing.heartbeat = timing.heartbeat / 1000 * UInt64.random(in: 900...1100)
        timing.age = timing.age.map { $0 / 1000 * UInt64.random(in: 800...1000) }
        return timing
    }

    /// How many places of the bodies' budget so many bytes take.
    func bodyPlaces(_ bytes: Int) -> Int { (bytes + bodyUnit - 1) / bodyUnit }

    /// The bytes that may lie in so many places.
    func bodyBytes(_ places: Int) -> Int { places * bodyUnit }

    /// Takes room for a body beyond what each may have; nil if there is none, or none for the client's network: one that is no
    /// proxy's has at most a quarter of all.
    func takeBodyRoom(_ places: Int, for head: RequestHead) -> NetworkPlaces.Place? {
        let client = handler.client(of: head)
        return try? bodyRoom.take(places, for: configuration.isExempt(client) ? nil : client)
    }

    var heldBodyBytes: Int { bodyBytes(bodyRoom.taken) }

    /// The handler's wording of a fault.
    func response(to fault: RequestFault, head: RequestHead? = nil) -> Response {
        var response = handler.response(to: fault, head: head)
        response.status = fault.status
        if case .stream = response.body {
            response.discard(.finished)
            response.body = .empty
        }
        return response
    }

    /// Tells the handler of an answer, and gives what is sent of it where libmicrohttpd cannot send it any more.
    func lastWords(_ response: Response, head: RequestHead?, since start: UInt64? = nil) -> [UInt8] {
        handler.answered(
            RequestAnswer(response, head: head, nanoseconds: start.map { monotonicNow() - $0 } ?? 0))
        return LastWords.bytes(response)
    }

    var statistics: HTTPServerStatistics {
        var statistics = HTTPServerStatistics()
        statistics.openConnections = connections.count
        statistics.openRequests = openRequests.load(ordering: .acquiring)
        statistics.suspendedExchanges = suspended.count
        statistics.openStreams = reactor.count(of: .stream)
        statistics.lingeringSockets = reactor.count(of: .linger)
        return statistics
    }

    /// Whether another connection may be taken.
    var hasRoom: Bool { connections.count < connections.limit }

    /// Whether clients wait for a connection to close: then each answer closes its own, so that all have their turn.
    var isCrowded: Bool { isRoomAwaited.load(ordering: .relaxed) }

    /// Has `action` called once when a connection closes; false if there is room already. For the acceptor alone.
    func awaitRoom(_ action: @escaping @Sendable () -> Void) -> Bool {
        roomMade.withLock { $0 = action }
        isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
        // After the store: a thread that closes a connection before it does not see that room is awaited.
        return !(hasRoom && isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent))
    }

    /// A connection was closed, and does not count any more.
    func roomChanged() {
        if isCrowded, isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent) {
            let action = roomMade.withLock { $0 }
            action()
        }
        progress.changed()
    }

    /// Sends `words` on a connection that is not served any further, hears the client out, and closes.
    func farewell(_ descriptor: Int32, _ words: [UInt8]) {
        let thread = reactor.thread(for: descriptor)
        // Each is bounded in time and bytes; this bounds their number.
        guard thread.count(of: .linger) < 256 else {
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
