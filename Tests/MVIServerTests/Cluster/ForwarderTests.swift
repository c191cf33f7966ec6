import Locking
import MVI
import MVITesting
import MicroHTTP
import Networks
import PrometheusMetrics
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

@Suite("Requests for the node that runs a session's turns", .timeLimit(.minutes(1)))
struct ForwarderTests {
    /// A request that the session refused here, and its outcome.
    private final class Trial: Sendable {
        static let feature = FeatureID(name: "probe", key: nil)
        static let client = PeerAddress("203.0.113.9") ?? .unknown
        static let other = NodeRecord(id: .random(), address: "10.0.0.2:8080")

        let peers: ScriptedPeers
        let clock = ManualClock()
        private let counts = Lock((catchUps: 0, tries: 0))
        private let answers = Lock<[TestResponse]>([])
        private let answered = Gate()
        private let forwarder: Forwarder
        private let owner: Lock<NodeRecord?>
        private let node: TestNode
        private let triesThatFail: Int

        /// - Parameter triesThatFail: the number of tries for which another node owns the session.
        init(
            _ steps: [ScriptedPeers.Step], then last: @escaping ScriptedPeers.Step = { _ in .gone },
            triesThatFail: Int = .max, metrics: ForwardMetrics = ForwardMetrics(),
            owner: NodeRecord? = Trial.other
        ) throws {
            peers = ScriptedPeers(steps, then: last)
            node = try TestNode(in: World(), clock: clock)
            self.owner = Lock(owner)
            self.triesThatFail = triesThatFail
            forwarder = Forwarder(
                try #require(NodeLink(peers, node.environment)), ClientAddress(trusted: []), clock: clock,
                longestAnswer: 1_000, metrics: metrics)
        }

        /// The id of the node that forwards.
        var id: NodeID? { node.id }
        var catchUps: Int { counts.withLock { $0.catchUps } }
        var tries: Int { counts.withLock { $0.tries } }

        private var session: ForwardedSession {
            ForwardedSession(
                owner: { self.owner.withLock { $0 } },
                catchUp: { done in
                    self.counts.withLock { $0.catchUps += 1 }
                    done()
                })
        }

        private func attempt(_ reply: Reply) -> Forwarder.Attempt {
            { done in
                let isHere = self.counts.withLock { counts in
                    counts.tries += 1
                    return counts.tries > self.triesThatFail
                }
                if isHere { reply.answer(Response(status: 202)) }
                done(isHere)
            }
        }

        private func reply() -> Reply {
            let made = Lock<Reply?>(nil)
            let terms = ResponseContext(
                path: Array("/features/probe/intents".utf8), origin: nil, variesByOrigin: false)
            Reply.Request(terms) { _, reply in made.withLock { $0 = reply } }.handle([]) { response in
                var body: [UInt8] = []
                if case .bytes(let bytes) = response.body { body = bytes }
                let answer = TestResponse(
                    status: response.status, fields: response.fields.map { ($0.name, $0.value) }, body: body)
                self.answers.withLock { $0.append(answer) }
                self.answered.open()
            }
            guard let reply = made.withLock({ $0 }) else { preconditionFailure("a request is handled at once") }
            return reply
        }

        private func incoming(_ sender: RequestSender) -> Incoming {
            let head = RequestHead(
                method: "POST", path: Array("/features/probe/intents".utf8),
                fields: HeaderFields([
                    ("Host", "shop.example"), ("Authorization", "Bearer abc"), ("Content-Type", "application/json"),
                    ("X-Forwarded-For", "198.51.100.1"), ("User-Agent", "curl"), ("Connection", "close"),
                    ("Transfer-Encoding", "chunked"), ("If-Match", "*"),
                ]), peer: Self.client)
            return Incoming(head: head, parameter: 0..<0, sender: sender)
        }

        func forward(
            isRepeatable: Bool = false, wait: Duration = .zero, sender: RequestSender = .client
        ) async throws -> TestResponse {
            let reply = reply()
            forwarder.forward(
                ForwardedRequest(
                    incoming: incoming(sender), method: .post, feature: Self.feature, resource: .intents,
                    body: Array("{}".utf8), isRepeatable: isRepeatable, wait: wait, session: session, reply: reply),
                again: attempt(reply))
            return try await outcome()
        }

        func makeStores(_ features: [FeatureID], sender: RequestSender = .client) async throws -> TestResponse {
            let reply = reply()
            forwarder.makeStores(features, incoming(sender), session, again: attempt(reply)) { refusal in
                switch refusal {
                case .problem(let problem): reply.refuse(problem)
                case .relayed(let response): reply.answer(response)
                }
            }
            return try await outcome()
        }

