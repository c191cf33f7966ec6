import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("The data of a store ends with it")
struct SlotTests {
    private func patches(_ session: Session) -> Int {
        session.core.withLock { core in core.stores.reduce(0) { $0 + $1.patches.count } }
    }

    @Test("patches live as long as their store, its newest state and a stream of changes")
    func patches() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream(delta: .jsonPatch)
        _ = try stream.read()
        let long = String(repeating: "x", count: 200)
        for number in 0..<20 {
            let feature = FeatureID(name: "keyed", key: "k\(number)")
            for text in ["\(long)a", "\(long)b"] {
                try fixture.send(#"{"type":"rename","to":"\#(text)"}"#, to: feature)
                _ = try stream.read()
            }
            try fixture.send(#"{"type":"write","note":"\#(long)\#(number)"}"#)
            _ = try stream.read()
            #expect(patches(fixture.session) <= 2)
            #expect(try fixture.session.removed(feature))
        }
        #expect(patches(fixture.session) == 1)
        let whole = try fixture.stream()
        stream.stream.closed()
        #expect(patches(fixture.session) == 0)
        whole.stream.closed()
    }

    /// Starts a request that waits for another state than the present one.
    private func waiting(_ fixture: Fixture) throws -> Box<Result<StateSnapshot, StoreError>> {
        let answer = Box<Result<StateSnapshot, StoreError>>()
        let known = try fixture.session.stateNow(of: fixture.tally).version
        fixture.session.state(of: fixture.tally, wait: .seconds(10), until: { $0.version != known }) { answer.set($0) }
        #expect(answer.value == nil)
        return answer
    }

    @Test("a reader that waits is answered with a new store's state if the store is disposed of")
    func disposal() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"add","amount":3}"#)
        let before = try fixture.session.stateNow(of: fixture.tally)
        let answer = try waiting(fixture)
        #expect(try fixture.session.removed(fixture.tally))
        let state = try #require(answer.value).get()
        #expect(state.version > before.version)
        #expect(String(decoding: state.view, as: UTF8.self).contains(#""count":0"#))
        #expect(fixture.session.hasStore(fixture.tally))
    }

    @Test("a reader that waits is told that the session has ended")
    func end() throws {
        let fixture = try Fixture()
        let answer = try waiting(fixture)
        fixture.session.end(.ended)
        #expect(answer.value?.code == .gone)
    }

    @Test("a reader that waits is answered with another writer's state of the store")
    func elsewhere() throws {
        let cluster = Cluster()
        let (here, there) = (try cluster.node(Probe.definition()), try cluster.node(Probe.definition()))
        let probe = try Probes().first
        let (session, token) = try here.made(.bearer)
        try session.told(.put(text: "old"), to: probe)
        let version = try session.stateNow(of: probe).version
        let answer = Box<Result<StateSnapshot, StoreError>>()
        session.state(of: probe, wait: .seconds(10), until: { $0.version != version }) { answer.set($0) }
        let other = try there.live(token)
        #expect(try other.removed(probe))
        try other.told(.put(text: "new"), to: probe)
        session.catchUp()
        let state = try #require(answer.value).get()
        #expect(String(decoding: state.view, as: UTF8.self).contains("new"))
    }
}
