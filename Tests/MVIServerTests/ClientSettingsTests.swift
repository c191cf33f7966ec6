import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing
import WireJSON

@testable import MVIServer

@Suite("A client's locale, time zone and address", .timeLimit(.minutes(2)))
struct ClientSettingsTests {
    private static let german = #"{"locale":"de-DE","timeZone":"Europe/Berlin"}"#
    private static let english = #"{"locale":"en-GB","timeZone":"Europe/London"}"#
    private static let greet = #"{"type":"greet"}"#

    @FeatureBuilder private static func content(_ gate: Gate) -> ServerContent {
        Greeting()
        TestServer.probes(gate)
    }

    private struct Described: Decodable, Equatable {
        var locale: String?
        var timeZone: String?
    }

    private func run(
        _ depth: Depth, in world: World = World(), authenticator: (any Authenticator)? = nil,
        _ change: (inout ServerSettings) -> Void = { _ in }, _ test: (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(
            depth, in: world, authenticator: authenticator, content: { Self.content($0) }, change, test)
    }

    private func session(_ server: TestServer, _ members: String) async throws -> Credential {
        let made = try await server.send(TestRequest("POST", "/sessions", [RefusalCase.json], body: members))
        try #require(made.status == 201, "\(made.text)")
        struct Made: Decodable {
            var id: String
            var token: String
        }
        let session = try made.json(Made.self)
        return Credential(id: session.id, field: ("Authorization", "Bearer \(session.token)"), secret: session.token)
    }

    private func set(_ server: TestServer, _ session: Credential, _ body: String) async throws {
        let answer = try await server.send(session.request("PUT", "/sessions/current", [RefusalCase.json], body: body))
        #expect(answer.status == 204, "\(answer.text)")
    }

    private func described(_ server: TestServer, _ session: Credential) async throws -> Described {
        try await server.send(session.request("GET", "/sessions/current")).json(Described.self)
    }

    private func view(_ server: TestServer, _ session: Credential) async throws -> Greeting.ViewState {
        try await server.send(session.request("GET", "/features/greeting/state")).json(Greeting.ViewState.self)
    }

    @Test("are those that it set last, in its views, turns and checks", arguments: Depth.allCases)
    func turns(depth: Depth) async throws {
        try await run(depth) { server in
            let session = try await self.session(server, Self.german)
            #expect(try await described(server, session) == Described(locale: "de-DE", timeZone: "Europe/Berlin"))
            for body in [Self.greet, #"{"type":"check"}"#] {
                let answer = try await server.send(session.intent(body, [("Prefer", "wait=9")], to: "greeting"))
                #expect(answer.status == 200)
            }
            try await set(server, session, Self.english)
            _ = try await server.send(session.intent(Self.greet, to: "greeting"))
            let seen = [
                "de-DE Europe/Berlin 127.0.0.1", "check de-DE Europe/Berlin 127.0.0.1", "en-GB Europe/London 127.0.0.1",
            ]
            let shown = try await view(server, session)
            #expect(shown.text == "Hello Europe/London")
            // The action of a check is performed for the same client.
            #expect(shown.clients == seen)
            try await set(server, session, #"{"timeZone":"Asia/Tokyo"}"#)
            #expect(try await described(server, session) == Described(timeZone: "Asia/Tokyo"))
            try await set(server, session, "{}")
            #expect(try await described(server, session) == Described())
            #expect(try await view(server, session).text == "Hello ?")
        }
    }

    @Test("are unknown to turns of reminders and of the server's code")
    func reminders() async throws {
        let directory = SessionDirectory()
        try await TestServer.run(.memory, directory: directory, content: { Self.content($0) }) { server in
            let session = try await self.session(server, Self.german)
            _ = try await server.send(session.intent(#"{"type":"remind"}"#, to: "greeting"))
            _ = try await directory.send(.greet, to: Greeting.self, session: session.id)
            server.time.advance(by: .seconds(61))
            _ = await server.sessions.fireDueReminders()
            #expect(try await view(server, session).clients == ["- - -", "reminder - - -"])
        }
    }

    @Test("survive a restart and an eviction with a stored session", arguments: [false, true])
    func restart(isSignedIn: Bool) async throws {
        let world = World()
        let members = isSignedIn ? #"{"identity":"ann","locale":"de-DE"}"# : #"{"locale":"de-DE"}"#
        var known: Credential?
        try await run(.memory, in: world, authenticator: WordAuthenticator()) { server in
            let session = try await self.session(server, members)
            _ = try await server.send(session.intent(Self.greet, to: "greeting"))
            known = session
            try server.leaveMemory()
            #expect(try await described(server, session) == Described(locale: "de-DE"))
            // After it is stored.
            try await set(server, session, Self.english)
        }
        let session = try #require(known)
        try await run(.memory, in: world, authenticator: WordAuthenticator()) { server in
            #expect(try await described(server, session) == Described(locale: "en-GB", timeZone: "Europe/London"))
            _ = try await server.send(session.intent(Self.greet, to: "greeting"))
            #expect(try await view(server, session).clients.last == "en-GB Europe/London 127.0.0.1")
        }
    }

    @Test("survive a restart in the token of a session that is not stored, also on another node")
    func token() async throws {
        let world = World()
        var known: Credential?
        try await run(.memory, in: world) { server in
            let session = try await self.session(server, Self.german)
            try server.leaveMemory()
            #expect(try await described(server, session) == Described(locale: "de-DE", timeZone: "Europe/Berlin"))
            known = session
        }
        let session = try #require(known)
        try await run(.memory, in: world) { server in
            #expect(try await described(server, session) == Described(locale: "de-DE", timeZone: "Europe/Berlin"))
            try await set(server, session, #"{"locale":"en-GB"}"#)
        }
        try await run(.memory, in: world) { server in
            let found = try await described(server, session)
            #expect(found == Described(locale: "en-GB"))
            #expect(try await view(server, session).text == "Hello ?")
        }
    }

    @Test("are kept by a sign-in and a renewal, and each device of a user has its own", arguments: Depth.allCases)
    func devices(depth: Depth) async throws {
        try await run(depth, authenticator: WordAuthenticator()) { server in
            let phone = try await self.session(server, #"{"identity":"ann","shared":true,"locale":"de-DE"}"#)
            let laptop = try await self.session(server, #"{"identity":"ann","shared":true,"locale":"en-GB"}"#)
            #expect(phone.id == laptop.id)
            _ = try await server.send(phone.intent(Self.greet, to: "greeting"))
            #expect(try await view(server, phone).text == "Hallo ?")
            #expect(try await view(server, laptop).text == "Hello ?")
            #expect(try await server.signIn(phone, "ann premium").status == 200)
            #expect(try await view(server, phone).text == "Hallo ?")
            let guest = try await self.session(server, Self.german)
            let signedIn = try await server.signIn(guest, "bob")
            struct Made: Decodable { var token: String }
            let token = try signedIn.json(Made.self).token
            let bob = Credential(id: guest.id, field: ("Authorization", "Bearer \(token)"), secret: token)
            #expect(try await described(server, bob) == Described(locale: "de-DE", timeZone: "Europe/Berlin"))
        }
    }

    @Test("are set by a repeated POST /sessions with the cookie, which keeps them if it names none")
    func cookie() async throws {
        try await run(.memory) { server in
            let session = try await server.cookieSession()
            for (members, locale) in [(#","locale":"de-DE""#, "de-DE"), ("", "de-DE"), (#","locale":"fr""#, "fr")] {
                let answer = try await server.send(
                    session.request(
                        "POST", "/sessions", [RefusalCase.json], body: #"{"credential":"cookie"\#(members)}"#))
                #expect(answer.status == 200)
                #expect(try await described(server, session) == Described(locale: locale))
            }
        }
    }

    @Test("change what an open stream shows, with nothing between")
    func stream() async throws {
        try await run(.socket) { server in
            let session = try await self.session(server, Self.german)
            let stream = try Connection(port: server.port)
            try stream.send(session.request("GET", "/features/greeting/events"))
            #expect(try stream.head().status == 200)
            #expect(try stream.event("state").text.contains("Hallo Europe/Berlin"))
            try await set(server, session, Self.english)
            let next = try #require(try stream.event())
            #expect(next.name == "state" && next.text.contains("Hello Europe/London"))
        }
    }

    @Test("the address is the client's behind a trusted proxy, else the proxy's", arguments: [false, true])
    func proxy(isTrusted: Bool) async throws {
        try await run(.socket) {
            if isTrusted { $0.trustedProxies = [AddressRange("127.0.0.0/8")].compactMap { $0 } }
        } _: { server in
            let session = try await server.session()
            let fields = [("X-Forwarded-For", "203.0.113.7")]
            #expect(try await server.send(session.intent(Self.greet, fields, to: "greeting")).status == 202)
            let address = isTrusted ? "203.0.113.7" : "127.0.0.1"
            #expect(try await view(server, session).clients == ["- - \(address)"])
        }
    }

    @FeatureBuilder private static var greeting: ServerContent { Greeting() }

    @Test("the owner's node knows them all of a forwarded intent's client", arguments: Depth.allCases)
    func nodes(depth: Depth) async throws {
        let trusts: (inout ServerSettings) -> Void = {
            $0.trustedProxies = [AddressRange("127.0.0.0/8")].compactMap { $0 }
        }
        try await NodePair.run(depth, near: trusts, with: Self.greeting) { pair in
            let session = try await pair.session()
            try await set(pair.near, session, Self.german)
            let request = session.intent(Self.greet, [("X-Forwarded-For", "203.0.113.7")], to: "greeting")
            #expect(try await pair.near.send(request).status == 202)
            #expect(pair.recorder.sent.map(\.target) == ["/features/greeting/intents"])
            let shown = try await view(pair.far, session)
            #expect(shown.clients == ["de-DE Europe/Berlin 203.0.113.7"] && shown.text == "Hallo Europe/Berlin")
        }
    }

    @Test(
        "a language tag is checked by its form",
        arguments: [
            ("de", true), ("de-DE", true), ("zh-Hant-TW", true), ("sl-rozaj-biske", true), ("de-CH-1901", true),
            ("es-419", true), ("zh-cmn-Hans-CN", true), ("en-u-ca-buddhist-x-a", true), ("x-private", true),
            ("i-klingon", true), ("EN-GB-oed", true), ("hy-Latn-IT-arevela", true), ("", false), ("d", false),
            ("de_DE", false), ("de-DE.UTF-8", false), ("de--DE", false), ("de-", false), ("en-a", false),
            ("en-x", false), ("deutsches-DE", false), ("a-DE", false), ("de-419-DE", false), ("dé", false),
            ("de" + String(repeating: "-latin", count: 10), true),
            ("de" + String(repeating: "-latin", count: 11), false),
        ])
    func tags(text: String, isWellFormed: Bool) { #expect(LanguageTag.isWellFormed(text) == isWellFormed) }

    @Test(
        "a time zone is checked by its form",
        arguments: [
            ("Europe/Berlin", true), ("UTC", true), ("America/Argentina/Buenos_Aires", true), ("Etc/GMT+12", true),
            ("EST5EDT", true), ("America/Port-au-Prince", true), ("", false), ("/etc/passwd", false),
            ("../../etc", false), ("Europe/", false), ("Europe//Berlin", false), ("+01:00", false),
            ("Mitte Europa", false),
            (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
        ])
    func zones(text: String, isWellFormed: Bool) { #expect(TimeZoneName.isWellFormed(text) == isWellFormed) }
}
