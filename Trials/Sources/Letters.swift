import MVI
import MVIServer

/// A session's store that tells boards numbered letters. Each tenth is refused.
struct Letters: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The number of letters told to each board.
        var told: [String: Int] = [:]
        /// The letters that boards refused, and those that were not delivered for other reasons.
        var refused = 0
        var lost: [String] = []
    }
    enum Intent: Codable, Sendable { case send(to: String, count: Int) }
    enum Action: Codable, Sendable { case undelivered(UndeliveredMessage.Reason, String) }
    enum Message: Codable, Sendable { case told(String, count: Int), refused, lost(String) }

    static let summary = "Tells boards numbered letters."
    static let examples: [Intent] = [.send(to: "1", count: 20)]
    let initialState = State()

    static func undelivered(_ message: UndeliveredMessage) -> Action? { .undelivered(message.reason, message.detail) }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .send(let board, let count) = intent else { return }
        let last = turn.state.told[board] ?? 0
        for number in last + 1..<last + 1 + max(0, min(count, 100)) {
            turn.tell(Board.self, .get(from: turn.session.id, number: number), key: board)
        }
        turn.dispatch(.told(board, count: count))
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        guard case .undelivered(let reason, let detail) = action else { return }
        turn.dispatch(reason == .refused ? .refused : .lost("\(reason): \(detail)"))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .told(let board, let count): state.told[board, default: 0] += count
        case .refused: state.refused += 1
        case .lost(let text): state.lost.append(text)
        }
    }
}

/// A board that sessions tell letters, and that counts what arrives twice or in another order.
struct Board: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The number of the last letter of each session.
        var last: [String: Int] = [:]
        var count = 0
        var again = 0
        var skipped = 0
    }
    struct ViewState: Codable, Equatable, Sendable { let count, again, skipped: Int }
    typealias Intent = Never
    enum Action: Codable, Sendable { case get(from: String, number: Int) }

    static let summary = "Counts the letters that it is told."
    let initialState = State()

    func view(_ state: State) -> ViewState {
        ViewState(count: state.count, again: state.again, skipped: state.skipped)
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        if case .get(_, let number) = action, Self.isRefused(number) {
            throw Refusal(.conflict, code: "tenth", "It is a tenth letter.")
        }
        turn.dispatch(action)
    }

    private static func isRefused(_ number: Int) -> Bool { number.isMultiple(of: 10) }

    func reduce(_ state: inout State, _ message: Action) {
        guard case .get(let session, let number) = message else { return }
        let last = state.last[session] ?? 0
        if number <= last { return state.again += 1 }
        if number != last + (Self.isRefused(last + 1) ? 2 : 1) { state.skipped += 1 }
        state.last[session] = number
        state.count += 1
    }
}
