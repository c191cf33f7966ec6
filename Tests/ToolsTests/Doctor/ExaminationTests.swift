@testable import mvi_tools
import MVIServer
import Testing

@Suite("Doctor behind a relay", .timeLimit(.minutes(2)))
struct ExaminationTests {
    /// The checks with another verdict than `ok`, except those that depend on TLS or on times.
    private func findings(_ found: [Check: Finding]) -> [Check: Verdict] {
        let others: Set<Check> = [.http2, .silence, .buffering]
        return found.mapValues(\.verdict).filter { $0.value != .ok && !others.contains($0.key) }
    }

    /// Missing events are not awaited for long.
    private static let impatient: @Sendable (inout DoctorOptions) -> Void = { $0.patience = .milliseconds(300) }

    @Test("a transparent relay has no faults, and no session is left")
    func right() async throws {
        let (found, sessions) = try await ExaminedServer.examine()
        #expect(findings(found) == [:], "\(found.values.map(\.measured))")
        #expect(found[.http2]?.verdict == .notMeasured)
        #expect(found[.buffering]?.measured.contains("6 changes came") == true)
        #expect(sessions == 0)
    }

    @Test("a relay that buffers a stream until its end is detected")
    func buffering() async throws {
        let (found, sessions) = try await ExaminedServer.examine(Relay(streams: .hold), options: Self.impatient)
        #expect(found[.buffering]?.verdict == .wrong)
        #expect(found[.buffering]?.measured.contains("when the stream had been ended") == true)
        #expect(found[.streamsTogether]?.verdict == .notMeasured)
        #expect(sessions == 0)
    }

    @Test("a relay that compresses and buffers streams")
    func compressing() async throws {
        let (found, _) = try await ExaminedServer.examine(Relay(streams: .compress), options: Self.impatient)
        #expect(found[.compression]?.verdict == .wrong)
    }

    @Test("a relay that speaks HTTP/1.0 to the server")
    func http10() async throws {
        let relay = Relay(request: { $0.replacing(" HTTP/1.1\r\n", with: " HTTP/1.0\r\n") })
        let (found, _) = try await ExaminedServer.examine(relay)
        #expect(findings(found) == [.upstream: .wrong])
    }

    @Test("a relay that cuts a quiet stream")
    func cutting() async throws {
        let relay = Relay(streams: .cut(after: "event: reset"))
        let (found, _) = try await ExaminedServer.examine(relay, watch: .seconds(30))
        #expect(found[.silence]?.verdict == .wrong)
        #expect(findings(found) == [:])
    }

    @Test("heartbeats that arrive are a correct silence")
    func heartbeat() async throws {
        let (found, _) = try await ExaminedServer.examine(watch: .seconds(2))
        #expect(found[.silence]?.verdict == .ok, "\(found[.silence]?.measured ?? "")")
    }

    @Test("fields that a relay drops", arguments: ["Last-Event-ID", "Idempotency-Key", "Sec-Fetch-Site"])
    func dropped(field: String) async throws {
        let (found, _) = try await ExaminedServer.examine(
            Relay(request: { $0.replacing("\(field):", with: "X-Lost:") }))
        #expect(findings(found) == [.requestFields: .wrong])
        #expect(found[.requestFields]?.measured == "\(field) did not reach the server.")
    }

    @Test("an Origin that a relay drops")
    func droppedOrigin() async throws {
        let (found, _) = try await ExaminedServer.examine(Relay(request: { $0.replacing("Origin:", with: "X-Lost:") }))
        #expect(findings(found) == [.origin: .wrong])
    }

    @Test("a Host that a relay changes to another of the server's names")
    func changedHost() async throws {
        let relay = Relay(request: { $0.replacing(/(?i)\bhost: 127\.0\.0\.1/, with: "Host: localhost") })
        let (found, _) = try await ExaminedServer.examine(relay)
        #expect(findings(found) == [.origin: .wrong])
    }

    @Test("a Host that a relay changes to a name that is not the server's")
    func wrongHost() async throws {
        let relay = Relay(request: { $0.replacing(/(?i)\bhost: 127\.0\.0\.1/, with: "Host: upstream") })
        let unreachable = await #expect(throws: Unreachable.self) { try await ExaminedServer.examine(relay) }
        #expect(unreachable?.description.contains("421 wrong-host") == true)
        #expect(unreachable?.description.contains("--public-url") == true)
    }

    @Test("another public address")
    func publicURL() async throws {
        let (found, _) = try await ExaminedServer.examine { $0.publicURL = Origin(setting: "https://mvi.example.com") }
        #expect(findings(found) == [.origin: .wrong, .cookie: .wrong])
    }

    @Test("a trusted proxy that reports no address, and an untrusted one")
    func clientAddress() async throws {
        let trusting = try await ExaminedServer.examine { settings in
            settings.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
        }
        #expect(findings(trusting.found) == [.clientAddress: .wrong])
        let noting = Relay(request: { $0.replacing(/(?i)\bhost:/, with: "X-Forwarded-For: 127.0.0.1\r\nHost:") })
        let (found, _) = try await ExaminedServer.examine(noting)
        #expect(findings(found) == [.clientAddress: .wrong])
        #expect(found[.clientAddress]?.measured.contains("does not trust the proxy") == true)
    }

    @Test("pages in place of problem documents")
    func pages() async throws {
        let relay = Relay(answer: { $0.replacing("application/problem+json", with: "text/html") })
        let (found, _) = try await ExaminedServer.examine(relay)
        #expect(found[.refusals]?.verdict == .wrong)
    }

    @Test("a server that requires sign-in is measured with an identity")
    func identity() async throws {
        let guest = try await ExaminedServer.examine(settings: { $0.requireIdentity = true })
        #expect(guest.found[.sessions]?.verdict == .notMeasured)
        #expect(guest.found.values.allSatisfy { $0.verdict != .wrong })
        let (found, sessions) = try await ExaminedServer.examine(
            settings: { $0.requireIdentity = true }, options: { $0.identity = "ada" })
        #expect(findings(found) == [:])
        #expect(sessions == 0)
    }

    @Test("without a server, or with another one, nothing is measured")
    func unreachable() async throws {
        let address = try #require(ServerAddress("http://127.0.0.1:1"))
        await #expect(throws: Unreachable.self) { try await Examination(DoctorOptions(address)).run() }
        let other = Relay(answer: { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" })
        await #expect(throws: Unreachable.self) { try await ExaminedServer.examine(other) }
    }

    @Test(
        "answers of a hostile server end in findings or in a refusal",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "\u{0}\u{1}\u{2}", "",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
            "HTTP/1.1 301 Moved\r\nLocation: http://\u{1B}[2J/\r\nContent-Length: 0\r\n\r\n",
        ])
    func hostile(answer: String) async throws {
        await #expect(throws: Unreachable.self) {
            try await ExaminedServer.examine(
                Relay(answer: { _ in answer }), options: { $0.answerTime = .milliseconds(300) })
        }
    }
}
