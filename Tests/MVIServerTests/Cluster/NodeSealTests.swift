import MicroHTTP
import Networks
import SessionJournal
import Testing

@testable import MVIServer

@Suite("The proof of requests between nodes")
struct NodeSealTests {
    private static let secret = JournalSecret(key: Array(1...32), generation: Array(1...16))
    private static let now: Duration = .seconds(1_767_313_000)
    private static let receiver = NodeID(4_712)
    private static let body = Array(#"{"type":"increment"}"#.utf8)
    private static let stamp = NodeStamp(
        node: NodeID(4_711), receiver: receiver, time: 1_767_313_000_000,
        client: PeerAddress("203.0.113.9") ?? .unknown,
        bodyHash: NodeSeal.hash(body))
    /// Every field that is sent on, and one that is not.
    private static let fields: [(name: String, value: String)] =
        ForwardedFields.all.map { ($0, "value of \($0)") } + [("user-agent", "curl")]

    /// A request as it arrives at a node.
    private struct Arrived {
        var method = "POST"
        var target = "/features/probe/intents?a=b"
        var fields = NodeSealTests.fields
        var stamp: String
        var receiver = NodeSeal(NodeSealTests.secret)
        var node = NodeSealTests.receiver

        init(_ seal: NodeSeal = NodeSeal(NodeSealTests.secret), _ stamp: NodeStamp = NodeSealTests.stamp) {
            self.stamp = ""
            self.stamp = seal.seal(stamp, method: method, target: target, fields: fields)
        }

        func finding(now: Duration = NodeSealTests.now) -> NodeSeal.Finding {
            let parts = target.split(separator: "?", maxSplits: 1)
            let head = RequestHead(
                method: method, path: Array(parts[0].utf8), query: parts.count > 1 ? Array(parts[1].utf8) : nil,
                fields: HeaderFields(fields + (stamp.isEmpty ? [] : [(NodeStamp.shownField, stamp)])))
            return receiver.open(head, at: node, now: now)
        }
    }

    @Test("an unchanged request is proven, with the client's address")
    func good() {
        #expect(Arrived().finding() == .good(Self.stamp))
    }

    @Test("fields that no endpoint reads, and the order of those with different names, do not matter")
    func otherFields() {
        var arrived = Arrived()
        arrived.fields.removeAll { $0.name == "user-agent" }
        arrived.fields = arrived.fields.reversed().map { ($0.name.uppercased(), $0.value) } + [("Connection", "close")]
        #expect(arrived.finding() == .good(Self.stamp))
    }

    @Test("no byte of the field can be changed")
    func stampBytes() {
        let good = Array(Arrived().stamp.utf8)
        for index in good.indices {
            var arrived = Arrived()
            var bytes = good
            // A digit stays a digit, so that the field is still well formed.
            bytes[index] = good[index] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
            arrived.stamp = String(decoding: bytes, as: UTF8.self)
            #expect(arrived.finding() == .bad, "\(arrived.stamp)")
        }
    }

    @Test("no byte of a forwarded field can be changed", arguments: ForwardedFields.all)
    func fieldBytes(_ name: String) throws {
        let index = try #require(Self.fields.firstIndex { $0.name == name })
        for place in Self.fields[index].value.utf8.indices {
            var arrived = Arrived()
            var value = Array(Self.fields[index].value.utf8)
            value[Self.fields[index].value.utf8.distance(from: Self.fields[index].value.startIndex, to: place)] ^= 1
            arrived.fields[index].value = String(decoding: value, as: UTF8.self)
            #expect(arrived.finding() == .bad)
        }
        var without = Arrived()
        without.fields.remove(at: index)
        #expect(without.finding() == .bad)
        var twice = Arrived()
        twice.fields.append(Self.fields[index])
        #expect(twice.finding() == .bad)
        var divided = Arrived()
        divided.fields[index].value = "value"
        divided.fields.insert((name, "of \(name)"), at: index + 1)
        #expect(divided.finding() == .bad)
    }

    @Test("a field that was not sent cannot be added", arguments: ForwardedFields.all)
    func addedField(_ name: String) {
        var arrived = Arrived()
        arrived.fields = []
        arrived.stamp = NodeSeal(Self.secret).seal(Self.stamp, method: "POST", target: arrived.target, fields: [])
        #expect(arrived.finding() == .good(Self.stamp))
        arrived.fields = [(name, "")]
        #expect(arrived.finding() == .bad)
    }

    @Test("neither the method nor any byte of the target can be changed")
    func line() {
        var arrived = Arrived()
        arrived.method = "PUT"
        #expect(arrived.finding() == .bad)
        let target = Array(Arrived().target.utf8)
        for index in target.indices.dropFirst() {
            var arrived = Arrived()
            var bytes = target
            bytes[index] ^= 1
            arrived.target = String(decoding: bytes, as: UTF8.self)
            #expect(arrived.finding() == .bad, "\(arrived.target)")
        }
    }

    @Test("a node of another journal proves nothing")
    func otherSecret() {
        let other = NodeSeal(JournalSecret(key: Array(2...33), generation: Array(1...16)))
        #expect(Arrived(other).finding() == .bad)
        // A journal that was restored to an earlier time is the same one.
        let later = NodeSeal(JournalSecret(key: Self.secret.key, generation: Array(2...17)))
        #expect(Arrived(later).finding() == .good(Self.stamp))
    }

    @Test("during a replacement of the key both keys are valid, and then the old one is not")
    func rotation() throws {
        let before = Self.secret
        let since = Self.now + JournalSecret.spread
        let after = try #require(before.rotated(now: Self.now, since: since, tokenLife: .seconds(86_400)))
        func finding(_ sender: NodeSeal, _ receiver: NodeSeal) -> NodeSeal.Finding {
            var arrived = Arrived(sender)
            arrived.receiver = receiver
            return arrived.finding()
        }
        let unaware = NodeSeal(before, now: Self.now)
        let (waiting, using) = (NodeSeal(after, now: since - .seconds(1)), NodeSeal(after, now: since))
        for (sender, receiver) in [
            (unaware, waiting), (waiting, unaware), (unaware, using), (waiting, using), (using, waiting),
            (using, using),
        ] { #expect(finding(sender, receiver) == .good(Self.stamp)) }
        #expect(finding(using, unaware) == .bad)
        let settled = NodeSeal(after, now: since + JournalSecret.spread)
        #expect(finding(unaware, settled) == .bad && finding(using, settled) == .good(Self.stamp))
    }

    @Test("a stamp is valid for a minute, with clocks that are ahead or behind")
    func time() {
        let arrived = Arrived()
        for seconds in [-60, -1, 0, 1, 60] {
            #expect(arrived.finding(now: Self.now + .seconds(seconds)) == .good(Self.stamp))
        }
        for milliseconds in [-60_001, 60_001, 3_600_000] {
            let age: Duration = .milliseconds(milliseconds)
            #expect(arrived.finding(now: Self.now + age) == .outOfTime(by: age))
        }
    }

    @Test func `a stamp is valid only at its receiver`() {
        var arrived = Arrived()
        arrived.node = NodeID(4_713)
        #expect(arrived.finding() == .misdirected(Self.stamp))
        arrived.node = Self.stamp.node
        #expect(arrived.finding() == .misdirected(Self.stamp))
    }

    @Test(
        "a malformed field proves nothing",
        arguments: ["", " ", "1 2 unknown a b", "4711 4712 1767313000000 203.0.113.9", "x", "1 2 3 4 5 6"])
    func malformed(_ text: String) {
        var arrived = Arrived()
        arrived.stamp = text.isEmpty ? "-" : text
        #expect(arrived.finding() == .bad)
    }

    @Test("a valid field in another notation, or with additional values, proves nothing")
    func otherWriting() {
        let good = Arrived().stamp
        for text in [good.uppercased(), " " + good, good + " ", good + " x", "0" + good, "+" + good] {
            var arrived = Arrived()
            arrived.stamp = text
            #expect(arrived.finding() == .bad || text == good, "\(text)")
        }
        var twice = Arrived()
        twice.fields.append((NodeStamp.shownField, good))
        #expect(twice.finding() == .bad)
        var none = Arrived()
        none.stamp = ""
        #expect(none.finding() == .bad)
    }

    @Test("a client with an unknown address has a stamp of a valid length")
    func addresses() throws {
        for text in ["unknown", "::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"] {
            let client = text == "unknown" ? .unknown : try #require(PeerAddress(text))
            let stamp = NodeStamp(
                node: NodeID(.max), receiver: NodeID(.max), time: .max, client: client, bodyHash: Self.stamp.bodyHash)
            let arrived = Arrived(NodeSeal(Self.secret), stamp)
            #expect(NodeStamp.read(arrived.stamp)?.stamp == stamp)
            #expect(arrived.stamp.utf8.count + NodeStamp.shownField.utf8.count + 4 <= NodeStamp.longestField)
        }
    }
}
