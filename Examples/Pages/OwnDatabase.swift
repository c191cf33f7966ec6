// snippet.hide
import MVI

/// A store that shows what other programs write into a database.
enum OwnDatabase {
    struct Prices: Feature {
        struct State: Codable, Equatable, Sendable { var cents: [String: Int] = [:] }
        typealias Intent = Never
        enum Message: Codable, Sendable { case read([String: Int]) }
        let initialState = State()
        let database: Database

        func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
            // snippet.show
            turn.observe(id: "prices") { [database] in
                database.prices()
            } onElement: { cents, work in
                await work.turn { turn in
                    if turn.state.cents != cents { turn.dispatch(.read(cents)) }
                }
            }
            // snippet.hide
        }

        func reduce(_ state: inout State, _ message: Message) {
            if case .read(let cents) = message { state.cents = cents }
        }
    }

    struct Database: Sendable {
        /// The result of a query now and after each change.
        let prices: @Sendable () -> AsyncStream<[String: Int]>
    }
}
