import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A counter that can block its thread for a minute, like a handler that waits for a system call.
struct Blocking: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
    }

    enum Intent: Codable, Equatable, Sendable {
        case add(amount: Int)
        case block
    }

    enum Message: Codable, Equatable, Sendable {
        case changed(by: Int)
    }

    enum Label: Codable, Equatable, Sendable {
        case unblocked
    }

    static let summary = "A counter whose handler can block, to test how the server stops then."
    static let examples: [Intent] = [.add(amount: 1), .block]
    static let labelExamples: [Label] = [.unblocked]

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .add(let amount): turn.dispatch(.changed(by: amount))
        case .block: sleep(60)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .changed(let amount): state.count &+= amount
        }
    }
}
