import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

@Suite("A subject's data", .timeLimit(.minutes(5)))
struct SubjectTests {
    private static let named = "issuer=tests&subject=anna"

    private func lines(_ port: AdminPort) async throws -> [String] {
        let answer = try await port.send("GET", "/admin/subjects/export?\(Self.named)")
        #expect(answer.status == 200 && answer["content-type"] == "application/x-ndjson")
        return answer.text.split(separator: "\n").map(String.init)
    }

    @Test("it is exported whole, deleted, and exported empty; others keep theirs", arguments: Depth.allCases)
    func whole(depth: Depth) async throws {
        try await AdminPort.run(depth, authenticator: WordAuthenticator()) { port in
            let server = port.server
            var sessions: [Credential] = []
            for (name, isShared) in [("anna", true), ("anna", true), ("anna", false), ("bob", false)] {
                let session = try await server.session(of: name, shared: isShared)
                _ = try await server.send(session.intent(#"{"type":"say","text":"\#(name) was here"}"#))
                sessions.append(session)
            }
            let exported = try await lines(port)
            // Two devices share one.
            #expect(exported.count == 2)
            for line in exported {
                let document = try SessionDocumentShape(line)
                #expect(document.format == "mvi-session/1" && document.session.subject?.id == "anna")
                #expect(document.stores.map(\.feature) == ["probe"])
            }
            let deleted = try await port.send("DELETE", "/admin/subjects?\(Self.named)")
            #expect(deleted.status == 200)
            struct Counts: Decodable { var sessions, stores, bytes: Int }
            let counts = try deleted.json(Counts.self)
            #expect(counts.sessions == 2 && counts.stores == 2 && counts.bytes > 0)
            #expect(try await lines(port).isEmpty)
            for session in sessions.prefix(3) {
                let answer = try await server.send(session.request("GET", "/features/probe/state"))
                #expect(answer.problem == "session-ended")
            }
            let bobs = try await server.send(sessions[3].request("GET", "/features/probe/state"))
            #expect(bobs.status == 200)
            // Again, as after a crash.
            #expect(try await port.send("DELETE", "/admin/subjects?\(Self.named)").json(Counts.self).sessions == 0)
            // A later sign-in begins anew.
            let again = try await server.session(of: "anna", shared: true)
            #expect(!sessions.map(\.id).contains(again.id))
        }
    }

    /// A wall on which everybody writes.
    private struct Wall: Feature {
        struct State: Codable, Equatable, Sendable { var names: [String] = [] }
        enum Intent: Codable, Equatable, Sendable { case sign }
        enum Action: Codable, Sendable { case forget(Set<String>) }
        enum Message: Codable, Sendable { case signed(String), removed(Set<String>) }
        static let examples: [Intent] = [.sign]
        let initialState = State()

        static func forgetting(_ person: ForgottenPerson) -> Action? { .forget(person.senders) }
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.signed(turn.sender?.id ?? "")) }
        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            if case .forget(let names) = action { turn.dispatch(.removed(names)) }
        }
        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .signed(let name): state.names.append(name)
            case .removed(let names): state.names.removeAll { names.contains($0) }
            }
        }
    }

    @Test("it is named and removed in shared stores, where others' data stays", arguments: Depth.allCases)
    func shared(depth: Depth) async throws {
        try await AdminPort.run(
            depth, authenticator: WordAuthenticator(), content: { _ in Shared { _ in Wall() }.allows(.everyone) }
        ) { port in
            let server = port.server
            let anna = try await server.session(of: "anna")
            let bob = try await server.session(of: "bob")
            for (session, wall) in [(anna, "a"), (bob, "a"), (anna, "b")] {
                let answer = try await server.send(session.intent(#"{"type":"sign"}"#, to: "wall:\(wall)"))
                #expect(answer.status == 202)
            }
            let request = bob.request("GET", "/features/wall:a/state")
            let before = try await server.send(request).json(Wall.State.self).names
            struct Visits: Decodable {
                struct Space: Decodable { var space, sender, lastUse: String }
                var format: String
                var spaces: [Space]
            }
            let exported = try await lines(port)
            #expect(exported.count == 2)
            let visits = try WireJSON.decode(Visits.self, from: Array(try #require(exported.last).utf8))
            #expect(visits.format == "mvi-visits/1" && visits.spaces.map(\.space) == ["wall:a", "wall:b"])
            #expect(visits.spaces[0].sender == before[0])
            let deleted = try await port.send("DELETE", "/admin/subjects?\(Self.named)")
            #expect(deleted.text.contains(#""spaces":2"#))
            #expect(try await server.send(request).json(Wall.State.self).names == [before[1]])
            #expect(try await lines(port).isEmpty)
        }
    }

    @Test(
        "in shared stores a sign-in that keeps nothing makes another person than the client before",
        arguments: Depth.allCases)
    func anotherPerson(depth: Depth) async throws {
        try await AdminPort.run(
            depth, authenticator: WordAuthenticator(), content: { _ in Shared { _ in Wall() }.allows(.everyone) }
        ) { port in
            let server = port.server
            let guest = try await server.session()
            let sign = { (session: Credential) in
                session.intent(#"{"type":"sign"}"#, [("Idempotency-Key", #""k""#)], to: "wall:a")
            }
            #expect(try await server.send(sign(guest)).status == 202)
            struct Made: Decodable { var id, token: String }
            let signIn = guest.request(
                "PUT", "/sessions/current/identity", [RefusalCase.json], body: #"{"identity":"anna","keep":false}"#)
            let made = try await server.send(signIn).json(Made.self)
            let anna = Credential(id: made.id, field: ("Authorization", "Bearer \(made.token)"), secret: made.token)
            #expect(made.id == guest.id)
            let answer = try await server.send(sign(anna))
            #expect(answer.status == 202 && answer["idempotency-replayed"] == nil)
            let request = anna.request("GET", "/features/wall:a/state")
            let names = try await server.send(request).json(Wall.State.self).names
            #expect(Set(names).count == 2)
            let exported = try #require(try await lines(port).last)
            #expect(exported.contains(names[1]) && !exported.contains(names[0]))
            _ = try await port.send("DELETE", "/admin/subjects?\(Self.named)")
            let bob = try await server.session(of: "bob")
            let left = try await server.send(bob.request("GET", "/features/wall:a/state")).json(Wall.State.self).names
            #expect(left == [names[0]])
        }
    }

    private struct SessionDocumentShape: Decodable {
        struct Session: Decodable {
            struct Named: Decodable { var issuer, id: String }
            var subject: Named?
        }
        struct Store: Decodable { var feature: String }
        var format: String
        var session: Session
        var stores: [Store]

        init(_ line: String) throws { self = try WireJSON.decode(Self.self, from: Array(line.utf8)) }
    }

    @Test("the author's part runs first and at the end; if it fails nothing is deleted, and sign-ins fail meanwhile")
    func hook() async throws {
        let (directory, began, gate) = (SessionDirectory(), Gate(), Gate())
        let isBroken = Lock(true)
        let calls = Lock(0)
        directory.onForget { subject in
            guard subject.id == "anna" else { return }
            calls.withLock { $0 += 1 }
            if isBroken.withLock({ $0 }) { throw AuthenticationError(.unavailable, "the own database") }
            began.open()
            try await gate.wait()
        }
        try await TestServer.run(.memory, directory: directory, authenticator: WordAuthenticator()) { server in
            let anna = Subject(issuer: WordAuthenticator.issuer, id: "anna")
            let session = try await server.session(of: "anna", shared: true)
            await #expect(throws: StoreError.self) { try await directory.forget(subject: anna) }
            #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            isBroken.withLock { $0 = false }
            async let forgotten = directory.forget(subject: anna)
            try await began.wait()
            await #expect(throws: TestServer.NotMade.self) { try await server.session(of: "anna", shared: true) }
            _ = try await server.session(of: "bob")
            gate.open()
            #expect(try await forgotten.sessions == 1)
            // Refused, before the sessions ended, and after that; without sessions only once.
            #expect(calls.withLock { $0 } == 3)
            _ = try await directory.forget(subject: anna)
            #expect(calls.withLock { $0 } == 4)
            #expect(try await server.send(session.request("GET", "/sessions/current")).problem == "session-ended")
        }
    }

    @Test("the command asks the admin port, and gets the counts or the reason")
    func command() async throws {
        try await AdminPort.run(.socket, authenticator: WordAuthenticator()) { port in
            _ = try await port.server.session(of: "anna", shared: true)
            let number = try #require(port.server.assembly.admin).port
            func ask(_ target: String, _ token: String?) throws -> (status: Int, body: String) {
                try HealthProbe.answer(
                    "DELETE", host: "127.0.0.1", port: number, target: target, token: token, seconds: 30)
            }
            let target = "/admin/subjects?\(Self.named)"
            #expect(try ask(target, nil).status == 401)
            #expect(try ask("/admin/subjects", AdminPort.token).body.contains("`subject` is missing"))
            let answer = try ask(target, AdminPort.token)
            #expect(answer.status == 200)
            #expect(answer.body == #"{"sessions":1,"stores":0,"bytes":0,"spaces":0,"issuer":"tests"}"#)
        }
    }

    private struct Issuers: Authenticator {
        let issuers: [String]

        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            try await WordAuthenticator().authenticate(proof)
        }
    }

    @Test func `a subject without an issuer is one of the authenticator's only issuer`() async throws {
        let requests = [
            ("GET", "/admin/subjects/export"), ("GET", "/admin/sessions"), ("DELETE", "/admin/subjects"),
        ]
        try await AdminPort.run(.memory, authenticator: Issuers(issuers: [WordAuthenticator.issuer])) { port in
            _ = try await port.server.session(of: "anna", shared: true)
            for (method, path) in requests {
                let answer = try await port.send(method, "\(path)?subject=anna")
                #expect(answer.status == 200)
                if path != "/admin/subjects" {
                    #expect(answer.text.contains(#""id":"anna""#) || answer.text.contains("anna"), "\(answer.text)")
                } else {
                    #expect(answer.text == #"{"sessions":1,"stores":0,"bytes":0,"spaces":0,"issuer":"tests"}"#)
                }
            }
        }
        for issuers in [["tests", "proxy"], []] {
            try await AdminPort.run(.memory, authenticator: Issuers(issuers: issuers)) { port in
                _ = try await port.server.session(of: "anna", shared: true)
                for (method, path) in requests {
                    let answer = try await port.send(method, "\(path)?subject=anna")
                    #expect(answer.problem == "bad-request" && answer.text.contains("`issuer` is missing"))
                    #expect(answer.text.contains(#"one of: \"tests\", \"proxy\"."#) == !issuers.isEmpty)
                    #expect(try await port.send(method, "\(path)?subject=anna&issuer=other").status == 200)
                }
            }
        }
        #expect(HeaderAuthenticator(field: "X-Remote-User").issuers == ["proxy"])
    }

    @Test("copies in other people's sessions are disposed of by their name")
    func copies() async throws {
        let directory = SessionDirectory()
        try await TestServer.run(.memory, directory: directory, authenticator: WordAuthenticator()) { server in
            var sessions: [Credential] = []
            for _ in 0..<3 { sessions.append(try await server.session()) }
            sessions.append(try await server.session(of: "bob"))
            for session in sessions.dropFirst() {
                for id in [1, 2] { _ = try await server.send(session.request("GET", "/features/item:\(id)/state")) }
            }
            #expect(try await directory.dispose(Item.self, key: "1") == 3)
            for session in sessions.dropFirst() {
                let live = try server.live(session)
                #expect(live.storeIDs.map(\.text) == ["item:2"])
            }
            #expect(try await directory.dispose(Item.self, key: "1") == 0)
        }
    }

    @Test(arguments: ["", "issuer=tests", "subject=a&subject=b"])
    func `a query without one subject is refused`(_ query: String) async throws {
        try await AdminPort.run(.memory) { port in
            for (method, path) in [("GET", "/admin/subjects/export"), ("DELETE", "/admin/subjects")] {
                let answer = try await port.send(method, "\(path)?\(query)")
                #expect(answer.problem == "bad-request")
            }
        }
    }
}
