import CMicroHTTPD
import Glibc
import Networks

/// A request on libmicrohttpd's side, from its line to its completion.
///
/// It exists only on the library's thread of its connection; state for other threads is in `Exchange`. It is not
/// `Sendable` and never captured. Exclusive access is not checked for its members, since nothing that it calls calls
/// back.
final class RequestContext {
    private enum Stage {
        /// The line has arrived, the head has not.
        case head
        /// The body is arriving.
        case body
        /// Refused without a body to come: answered in the call after the head's, which keeps the connection.
        case refused(Response)
        /// The handler has the request.
        case handled(Exchange)
        /// A response is queued, or the library was told to cut.
        case over
    }

    private let daemon: Daemon.Box
    private var core: ServerCore { daemon.core }
    private let watch: ConnectionWatch?
    /// The time of the loop's round in which its line arrived.
    private let begun: UInt64
    private let target: RequestTarget?
    @exclusivity(unchecked) private var stage = Stage.head
    @exclusivity(unchecked) private var head: RequestHead?
    @exclusivity(unchecked) private var body: [UInt8] = []
    private var bodyLimit = 0
    /// The library's round in which the last part of the body arrived.
    @exclusivity(unchecked) private var partRound: UInt64 = 0
    /// The request's share of the bodies' budget.
    private var bodyRoom: NetworkPlaces.Place?
    private var bodyRoomBytes = 0
    @exclusivity(unchecked) private var handler: BodyHandler?
    /// A stream's source while its head is being sent, then for its socket.
    private var source: (any StreamSource)?
    private var handedOver: Int32?
    private var connection: OpaquePointer?
    /// The bytes to send after the library has released the connection; empty to only drain its input.
    private var lastWords: [UInt8]?

    init(_ daemon: Daemon.Box, _ connection: OpaquePointer, target: UnsafePointer<CChar>) {
        self.daemon = daemon
        begun = daemon.thread.roundTime
        watch = cmhd_socket_context(connection).map {
            Unmanaged<ConnectionWatch>.fromOpaque($0).takeUnretainedValue()
        }
        self.target = target.withMemoryRebound(to: UInt8.self, capacity: 1) { start in
            RequestTarget(UnsafeBufferPointer(start: start, count: strlen(target)))
        }
        daemon.core.openRequests.add(1, ordering: .relaxed)
        watch?.enter(.head)
    }

    /// Handles a call of the library: first with the head, then with parts of the body, then without data after the
    /// body and, while the request waits, in each of the library's rounds.
    func advance(_ raw: HeadReader.Raw, _ part: UnsafePointer<CChar>?, _ partSize: UnsafeMutablePointer<Int>)
        -> MHD_Result
    {
        switch stage {
        case .head: return receiveHead(raw)
        case .body where partSize.pointee > 0:
            let bytes = UnsafeRawBufferPointer(start: part, count: partSize.pointee)
            partSize.pointee = 0
            if partRound != daemon.round {
                partRound = daemon.round
                daemon.incomplete += 1
            }
            return receiveBody(bytes)
        case .body: return handle(raw.connection)
        case .refused(let response): return answer(response, raw.connection)
        case .handled(let exchange):
            let reply = exchange.ask(raw.connection)
            if reply.endsWaiting { daemon.waiting -= 1 }
            return reply.response.map { answer($0, raw.connection) } ?? .YES
        case .over: return .NO
        }
    }

    private func receiveHead(_ raw: HeadReader.Raw) -> MHD_Result {
        let read = HeadReader.read(raw, target: target, limit: core.configuration.headLimit, connection: watch) {
            watch?.localAddress ?? .unknown
        }
        switch read {
        case .failure(let fault):
            let outline = fault.reason == .headTooLarge ? target.map { HeadReader.outline(raw, $0) } : nil
            return refuseAndClose(core.response(to: fault, head: outline), raw.connection)
        case .success(let (head, framing)):
            self.head = head
            if core.isStopping.load(ordering: .acquiring) {
                return refuseAndClose(core.response(to: .stopping, head: head), raw.connection)
            }
            switch core.handler.receive(head) {
            case .refuse(let response):
                if framing.hasBody { return refuseAndClose(response, raw.connection) }
                stage = .refused(response)
            case .accept(let limit, let handler):
                self.handler = handler
                bodyLimit = min(limit, core.configuration.bodyLimit)
                if case .length(let length) = framing {
                    guard length <= UInt64(max(0, bodyLimit)) else {
                        return refuseAndClose(core.response(to: tooLarge, head: head), raw.connection)
                    }
                    // The announced bytes may never arrive.
                    body.reserveCapacity(min(Int(length), HTTPServerConfiguration.smallBody))
                }
                stage = .body
                if framing.hasBody {
                    watch?.enter(.body)
                    // A stop that begins now may have checked before.
                    if core.isDraining.load(ordering: .sequentiallyConsistent) { watch?.hurryRequest() }
                }
            }
            return .YES
        }
    }

    private var tooLarge: RequestFault {
        RequestFault(.bodyTooLarge, "The body may have \(bodyLimit) bytes at most.")
    }

    private var noRoom: RequestFault {
        RequestFault(.noRoomForBody, "The bodies of all requests take too much memory now. Try again in a moment.")
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
        guard body.count + bytes.count <= bodyLimit else { return cutBody(tooLarge) }
        guard takeRoom(forBody: body.count + bytes.count) else { return cutBody(noRoom) }
        body.append(contentsOf: bytes)
        return .YES
    }

