import Locking
import MVIServer
import MicroHTTP
import SessionJournal
import Sessions
import WireJSON

extension FuzzTarget {
    /// Requests of one client in the form of the HTTP layer: each gets an answer, without a server error or forged
    /// content. A line `%%` separates requests; `{token}` is replaced by the token.
    static let requests = FuzzTarget(name: "requests") { input throws(BrokenProperty) in
        var server: Server
        if let unused = servers.withLock({ $0.popLast() }) { server = unused } else { server = try Server() }
        let (world, application) = (server.world, server.application)
        let made = try world.result("making a session") { world.table.create(.bearer, completion: $0) }
        let token = try succeed("there is no token") { try made.get() }.token
        let found = try world.result("looking a session up") { world.table.find(token, completion: $0) }
        guard case .live(let session, _) = found else { throw BrokenProperty("a new token names no session") }
        let line = Array("%%\n".utf8)
        let text = input.replacing(Array("{token}".utf8), with: Array(token.text.utf8))
        for request in text.split(separator: line, maxSplits: 5, omittingEmptySubsequences: false) {
            try exchange(request[...], world, application)
        }
        if session.isEnded { world.settle() } else { try world.end(session) }
        server.uses += 1
        let isOld = server.uses == 256
        servers.withLock { [server] in if !isOld { $0.append(server) } }
    }

    /// A server in memory. Creating one takes most of an input's time, so several inputs share it, each with a session
    /// of its own.
    private struct Server {
        let world: World
        let application: Application
        var uses = 0

        init() throws(BrokenProperty) {
            let world = try World(MemoryJournal())
            self.world = world
            application = try succeed("there is no application") { try Application(world.table, ServerSettings()) }
        }
    }

    /// The servers that no input uses now.
    private static let servers = Lock<[Server]>([])

    private static func exchange(
        _ request: ArraySlice<UInt8>, _ world: World, _ application: Application
    ) throws(BrokenProperty) {
        guard let (head, body) = read(request) else { return }
        let response: Response
        switch application.receive(head) {
        case .refuse(let refusal): response = refusal
        case .accept(let limit, let handler):
            if body.count > limit {
                response = application.response(to: RequestFault(.bodyTooLarge, "It is too large."), head: head)
            } else {
                response = try world.result("a request") { handler(body, $0) }
            }
        }
        try check(response, isHead: head.method == "HEAD")
    }

    /// Parses a request that the HTTP layer accepts: method and target, fields, an empty line, the body.
    private static func read(_ request: ArraySlice<UInt8>) -> (RequestHead, [UInt8])? {
        let end = request.firstRange(of: [0x0A, 0x0A]) ?? request.endIndex..<request.endIndex
        let lines = request[..<end.lowerBound].split(separator: 0x0A, maxSplits: 1)
        let parts = (lines.first ?? []).split(separator: 0x20, maxSplits: 1)
        guard parts.count == 2, let target = Array(parts[1]).withUnsafeBufferPointer({ RequestTarget($0) }) else {
            return nil
        }
        let method = String(decoding: parts[0], as: UTF8.self)
        let fields = HeaderFields(lines: Array("Host: localhost\n".utf8) + (lines.count > 1 ? lines[1] : []))
        guard HeadCheck.fields(HeaderFields([(method, "")])) == nil, HeadCheck.fields(fields) == nil,
            HeadCheck.host(fields, target: target, isHTTP10: false) == nil,
            case .success(let framing) = HeadCheck.framing(fields, isHTTP10: false)
        else { return nil }
        var body = Array(request[end.upperBound...])
        switch framing {
        case .none: body = []
        case .length(let count):
            guard count <= body.count else { return nil }
            body.removeLast(body.count - Int(count))
        case .chunked: break
        }
        return (RequestHead(method: method, path: target.path, query: target.query, fields: fields), body)
    }

    private static func check(_ response: Response, isHead: Bool) throws(BrokenProperty) {
        let fields = HeaderFields(response.fields.map { ($0.name, $0.value) })
        try hold(200..<500 ~= response.status, "a request is answered with \(response.status)")
        try hold(HeadCheck.fields(fields) == nil, "an answer's field is malformed: \(response.fields)")
        switch response.body {
        case .empty: break
        case .bytes(let body):
            let type = fields["content-type"] ?? ""
            if response.status >= 400 { try hold(type == "application/problem+json", "a refusal is \(type)") }
            guard type.contains("json") else { return }
            _ = try succeed("an answer is not JSON") { try WireJSON.decode(JSONText.self, from: body) }
        case .stream(let source):
            var reading = StreamReading()
            let goesOn = try reading.read { source.nextStep() }
            source.closed(goesOn ? .peerClosed : .finished)
        }
    }
}
