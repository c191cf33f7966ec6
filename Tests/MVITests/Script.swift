import MVI
import MVITesting
import TestSupport

/// A feature whose handlers a test writes: the state is the list of the messages, and everything is a text.
struct Script: Feature {
    struct State: Codable, Equatable, Sendable {
        var messages: [String] = []
    }
    /// A text as clients send it.
    enum Intent: Codable, Equatable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        case say(text: String)

        init(_ text: String) { self = .say(text: text) }
        init(stringLiteral text: String) { self.init(text) }

        var text: String {
            switch self {
            case .say(let text): text
            }
        }

        var description: String { text }

        static func + (intent: Intent, suffix: String) -> Intent { Intent(intent.text + suffix) }
    }
    typealias Message = String
    typealias Action = String
    typealias Label = String
    typealias Handler = @Sendable (String, inout Turn<Script>) throws -> Void

    static let examples: [Intent] = ["go"]
    let initialState = State()
    var own = Middleware<Script>()
    var onBootstrap: @Sendable (StartReason, inout Turn<Script>) throws -> Void = { _, _ in }
    var onExecute: Handler = { intent, turn in turn.dispatch(intent) }
    var onPerform: Handler = { action, turn in turn.dispatch(action) }
    var onThrow: @Sendable (Failure, inout Turn<Script>) -> Void = { _, _ in }

    var middleware: Middleware<Script> { own }

    func bootstrap(_ life: StartReason, _ turn: inout Turn<Script>) throws { try onBootstrap(life, &turn) }
    func execute(_ intent: Intent, _ turn: inout Turn<Script>) throws { try onExecute(intent.text, &turn) }
    func perform(_ action: String, _ turn: inout Turn<Script>) throws { try onPerform(action, &turn) }
    func reduce(_ state: inout State, _ message: String) { state.messages.append(message) }
    func onFailure(_ failure: Failure, _ turn: inout Turn<Script>) { onThrow(failure, &turn) }
}

extension HostedStore where F == Script {
    /// A started store of a script.
    convenience init(
        _ onExecute: @escaping Script.Handler, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: AppendLog<Script>? = nil
    ) {
        self.init(Script(onExecute: onExecute), environment: environment, middleware: middleware, log: log)
        start()
    }

    var messages: [String] { state.messages }

    func accept(
        _ text: String, id: IntentID? = nil, principal: Principal? = nil,
        ifMatch: (@Sendable (_ versions: ClosedRange<UInt64>) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void = { _ in }
    ) {
        accept(Script.Intent(text), id: id, principal: principal, ifMatch: ifMatch, completion: completion)
    }

    @discardableResult
    func send(
        _ text: String, id: IntentID? = nil, principal: Principal? = nil
    ) async throws(StoreError) -> IntentOutcome {
        try await send(Script.Intent(text), id: id, principal: principal)
    }
}

extension AppendLog.Turn where F == Script {
    /// The visible results: the state if it changed, such as `a,b`, then labels, such as `!a`.
    var texts: [String] {
        (messages > 0 ? [state.messages.joined(separator: ",")] : []) + labels.map { "!" + $0 }
    }
}

/// The texts of the turns that are committed.
final class SeenTurns: Sendable {
    let texts: Collected<String>
    let log: AppendLog<Script>

    init(then: @escaping @Sendable (String) -> Void = { _ in }) {
        let texts = Collected<String>()
        self.texts = texts
        log = AppendLog { turn in
            for text in turn.texts {
                texts.append(text)
                then(text)
            }
        }
    }
}
