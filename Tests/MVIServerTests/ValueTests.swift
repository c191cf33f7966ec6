import Foundation
import JSONDelta
import Logging
import MVI
import MVITesting
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

/// A feature whose state is made of values that Foundation and the standard library know.
private struct Receipt: Feature {
    struct State: Codable, Equatable, Sendable {
        var id: UUID?
        var price: Decimal?
        var pause: Duration?
        var link: URL?
        var date: Date?
        var time: Timestamp?
        var total: Decimal = 0
        /// Makes the state larger than a patch.
        var note: String?
    }
    enum Intent: Codable, Sendable {
        case set(id: UUID, price: Decimal, pause: Duration, link: URL, date: Date, time: Timestamp)
        case add(Decimal)
        case note(String)
    }

    static let name = "receipt"
    static let examples: [Intent] = [.add(1)]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .set(let id, let price, let pause, let link, let date, let time):
            (state.id, state.price, state.pause) = (id, price, pause)
            (state.link, state.date, state.time) = (link, date, time)
        case .add(let amount): state.total += amount
        case .note(let text): state.note = text
        }
    }
}

/// A feature with members that clients cannot use.
private struct Album: Feature {
    struct State: Codable, Equatable, Sendable {
        struct Photo: Codable, Equatable, Sendable { var pages = IndexSet() }
        var photos: [Photo] = []
    }
    enum Intent: Codable, Sendable { case add(zone: TimeZone) }

    static let examples: [Intent] = []
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {}
}

@Suite("Values come back as they were sent", .timeLimit(.minutes(10)))
struct ValueTests {
    private static let members = """
        "id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","price":1234567890123456789012345678.0123456789,\
        "pause":0.000000000000000001,"link":"https://EXAMPLE.com/a?b=%C3%A4","date":"2026-01-31T23:59:59.251Z",\
        "time":"0000-01-01T00:00:00.000Z"
        """
    private static let set = #"{"type":"set",\#(members)}"#
    private static let path = "/features/receipt"

    private static func receipts(_ gate: Gate) -> ServerContent {
        ServerContent(features: [ServedFeature(Receipt())])
    }

    @Test(arguments: Depth.allCases)
    func `in states, after a restart, too`(depth: Depth) async throws {
        let world = World()
        let session = try await TestServer.run(depth, in: world, content: Self.receipts) { server in
            let session = try await server.session()
            let answer = try await server.send(
                session.request("POST", "\(Self.path)/intents", [RefusalCase.json], body: Self.set))
            #expect(answer.status == 202)
            let state = try await server.send(session.request("GET", "\(Self.path)/state"))
            #expect(String(decoding: state.body, as: UTF8.self) == #"{\#(Self.members),"total":0}"#)
            await server.sessions.flush()
            return session
        }
        try await TestServer.run(depth, in: world, content: Self.receipts) { server in
            let state = try await server.send(session.request("GET", "\(Self.path)/state"))
            #expect(String(decoding: state.body, as: UTF8.self) == #"{\#(Self.members),"total":0}"#)
        }
    }

    @Test(arguments: ["json-patch", "merge-patch"])
    func `in patches`(form: String) async throws {
        try await TestServer.run(.socket, content: Self.receipts) { server in
            let session = try await server.session()
            let note = String(repeating: "-", count: 200)
            _ = try await server.send(
                session.request(
                    "POST", "\(Self.path)/intents", [RefusalCase.json], body: #"{"type":"note","value":"\#(note)"}"#))
            let request = session.request("GET", "\(Self.path)/events?delta=\(form)")
            let port = server.port
            let stream = try await offThePool {
                let stream = try Connection(port: port)
                try stream.send(request)
                _ = try stream.head()
                return stream
            }
            struct Whole: Decodable { var state: JSONText }
            struct Patch: Decodable { var patch: JSONText }
            let first = try await offThePool { try stream.event("state").data }
            var state = try WireJSON.decode(Whole.self, from: first).state.bytes
            for amount in ["0.1", "0.2", "99999999999999999999.000000000001"] {
                let body = #"{"type":"add","value":\#(amount)}"#
                _ = try await server.send(
                    session.request("POST", "\(Self.path)/intents", [RefusalCase.json], body: body))
                let event = try await offThePool { try stream.event("patch").data }
                let patch = try WireJSON.decode(Patch.self, from: event).patch.bytes
                state =
                    form == "json-patch"
                    ? try JSONPatch.apply(patch, to: state) : try MergePatch.apply(patch, to: state)
            }
            #expect(String(decoding: state, as: UTF8.self).hasPrefix(#"{"total":99999999999999999999.300000000001,"#))
        }
    }

    @Test(arguments: [
        (#""price":1e500"#, "/price"), (#""price":"1""#, "/price"), (#""pause":"PT1S""#, "/pause"),
        (#""link":"a b""#, "/link"), (#""date":1770000000"#, "/date"), (#""id":"1""#, "/id"),
    ])
    func `or are refused with the member's path`(member: String, pointer: String) async throws {
        let name = member.prefix { $0 != ":" }
        let rest = Self.members.split(separator: ",").filter { !$0.hasPrefix(name) }
        let body = #"{"type":"set",\#((rest + [Substring(member)]).joined(separator: ","))}"#
        try await TestServer.run(.memory, content: Self.receipts) { server in
            let session = try await server.session()
            let answer = try await server.send(
                session.request("POST", "\(Self.path)/intents", [RefusalCase.json], body: body))
            #expect(answer.status == 422)
            #expect(String(decoding: answer.body, as: UTF8.self).contains(#""pointer":"\#(pointer)""#))
        }
    }

    @Test func `and types that have no sensible JSON stop the server at its start`() {
        let error = #expect(throws: (any Error).self) {
            try Assembly(
                ServerContent(features: [ServedFeature(Album())]), settings: ServerSettings(),
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        }
        let line = error.map { "\($0)" } ?? ""
        #expect(
            line.hasPrefix("the feature 'album' cannot be mapped to JSON: state/photos/*/pages: IndexSet of Foundation")
        )
        #expect(line.contains("; intent(add)/zone: TimeZone of Foundation"))
        #expect(throws: (any Error).self) { try FeatureTypes(ServerContent(features: [ServedFeature(Album())])) }
    }
}
