// The benchmark's workload on Hummingbird 2: sessions, a counter, answers and event streams.
//
//   hummingbird-peer PORT [FILE]
//
// FILE is an SQLite database; without it all is in memory.
import FoundationEssentials
import Glibc
import HTTPTypes
import Hummingbird
import Logging

struct Intent: Decodable {
    let type: String
    let amount: Int?
}

guard (2...3).contains(CommandLine.arguments.count), let port = Int(CommandLine.arguments[1]) else {
    print("usage: hummingbird-peer PORT [FILE]")
    exit(2)
}

let table = SessionTable()
let commits = try CommandLine.arguments.count == 3 ? Commits(path: CommandLine.arguments[2], table) : nil
let idempotencyKey = HTTPField.Name("Idempotency-Key")
let router = Router(context: BasicRequestContext.self)
let lastEventID = HTTPField.Name("Last-Event-ID")
let json: HTTPFields = [
    .contentType: "application/json", .cacheControl: "no-store", .vary: "Authorization, Cookie, Origin, Prefer",
    .xContentTypeOptions: "nosniff",
]
let eventStream: HTTPFields = {
    var fields: HTTPFields = [
        .connection: "close", .contentType: "text/event-stream; charset=utf-8",
        .cacheControl: "no-store, no-transform", .vary: "Authorization, Cookie, Origin",
        .xContentTypeOptions: "nosniff",
    ]
    if let buffering = HTTPField.Name("X-Accel-Buffering") { fields[buffering] = "no" }
    return fields
}()

@Sendable func session(of request: Request) throws -> Session {
    guard let field = request.headers[.authorization], field.hasPrefix("Bearer ") else {
        throw HTTPError(.unauthorized)
    }
    guard let session = table[String(field.dropFirst(7))] else { throw HTTPError(.notFound) }
    return session
}

@Sendable func events(_ features: [String], _ request: Request) throws -> Response {
    guard let stream = try session(of: request).open(features, lastEventID: lastEventID.flatMap { request.headers[$0] })
    else {
        throw HTTPError(.notFound)
    }
    return Response(
        status: .ok,
        headers: eventStream,
        body: ResponseBody { writer in
            for await events in stream { try await writer.write(events) }
            try await writer.finish(nil)
        })
}

router.post("/sessions") { _, _ in
    let session = Session()
    await commits?.keep(session)
    table.insert(session)
    let body = "{\"id\":\"\(session.id)\",\"token\":\"\(session.token)\",\"expiresAt\":\"2100-01-01T00:00:00Z\"}"
    return Response(status: .created, headers: json, body: ResponseBody(byteBuffer: ByteBuffer(string: body)))
}

router.post("/features/:id/intents") { request, context in
    let session = try session(of: request)
    let feature = try context.parameters.require("id")
    let body = try await request.body.collect(upTo: 1 << 20)
    guard let intent = try? JSONDecoder().decode(Intent.self, from: Data(body.readableBytesView)), intent.type == "add",
        let amount = intent.amount
    else { throw HTTPError(.unprocessableContent) }
    let answer: String
    if let commits {
        guard session.store(feature) != nil else { throw HTTPError(.notFound) }
        let key = idempotencyKey.flatMap { request.headers[$0] }
        answer = await commits.add(amount, to: feature, of: session, key: key)
    } else {
        guard let added = session.add(amount, to: feature) else { throw HTTPError(.notFound) }
        answer = added
    }
    return Response(status: .accepted, headers: json, body: ResponseBody(byteBuffer: ByteBuffer(string: answer)))
}

router.get("/features/:id/events") { request, context in
    try events([context.parameters.require("id")], request)
}

router.get("/events") { request, _ in
    try events(request.uri.queryParameters.getAll("feature"), request)
}

router.get("/health/ready") { _, _ in HTTPResponse.Status.ok }

let pings = Task {
    while !Task.isCancelled {
        try await Task.sleep(for: .seconds(20))
        let event = ByteBuffer(string: "event: ping\ndata: {\"t\":\(Int(Date().timeIntervalSince1970 * 1000))}\n\n")
        for session in table.all { session.ping(event) }
    }
}

var logger = Logger(label: "hummingbird-peer")
logger.logLevel = .critical
let application = Application(
    router: router,
    configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: port), serverName: nil, backlog: 4096),
    logger: logger)
try await application.run()
pings.cancel()
