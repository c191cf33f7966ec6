import MVI
import MVIServer
import Testing

import MVIServerTesting

@Test("a reservation ends after ten minutes, even if the server was restarted")
func reservation() async throws {
    try await TestServer.run { _ in
        FeatureServer { Seat() }
    } test: { server in
        let ann = try await server.client(as: Principal(subject: "ann"))
        let seat = ann.store(Seat.self)
        try await seat.send(.reserve)
        try await seat.sendRejected(.reserve, status: 409, code: "taken")
        try await server.restart(after: .seconds(599))
        let events = try await seat.events()
        await server.advance(by: .seconds(1))
        try await events.state(of: seat) { !$0.isReserved }
    }
}

struct Seat: Feature {
    struct State: Codable, Equatable, Sendable { var isReserved = false }
    enum Intent: Codable, Sendable { case reserve }
    enum Action: Codable, Equatable, Sendable { case reservationEnded }
    enum Message: Equatable, Sendable { case reserved, ended }
    static let examples: [Intent] = [.reserve]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        if turn.state.isReserved { throw Refusal(.conflict, code: "taken", "The seat is taken.") }
        turn.dispatch(.reserved)
        turn.remind(id: "reservation", after: .seconds(600), .reservationEnded)
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.ended) }

    func reduce(_ state: inout State, _ message: Message) { state.isReserved = message == .reserved }
}