        /// Returns the answer, and advances the clock to each deadline.
        private func outcome() async throws -> TestResponse {
            let mover = Task {
                while !Task.isCancelled {
                    await clock.sleepers()
                    clock.run()
                }
            }
            defer { mover.cancel() }
            try await answered.wait()
            let answers = answers.withLock { $0 }
            #expect(answers.count == 1)
            return answers[0]
        }

        func becomeOwned(by record: NodeRecord?) { owner.withLock { $0 = record } }
    }

    @Test("the answer is relayed unchanged, except for fields of the connection and CORS")
    func relay() async throws {
        let body = #"{"type":"/problems/intent-refused","title":"No","status":422,"detail":"ä\u2028","code":"x"}"#
        let trial = try Trial([
            { _ in
                .answer(
                    422,
                    [
                        ("Content-Type", "application/problem+json"), ("Retry-After", "7"), ("Date", "Mon"),
                        ("Connection", "keep-alive"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked"),
                        ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"),
                        ("Access-Control-Allow-Origin", "https://a.example"),
                        ("Vary", "Authorization, Cookie, Origin, Prefer"),
                    ], body)
            }
        ])
        let answer = try await trial.forward()
        #expect(answer.status == 422)
        #expect(answer.text == body)
        #expect(
            answer.fields.map { "\($0.name): \($0.value)" } == [
                "Content-Type: application/problem+json", "Retry-After: 7", "Set-Cookie: a=b", "Set-Cookie: c=d",
                "Vary: Authorization, Cookie, Origin, Prefer",
            ])
        #expect(trial.tries == 0 && trial.catchUps == 0)
    }

