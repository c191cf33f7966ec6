import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("A session whose latest commits the journal lost")
struct LostBranchTests {
    private typealias Branches = (nodes: NodePair, goBack: () -> Void)

    /// Runs a turn on one node, and returns a function that sets the journal back to it.
    private func branches(
        _ first: String = #"{"type":"add","amount":1}"#, to feature: FeatureID? = nil
    ) throws -> Branches {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        try nodes.here.send(first, to: feature ?? nodes.here.tally)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        let snapshot = try #require(nodes.kept.snapshot(of: key))
        return (nodes, { nodes.kept.goBack(key, to: snapshot, epoch: "another") })
    }

    /// Returns two nodes that know three turns, of which the journal lost one.
    private func nodes() throws -> NodePair {
        let (nodes, goBack) = try branches()
        try nodes.here.send(#"{"type":"add","amount":10}"#)
        #expect(try nodes.count(nodes.other).contains(#""count":11"#))
        goBack()
        return nodes
    }

    /// Makes a node notice the loss, up to the next read of the session.
    private func notice(_ nodes: NodePair) throws {
        nodes.hereJournal.holdLoads()
        nodes.here.session.catchUp()
        try #require(nodes.hereJournal.tellLoad(), "the session was to be read")
    }

    @Test("runs nothing before it is read again, and then has at least the stored state")
    func order() async throws {
        let nodes = try nodes()
        try notice(nodes)
        let answer = nodes.here.session.send(#"{"type":"add","amount":100}"#, to: nodes.here.tally)
        while nodes.hereJournal.tellLoad() {}
        let version = try await answer.wait().get().version
        let core = nodes.here.session.core.withLock { ($0.head.number, $0.stores[nodes.here.tally]?.version) }
        #expect(core == (version, version))
        #expect(try await nodes.countLater(nodes.other).contains(#""count":101"#))
    }

    @Test("refuses no number as the second one that another node took as the first")
    func numbers() async throws {
        let nodes = try nodes()
        let body = #"{"type":"add","amount":100}"#
        _ = try nodes.sendThere(body, name: .sequence(1, epoch: "client")).get()
        try notice(nodes)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        // The answer whether another node appended something comes after the session was read.
        nodes.hereJournal.holdMarks(of: key)
        let answer = nodes.here.session.send(body, to: nodes.here.tally, name: .sequence(2, epoch: "client"))
        while nodes.hereJournal.tellLoad() {}
        nodes.hereJournal.holdMarks(of: nil)
        while nodes.hereJournal.tellLoad() {}
        #expect(try await answer.wait().told == "ran")
        #expect(try await nodes.countLater(nodes.other).contains(#""count":201"#))
    }

    @Test("shows the labels of the newer branch after its states, with any unshown events of the lost one")
    func labels() throws {
        let (nodes, goBack) = try branches(#"{"type":"shoutMany","texts":["kept"]}"#)
        let stream = try nodes.here.stream(from: .now)
        _ = try stream.read()
        try nodes.here.send(#"{"type":"add","amount":10}"#)
        goBack()
        nodes.hereJournal.holdStoreLoad(.beforeTelling)
        nodes.here.session.catchUp()
        let before = try stream.read().names
        nodes.hereJournal.goOn()
        #expect(before + (try stream.read().names) == ["reset", "state", "label"])
    }

    @Test("does not continue with a store that was read before the branch was lost")
    func staleStore() throws {
        let (nodes, goBack) = try branches()
        try nodes.here.send(#"{"type":"add","amount":10}"#)
        nodes.thereJournal.holdStoreLoad(.beforeTelling)
        nodes.other.state(of: nodes.here.tally) { _ in }
        goBack()
        nodes.other.catchUp()
        nodes.thereJournal.goOn()
        #expect(nodes.other.epoch == "another")
        #expect(try nodes.count(nodes.other).contains(#""count":1"#))
    }

    @Test("does not treat a store that only the lost branch had as disposed")
    func missingStore() throws {
        let (nodes, goBack) = try branches(#"{"type":"rename","to":"a"}"#, to: FeatureID(name: "keyed", key: "a"))
        try nodes.here.send(#"{"type":"shout","text":"lost"}"#)
        nodes.thereJournal.holdStoreLoad(.beforeReading)
        let read = Box<Result<StateSnapshot, StoreError>>()
        nodes.other.state(of: nodes.here.tally) { read.set($0) }
        goBack()
        nodes.thereJournal.goOn()
        // The log was read again before the read went on, which made a new store.
        #expect(read.value?.told == "shown")
        #expect(nodes.other.epoch == "another")
    }

    @Test("shows no store that was read after the loss under the lost branch's name")
    func readAfterLoss() throws {
        let (nodes, goBack) = try branches()
        let shown = try #require(try nodes.here.send(#"{"type":"add","amount":10}"#).get().state)
        // The other node knows the lost turn, and has not loaded the store.
        nodes.other.catchUp()
        nodes.thereJournal.holdStoreLoad(.beforeReading)
        let read = Box<Result<StateSnapshot, StoreError>>()
        nodes.other.state(of: nodes.here.tally) { read.set($0) }
        goBack()
        _ = try nodes.here.send(#"{"type":"add","amount":100}"#).get()
        nodes.thereJournal.goOn()
        let state = try #require(read.value).get()
        #expect(state.epoch != shown.epoch && String(decoding: state.view, as: UTF8.self).contains(#""count":101"#))
    }

    @Test("shows no store under the lost branch's name if the journal did not say that something changed")
    func readUnconfirmed() async throws {
        let (nodes, goBack) = try branches()
        let shown = try #require(try nodes.here.send(#"{"type":"add","amount":10}"#).get().state)
        nodes.other.catchUp()
        goBack()
        _ = try nodes.here.send(#"{"type":"add","amount":100}"#).get()
        nodes.thereJournal.holdMarks(of: nodes.here.session.core.withLock { $0.key })
        let answered = Gate()
        let read = Box<Result<StateSnapshot, StoreError>>()
        nodes.other.state(of: nodes.here.tally) {
            read.set($0)
            answered.open()
        }
        await nodes.there.clock.sleepers()
        nodes.there.time.advance(by: .seconds(2))
        nodes.there.clock.advance(by: .seconds(2))
        try await answered.wait()
        let state = try #require(read.value).get()
        #expect(state.epoch != shown.epoch && String(decoding: state.view, as: UTF8.self).contains(#""count":101"#))
    }
}

extension Result<StateSnapshot, StoreError> {
    fileprivate var told: String { if case .failure(let error) = self { "\(error.code)" } else { "shown" } }
}