    /// The library accepts no response while a body arrives, and waiting for its end may never end.
    private func cutBody(_ fault: RequestFault) -> MHD_Result {
        lastWords = core.lastWords(core.response(to: fault, head: head), head: head, since: begun)
        stage = .over
        return .NO
    }

    private func takeRoom(forBody length: Int) -> Bool {
        let needed = length - HTTPServerConfiguration.smallBody - bodyRoomBytes
        guard needed > 0 else { return true }
        guard let head else { return false }
        let places = core.bodyPlaces(needed)
        if let bodyRoom {
            guard bodyRoom.add(places) else { return false }
        } else {
            guard let taken = core.takeBodyRoom(places, for: head) else { return false }
            if let watch { taken.onGiveWay { [weak watch] in watch?.giveWay() } }
            bodyRoom = taken
        }
        bodyRoomBytes += core.bodyBytes(places)
        return true
    }

    private func handle(_ connection: OpaquePointer) -> MHD_Result {
        guard let head, let handler else { preconditionFailure("cannot handle a request without its head") }
        if partRound == daemon.round { daemon.incomplete -= 1 }
        let exchange = Exchange(core.waiting, daemon.thread)
        stage = .handled(exchange)
        watch?.enter(.none)
        // Captures one reference, so that no closure is allocated.
        handler(body) { exchange.respond($0) }
        body = []
        self.handler = nil
        if let response = exchange.handlerReturned() { return answer(response, connection) }
        daemon.waiting += 1
        watch?.enter(
            .answer(exchange) { [core] in
                core.response(
                    to: RequestFault(.answerTimeout, "The request could not be answered in time."), head: head)
            })
        // After the phase: a stop that begins now finds the exchange there.
        if core.isStopping.load(ordering: .sequentiallyConsistent) { exchange.overrule(core.response(to: .stopping)) }
        return .YES
    }

    /// Answers in the first call: the library then stops reading and closes the connection.
    private func refuseAndClose(_ response: Response, _ connection: OpaquePointer) -> MHD_Result {
        lastWords = []
        return answer(response, connection)
    }

    private func answer(_ response: Response, _ connection: OpaquePointer) -> MHD_Result {
        stage = .over
        watch?.enter(.writing)
        core.handler.answered(RequestAnswer(response, head: head, nanoseconds: monotonicNow() - begun))
        var stream: RequestContext?
        if case .stream(let source) = response.body {
            // `HEAD` of a stream would get chunks after its head.
            if head?.method == "HEAD" || response.status == 204 || response.status == 304 {
                source.closed(.finished)
            } else {
                self.source = source
                self.connection = connection
                stream = self
            }
        }
        return ResponseWriter.queue(
            response, on: connection, closing: core.isDraining.load(ordering: .relaxed) || core.isCrowded,
            stream: stream, logger: core.logger)
    }

    /// Takes over the socket after a stream's head was sent, with a descriptor of our own.
    func handOver() {
        guard let connection else { return }
        // From here on, the stream's own write deadline applies.
        watch?.enter(.none)
        // 0.9.75 forgets a connection whose reader has ended it, and keeps the descriptor open until the next event on
        // the socket, as if the stream had not ended. It examines a resumed connection in its next round.
        MHD_suspend_connection(connection)
        MHD_resume_connection(connection)
        daemon.thread.requestRun()
        let copy = fcntl(cmhd_socket(connection), F_DUPFD_CLOEXEC, 0)
        if copy >= 0 {
            SocketOptions.limitUnsent(on: copy)
            handedOver = copy
        } else {
            core.logger.error("Cannot take over a stream's socket: \(String(cString: strerror(errno)))")
        }
    }

    /// Called when the library has finished the request. The connection may stay open for the next one.
    func completed(_ connection: OpaquePointer, _ reason: MHD_RequestTerminationCode) {
        if let source {
            openStream(source)
        } else if case .handled(let exchange) = stage {
            if exchange.abandon() { daemon.waiting -= 1 }
        } else if case .body = stage, reason == .REQUEST_TERMINATED_CLIENT_ABORT {
            let fault =
                watch?.givesWay == true
                ? noRoom
                : watch?.hasExpired == true
                    ? RequestFault(.requestTimeout, "The body did not arrive in time.")
                    : RequestFault(.bodyCutShort, "The body ended before its length was reached.")
            lastWords = core.lastWords(core.response(to: fault, head: head), head: head, since: begun)
        } else if case .refused(let response) = stage {
            response.discard(.peerClosed)
        }
        if let lastWords, reason != .REQUEST_TERMINATED_READ_ERROR {
            let copy = fcntl(cmhd_socket(connection), F_DUPFD_CLOEXEC, 0)
            if copy >= 0 { core.sendAndClose(copy, lastWords) }
        }
        watch?.enter(.idle)
        bodyRoom = nil
        core.requestCompleted()
    }

    private func openStream(_ source: any StreamSource) {
        guard let handedOver else { return source.closed(.peerClosed) }
        guard !core.isStopping.load(ordering: .acquiring) else {
            close(handedOver)
            return source.closed(.shutdown)
        }
        StreamHandle(
            descriptor: handedOver, isFramed: head?.isHTTP10 != true, source: source,
            thread: daemon.thread, timing: core.spreadStreamTiming()
        ).open(source)
    }
}