    @Test("the owner gets the rebuilt path, the relevant fields and the client's address")
    func request() async throws {
        let trial = try Trial([{ _ in .answer(202) }])
        _ = try await trial.forward(wait: .seconds(50))
        let (request, address) = try #require(trial.peers.asked.first)
        #expect(address == "10.0.0.2:8080")
        #expect(request.method == "POST" && request.target == "/features/probe/intents")
        #expect(request.body == Array("{}".utf8))
        #expect(
            request.fields.map(\.name) == ["host", "authorization", "content-type", "if-match", "MVI-Node"])
        #expect(request.fields.first?.value == "shop.example")
        let stamp = try #require(request.fields.last.flatMap { NodeStamp.read($0.value) }?.stamp)
        #expect(stamp.node == trial.id && stamp.receiver == Trial.other.id && stamp.client == Trial.client)
        // The client's wait and a little more.
        #expect(request.timeout == .seconds(58))
        #expect(request.longestAnswer == 1_000)
    }

    @Test("after a refusal of a former owner, and for an unreachable one, the request is tried here")
    func moved() async throws {
        for step: ScriptedPeers.Step in [{ _ in .moved }, { _ in .gone }] {
            let trial = try Trial([step, step], triesThatFail: 2)
            #expect(try await trial.forward().status == 202)
            #expect(trial.tries == 3 && trial.catchUps == 3)
        }
    }

    @Test func `requests are counted by outcome`() async throws {
        let registry = PrometheusRegistry()
        let trial = try Trial(
            [{ _ in .gone }, { _ in .moved }, { _ in .lost }, { _ in .answer(202) }],
            metrics: ForwardMetrics(registry))
        #expect(try await trial.forward(isRepeatable: true).status == 202)
        for result in ["answered", "refused", "unreachable", "unanswered"] {
            #expect(registry.text.contains("mvi_node_requests_total{result=\"\(result)\"} 1\n"))
        }
    }

    @Test("without another owner nothing is sent")
    func noOwner() async throws {
        let nobody = try Trial([], triesThatFail: 1, owner: nil)
        #expect(try await nobody.forward().status == 202)
        #expect(nobody.peers.asked.isEmpty && nobody.tries == 2)
        let itself = try Trial([], triesThatFail: 0)
        itself.becomeOwned(by: NodeRecord(id: try #require(itself.id), address: "10.0.0.1:8080"))
        #expect(try await itself.forward().status == 202)
        #expect(itself.peers.asked.isEmpty)
    }

    @Test("an unreachable owner leads to 503 within five seconds, with fewer and fewer tries")
    func patience() async throws {
        let trial = try Trial([])
        let answer = try await trial.forward(isRepeatable: true)
        #expect(answer.status == 503 && answer.problem == "owner-unreachable")
        #expect(answer["retry-after"] == "2")
        #expect((6...14).contains(trial.peers.asked.count), "\(trial.peers.asked.count)")
        #expect(trial.clock.now.offset <= Forwarder.patience)
        #expect(trial.clock.now.offset > .seconds(3))
    }

    @Test("without an answer to a request that cannot be repeated, the outcome is unknown")
    func lost() async throws {
        let trial = try Trial([{ _ in .lost }], triesThatFail: 0)
        let answer = try await trial.forward()
        #expect(answer.status == 503 && answer.problem == "journal-unavailable")
        #expect(answer.text.contains("it is unknown whether the request was served"))
        #expect(trial.tries == 0 && trial.peers.asked.count == 1)
    }

    @Test("a request that can be repeated is repeated, here or there")
    func repeated() async throws {
        let there = try Trial([{ _ in .lost }, { _ in .answer(204) }])
        #expect(try await there.forward(isRepeatable: true).status == 204)
        #expect(there.tries == 1)
        let here = try Trial([{ _ in .lost }], triesThatFail: 0)
        #expect(try await here.forward(isRepeatable: true).status == 202)
    }

    @Test("a hung owner leads to an answer that does not claim that the request was not served")
    func hanging() async throws {
        let again = try Trial([], then: { _ in .lost })
        let answer = try await again.forward(isRepeatable: true)
        #expect(answer.problem == "journal-unavailable")
        #expect(again.peers.asked.count == 2)
        let gone = try Trial([{ _ in .lost }])
        #expect(try await gone.forward(isRepeatable: true).problem == "journal-unavailable")
    }

    @Test("a stopping owner may have begun the request: it is repeated if possible, or else the answer is relayed")
    func draining() async throws {
        let named = try Trial([{ _ in .problem(503, "draining") }], triesThatFail: 0)
        #expect(try await named.forward(isRepeatable: true).status == 202)
        let unnamed = try Trial([{ _ in .problem(503, "draining") }], triesThatFail: 0)
        #expect(try await unnamed.forward().problem == "draining")
        let busy = try Trial([{ _ in .problem(503, "busy") }], triesThatFail: 0)
        #expect(try await busy.forward(isRepeatable: true).problem == "busy")
    }

    @Test("an answer with an impossible status counts as none", arguments: [100, 101, 199, 600, 999])
    func status(_ status: Int) async throws {
        let trial = try Trial([{ _ in .answer(status) }])
        #expect(try await trial.forward().problem == "journal-unavailable")
    }

    @Test("a forwarded request is not forwarded again, whichever node owns the session")
    func loop() async throws {
        let proven = try Trial([{ _ in .answer(200) }], triesThatFail: 0)
        #expect(try await proven.forward(sender: .node).status == 421)
        let unproven = try Trial([{ _ in .answer(200) }], triesThatFail: 0)
        #expect(try await unproven.forward(sender: .unproven).problem == "owner-unreachable")
        #expect(proven.peers.asked.isEmpty && unproven.peers.asked.isEmpty)
        let stores = try Trial([{ _ in .answer(200) }], triesThatFail: 0)
        #expect(try await stores.makeStores([Trial.feature], sender: .node).status == 421)
        #expect(stores.peers.asked.isEmpty)
    }

    @Test("stores are made by reading their states there, with the client's credentials, and then shown here")
    func stores() async throws {
        let trial = try Trial([{ _ in .answer(200) }, { _ in .answer(200) }], triesThatFail: 0)
        let features = [FeatureID(name: "probe", key: nil), FeatureID(name: "item", key: "1")]
        #expect(try await trial.makeStores(features).status == 202)
        let asked = trial.peers.asked.map(\.request)
        #expect(asked.map(\.target) == ["/features/probe/state", "/features/item:1/state"])
        #expect(asked.allSatisfy { $0.method == "GET" && $0.body.isEmpty })
        #expect(asked.allSatisfy { $0.fields.map(\.name) == ["host", "authorization", "MVI-Node"] })
        #expect(trial.catchUps == 1 && trial.clock.now.offset == .zero)
    }

    @Test("stores that the owner refuses are refused with its answer; an owner that is gone is waited for")
    func refusedStores() async throws {
        let refused = try Trial([{ _ in .problem(403, "forbidden") }])
        #expect(try await refused.makeStores([Trial.feature]).problem == "forbidden")
        let gone = try Trial(
            [{ _ in .lost }, { _ in .gone }, { _ in .moved }, { _ in .answer(200) }], triesThatFail: 3)
        #expect(try await gone.makeStores([Trial.feature]).status == 202)
        #expect(gone.peers.asked.count == 4)
        let away = try Trial([])
        #expect(try await away.makeStores([Trial.feature]).problem == "owner-unreachable")
    }
}
