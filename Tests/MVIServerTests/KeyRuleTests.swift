import EventStream
import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@testable import MVIServer

@Suite("Access rules by key and kind of access", .timeLimit(.minutes(10)))
struct KeyRuleTests {
    /// The server's own data: the customers of each item.
    private final class Desk: Sendable {
        private let customers = Lock<[String: String]>(["anna": "1"])

        func isCustomer(_ subject: String, of key: String?) -> Bool { customers.withLock { $0[subject] } == key }

        func dismiss(_ subject: String) { customers.withLock { $0[subject] = nil } }
    }

    private func run(
        _ depth: Depth, _ directory: SessionDirectory = SessionDirectory(),
        _ test: (TestServer, Desk) async throws -> Void
    ) async throws {
        let desk = Desk()
        let content: (Gate) throws -> ServerContent = { gate in
            ServerContent(features: [
                ServedFeature(Probe(gate: gate)),
                Keyed { try Item(id: $0) }.requires { principal, key, access in
                    principal.claim("tier") == "staff"
                        || access == .read && key != nil && desk.isCustomer(principal.subject, of: key)
                },
            ])
        }
        try await TestServer.run(
            depth, directory: directory, authenticator: WordAuthenticator(), content: content
        ) { server in try await test(server, desk) }
    }

    @Test("71: a customer reads the own key, and sends and disposes of nothing", arguments: Depth.allCases)
    func kinds(depth: Depth) async throws {
        try await run(depth) { server, _ in
            let anna = try await server.session(of: "anna")
            let staff = try await server.session(of: "sue staff")
            let weigh = #"{"type":"weigh","weight":2}"#
            #expect(try await server.send(anna.request("GET", "/features/item:1/state")).status == 200)
            #expect(try await server.send(anna.intent(weigh, to: "item:1")).problem == "forbidden")
            #expect(try await server.send(anna.request("DELETE", "/features/item:1/state")).problem == "forbidden")
            #expect(try await server.send(staff.intent(weigh, to: "item:2")).status == 202)
            #expect(try await server.send(staff.request("DELETE", "/features/item:2/state")).status == 204)
            // A rule that needs a key hides the feature from the list.
            #expect(try await !server.send(anna.request("GET", "/features")).text.contains("item"))
            #expect(try await server.send(staff.request("GET", "/features")).text.contains("item"))
        }
    }

    @Test("71: a refused key answers 403, whether it exists or not", arguments: Depth.allCases)
    func unknownKeys(depth: Depth) async throws {
        try await run(depth) { server, _ in
            let anna = try await server.session(of: "anna")
            for key in ["2", "77", "broken", "none"] {
                for method in ["GET", "HEAD", "DELETE"] {
                    let answer = try await server.send(anna.request(method, "/features/item:\(key)/state"))
                    #expect(answer.status == 403 && !answer.text.contains("Keys to try"), "\(method) \(key)")
                }
                let stream = try await server.send(anna.request("GET", "/features/item:\(key)/events"))
                #expect(stream.problem == "forbidden")
                let intent = anna.intent(#"{"type":"weigh","weight":2}"#, to: "item:\(key)")
                #expect(try await server.send(intent).problem == "forbidden")
            }
        }
    }

    @Test("71: after a change of the server's own data, requests are refused at once, and streams after a recheck")
    func ownData() async throws {
        let directory = SessionDirectory()
        try await run(.socket, directory) { server, desk in
            let anna = try await server.session(of: "anna")
            let port = server.port
            let request = anna.request("GET", "/events?feature=item:1&feature=probe")
            let stream = try await offThePool {
                let stream = try Connection(port: port)
                try stream.send(request)
                _ = try stream.head()
                _ = try stream.event("state")
                _ = try stream.event("state")
                return stream
            }
            desk.dismiss("anna")
            #expect(try await server.send(anna.request("GET", "/features/item:1/state")).problem == "forbidden")
            directory.recheck(subject: Subject(issuer: WordAuthenticator.issuer, id: "anna"))
            let denied = try await offThePool { try stream.event("denied").data }
            #expect(String(decoding: denied, as: UTF8.self) == #"{"feature":"item:1"}"#)
            // The stream continues with the remaining features.
            _ = try await server.send(anna.intent(#"{"type":"increment"}"#))
            let state = try await offThePool { try stream.event("state").data }
            #expect(String(decoding: state, as: UTF8.self).contains(#""feature":"probe""#))
        }
    }
}
