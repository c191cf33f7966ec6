import MVI
import SessionJournal
import TestSupport

@testable import Sessions

/// A feature whose builds write states of one schema version that the other build cannot read. Its work makes the
/// packing node the session's owner.
struct Crate<Content: Codable & Equatable & Sendable>: Feature {
    struct State: Codable, Equatable, Sendable { var contents: [Content] }
    enum Intent: Codable, Sendable { case pack }
    enum Message: Codable, Sendable { case packed }
    static var examples: [Intent] { [.pack] }
    static var name: String { "crate" }
    let content: Content
    var initialState: State { State(contents: [content]) }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.packed)
        turn.launch { work in try await work.sleep(for: .seconds(1_000_000)) }
    }

    func reduce(_ state: inout State, _ message: Message) { state.contents.append(content) }
}

extension NodeSimulation {
    /// Packs on one node and asks all nodes: those of the other build cannot read the state, but must answer.
    func checkCrates() {
        guard setting.hasDeploys, !CoreFault.known.contains(.unreadableElsewhere), let crate = FeatureID("crate") else {
            return
        }
        let token = makeCrates()
        let packed = Box<Bool>()
        let pack = IntentRequest(body: Array(#"{"type":"pack"}"#.utf8))
        any(nodes).take(NodeCall(token: token, feature: crate, purpose: .intent(pack)) { _ in packed.set(true) })
        wait(seconds: 4)
        let answers = nodes.map { node in
            let answer = Box<Bool>()
            node.take(NodeCall(token: token, feature: crate, purpose: .state) { _ in answer.set(true) })
            return answer
        }
        wait(seconds: 20)
        if packed.value == nil { log.note(fault: "a crate was never packed") }
        for (node, answer) in zip(nodes, answers) where answer.value == nil {
            log.note(fault: "a read of a state that \(node.address) cannot read was never answered")
        }
        for node in nodes where !node.isStopped {
            node.table.find(token) { [table = node.table] found in
                if case .live(let session, _) = found { table.end(session) { _ in } }
            }
        }
        wait(seconds: 10)
    }

    /// Creates a session that the commit log ignores.
    private func makeCrates() -> SessionToken {
        let token = SessionToken(random: [UInt8](repeating: 7, count: 32))
        let record = SessionRecord(
            id: "crates", tokenHash: token.hash, epoch: "crates", credential: .bearer,
            created: .seconds(1_700_000_000), lastSeen: .seconds(1_700_000_000))
        kept.create(record) { [log] in if case .success(let key) = $0 { log.ignore(key) } }
        return token
    }
}
