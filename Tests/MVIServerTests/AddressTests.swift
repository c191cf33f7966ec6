import MicroHTTP
import Networks
import Sessions
import Testing

@testable import MVIServer

@Suite("Addresses and rates")
struct AddressTests {
    @Test(arguments: ["10.0.0.0/8", "127.0.0.1", "2001:db8::/32", "::1", "0.0.0.0/0", "192.0.2.0/25"])
    func `a range is written as it is read`(text: String) {
        #expect(AddressRange(text)?.description == text)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.1/8", "10.0.0.0/33", "::/129", "localhost", "10.0.0.0/8/8", "10.0.0.0/-1", "1.2.3",
    ])
    func `malformed ranges are refused`(text: String) { #expect(AddressRange(text) == nil) }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("::/0", "10.0.0.1", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "203.0.113.9", true),
    ])
    func `a range contains the addresses with its prefix`(range: String, address: String, isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(try #require(PeerAddress(address))) == isIn)
    }

    @Test func `a program on the Unix socket is a trusted proxy: it tells the client's address, else that is unix`() {
        let addresses = ClientAddress(trusted: [])
        func client(_ fields: [(name: String, value: String)]) -> String {
            "\(addresses.of(RequestHead(method: "GET", path: [0x2F], fields: HeaderFields(fields), peer: .unix)))"
        }
        #expect(client([]) == "unix")
        #expect(client([("X-Forwarded-For", "203.0.113.9")]) == "203.0.113.9")
        #expect(PeerAddress("unix") == nil && PeerAddress.unix.networks == [.unix] && !PeerAddress.unix.isV4)
        #expect(["0.0.0.0/0", "::/0"].compactMap { AddressRange($0) }.allSatisfy { !$0.contains(.unix) })
    }

    private static let trusted = [AddressRange("127.0.0.1"), AddressRange("10.0.0.0/8")].compactMap { $0 }

    @Test(arguments: [
        // Without a forwarding field, or with one from a peer that is not trusted.
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", [("X-Forwarded-For", "203.0.113.9")], "192.0.2.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        // One trusted proxy, two of them, and a claim of the client before them.
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9")], "203.0.113.9"),
        ("127.0.0.1", [("X-Forwarded-For", "198.51.100.1, 203.0.113.9, 10.1.1.1")], "203.0.113.9"),
        ("127.0.0.1", [("X-Forwarded-For", "198.51.100.1"), ("X-Forwarded-For", "203.0.113.9")], "203.0.113.9"),
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9:4711")], "203.0.113.9"),
        ("127.0.0.1", [("X-Forwarded-For", "[2001:db8::1]:4711")], "2001:db8::1"),
        ("127.0.0.1", [("X-Forwarded-For", "2001:db8::1")], "2001:db8::1"),
        ("127.0.0.1", [("X-Forwarded-For", "10.0.0.7, 10.0.0.8")], "10.0.0.7"),
        // A malformed address ends the chain.
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9, unknown")], "127.0.0.1"),
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9, garbage, 10.0.0.8")], "10.0.0.8"),
        ("127.0.0.1", [("X-Forwarded-For", "")], "127.0.0.1"),
        ("127.0.0.1", [("Forwarded", "for=203.0.113.9;proto=https;by=10.0.0.8")], "203.0.113.9"),
        ("127.0.0.1", [("Forwarded", #"proto=https;For="[2001:db8::1]:4711""#)], "2001:db8::1"),
        ("127.0.0.1", [("Forwarded", "for=198.51.100.1, for=203.0.113.9, for=_hidden")], "127.0.0.1"),
        // A proxy that writes one field forwards the other as the client sent it.
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=198.51.100.1")], "127.0.0.1"),
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=203.0.113.9")], "203.0.113.9"),
    ])
    func `a request's address is the last that a trusted proxy saw`(
        peer: String, fields: [(String, String)], client: String
    ) throws {
        let head = RequestHead(
            method: "GET", path: [0x2F], fields: HeaderFields(fields.map { (name: $0.0, value: $0.1) }),
            peer: try #require(PeerAddress(peer)))
        #expect(ClientAddress(trusted: Self.trusted).of(head).description == client)
    }

    @Test func `a bucket gives its burst at once, then its rate, and is full again after a pause`() throws {
        let rate = try #require(Rate(perSecond: 10, burstSeconds: 3))
        var bucket = TokenBucket()
        var now = Duration.seconds(1_000)
        for _ in 0..<30 { #expect(bucket.take(rate, now: now) == nil) }
        #expect(bucket.take(rate, now: now) == .milliseconds(100))
        now += .milliseconds(99)
        #expect(bucket.take(rate, now: now) == .milliseconds(1))
        now += .milliseconds(1)
        #expect(bucket.take(rate, now: now) == nil)
        #expect(bucket.take(rate, now: now) != nil)
        now += .seconds(3_600)
        for _ in 0..<30 { #expect(bucket.take(rate, now: now) == nil) }
        #expect(bucket.take(rate, now: now) == .milliseconds(100))
        #expect(Rate(perSecond: 0, burstSeconds: 3) == nil)
    }

    @Test func `the answer to one intent too many has the time until the next`() async throws {
        try await TestServer.run(.memory, { $0.intentRate = 2 }) { server in
            let session = try await server.session()
            let other = try await server.session()
            for _ in 0..<10 {
                #expect(try await server.send(session.intent(#"{"type":"increment"}"#)).status == 202)
            }
            let refused = try await server.send(session.intent(#"{"type":"increment"}"#))
            #expect(refused.problem == "too-many-requests")
            #expect(refused["retry-after"] == "1")
            #expect(refused["ratelimit"] == #""intents";r=0;t=1"#)
            #expect(refused["ratelimit-policy"] == #""intents";q=10;w=5"#)
            // Reads are not counted, other sessions are not affected, and more is allowed with time.
            #expect(try await server.send(session.request("GET", "/features/probe/state")).status == 200)
            #expect(try await server.send(other.intent(#"{"type":"increment"}"#)).status == 202)
            server.time.advance(by: .milliseconds(500))
            #expect(try await server.send(session.intent(#"{"type":"increment"}"#)).status == 202)
            #expect(try await server.send(session.intent(#"{"type":"increment"}"#)).status == 429)
        }
    }

    @Test func `a refusal because of the rate does not consume a number`() async throws {
        try await TestServer.run(.memory, { $0.intentRate = 1 }) { server in
            let session = try await server.session()
            func numbered(_ number: Int) -> TestRequest {
                session.intent(
                    #"{"type":"increment"}"#, [("Intent-Seq", "\(number)"), ("Intent-Epoch", "client")])
            }
            for number in 1...5 { #expect(try await server.send(numbered(number)).status == 202) }
            #expect(try await server.send(numbered(6)).status == 429)
            server.time.advance(by: .seconds(1))
            #expect(try await server.send(numbered(6)).status == 202)
        }
    }

    @Test func `an address makes as many sessions as it may; a page that asks for its own again is not counted`()
        async throws
    {
        try await TestServer.run(.memory, { $0.sessionRate = 1 }) { server in
            let cookie = try await server.cookieSession()
            for _ in 0..<29 { _ = try await server.session() }
            let refused = try await server.send(TestRequest("POST", "/sessions"))
            #expect(refused.status == 429)
            #expect(refused["ratelimit-policy"] == #""sessions";q=30;w=30"#)
            #expect(refused["location"] == nil && refused["set-cookie"] == nil)
            let again = try await server.send(
                TestRequest(
                    "POST", "/sessions", [("Content-Type", "application/json"), cookie.field],
                    body: #"{"credential":"cookie"}"#))
            #expect(again.status == 200)
            server.time.advance(by: .seconds(1))
            #expect(try await server.send(TestRequest("POST", "/sessions")).status == 201)
        }
    }
}
