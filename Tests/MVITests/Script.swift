import MVI
import MVITesting

/// A feature whose handlers a test writes: the state is the list of the messages, everything is a text.
struct Script: Feature {
    struct State: Codable, Equatable, Sendable {
        var messages: [String] = []
    }
    typealias Intent = String
    typealias Message = String
    typealias Action = String
    typealias Label = String
    typealias Handler = @Sendable (String, inout Turn<Script>) throws -> Void

    static let examples = ["go"]
    let initialState = State()
    var own = Middleware<Script>()
    var onBootstrap: @Sendable (StartReason, inout Turn<Script>) throws -> Void = { _, _ in }
    var onExecute: Handler = { intent, turn in turn.dispatch(intent) }
    var onPerform: Handler = { action, turn in turn.dispatch(action) }
    var onThrow: @Sendable (Failure, inout Turn<Script>) -> Void = { _, _ in }

    var middleware: Middleware<Script> { own }

    func bootstrap(_ life: StartReason, _ turn: inout Turn<Script>) throws { try onBootstrap(life, &turn) }
    func execute(_ intent: String, _ turn: inout Turn<Script>) throws { try onExecute(intent, &turn) }
    func perform(_ action: String, _ turn: inout Turn<Script>) throws { try onPerform(action, &turn) }
    func reduce(_ state: inout State, _ message: String) { state.messages.append(message) }
    func onFailure(_ failure: Failure, _ turn: inout Turn<Script>) { onThrow(failure, &turn) }
}

extension Store where F == Script {
    /// A started store of a script.
    convenience init(
        _ onExecute: @escaping Script.Handler, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: (any TurnLog<Script>)? = nil
    ) {
        self.init(Script(onExecute: onExecute), environment: environment, middleware: middleware, log: log)
        start()
    }

    var messages: [String] { state.messages }
}

/// A turn log that notes what it commits: `a,b` for a changed view state, `!a` for a label.
final class SeenLog: TurnLog {
    let seen = Collected<String>()
    private let then: @Sendable (String) -> Void

    init(then: @escaping @Sendable (String) -> Void = { _ in }) { self.then = then }

    func commit(
        _ turns: [TurnRecord<Script>], done: @escaping @Sendable (CommitResult<Script>) -> Void
    ) -> CommitResult<Script>? {
        for text in turns.flatMap(\.texts) {
            seen.append(text)
            then(text)
        }
        return .committed
    }
}

extension TurnRecord where F == Script {
    /// What was to be seen of it: its view state if it changed that, then its labels.
    var texts: [String] {
        (isViewChanged ? [view.messages.joined(separator: ",")] : []) + labels.map { "!" + $0 }
    }
}
