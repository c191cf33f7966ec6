import MVI

/// A waiting line, one for all clients: guests join it and see their own place, staff see all, call the next guest and take
/// calls back. Its name in the API is `waitlist`.
struct Waitlist: Feature {
    struct Party: Codable, Equatable, Sendable {
        let number: Int, name: String
        /// The guest's `Sender.id`: a name in this store that tells nothing about the person.
        let guest: String
    }
    struct Row: Codable, Equatable, Sendable { let number: Int, name: String }
    struct State: Codable, Equatable, Sendable {
        var waiting: [Party] = []
        /// The last ones, in the order of their calls.
        var called: [Party] = []
        var lastNumber = 0
    }
    enum Intent: Codable, Sendable { case join(name: String), leave, call, undo(number: Int) }
    enum Action: Codable, Equatable, Sendable { case forget(guests: Set<String>) }
    enum Message: Codable, Equatable, Sendable {
        case joined(name: String, guest: String), left(guests: Set<String>), called(number: Int), undone(number: Int)
    }
    enum Label: Codable, Equatable, Sendable { case called(number: Int, by: String) }
    enum Audience: Hashable, Codable, Sendable { case guest(String), staff }
    /// Guests get no case with other guests in it.
    enum ViewState: Codable, Equatable, Sendable {
        case outside, waiting(number: Int, place: Int), called(number: Int)
        case staff(waiting: [Row], called: [Row])
    }

    static let summary = "A waiting line that guests join and staff call."
    static let examples: [Intent] = [.join(name: "Ann"), .leave, .call, .undo(number: 1)]
    static let labelExamples: [Label] = [.called(number: 1, by: "Kim")]
    static let (waitingLimit, calledLimit, nameLimit) = (500, 5, 60)
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch (intent, turn.principal?.staffName) {
        case (.join(let name), _): try join(name, &turn)
        case (.leave, _):
            if let guest = turn.sender?.id { turn.dispatch(.left(guests: [guest])) }
        case (.call, nil), (.undo, nil): throw Refusal(.forbidden, code: "staff-only", "Only staff call guests.")
        case (.call, let staff?):
            guard let next = turn.state.waiting.first else {
                throw Refusal(.conflict, code: "nobody-waits", "Nobody is waiting.")
            }
            turn.dispatch(.called(number: next.number))
            turn.publish(.called(number: next.number, by: staff), to: .audience(.guest(next.guest)))
        case (.undo(let number), _):
            guard turn.state.called.contains(where: { $0.number == number }) else {
                throw Refusal(.notFound, code: "not-called", "Number \(number) is not called.", pointer: "/number")
            }
            turn.dispatch(.undone(number: number))
        }
    }

    private func join(_ name: String, _ turn: inout Turn<Self>) throws {
        guard let guest = turn.sender?.id else { throw Refusal(.forbidden, code: "guests-only", "Only clients join.") }
        guard name.contains(where: { !$0.isWhitespace }), name.unicodeScalars.count <= Self.nameLimit else {
            throw Refusal(
                .invalid, code: "name", "A name has from 1 to \(Self.nameLimit) characters.", pointer: "/name")
        }
        guard !turn.state.waiting.contains(where: { $0.guest == guest }) else {
            throw Refusal(.conflict, code: "already-waiting", "You are waiting already.")
        }
        guard turn.state.waiting.count < Self.waitingLimit else {
            throw Refusal(.conflict, code: "line-full", "The line is full. Come back later.")
        }
        turn.dispatch(.joined(name: name, guest: guest))
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .forget(let guests): turn.dispatch(.left(guests: guests))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .joined(let name, let guest):
            state.called.removeAll { $0.guest == guest }
            state.lastNumber += 1
            state.waiting.append(Party(number: state.lastNumber, name: name, guest: guest))
        case .left(let guests):
            state.waiting.removeAll { guests.contains($0.guest) }
            state.called.removeAll { guests.contains($0.guest) }
        case .called(let number):
            guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return }
            state.called = (state.called + [state.waiting.remove(at: index)]).suffix(Self.calledLimit)
        case .undone(let number):
            guard let index = state.called.firstIndex(where: { $0.number == number }) else { return }
            state.waiting.append(state.called.remove(at: index))
            state.waiting.sort { $0.number < $1.number }
        }
    }

    func audience(of viewer: Viewer) -> Audience {
        viewer.principal?.staffName == nil ? .guest(viewer.sender?.id ?? "") : .staff
    }

    func view(_ state: State, for audience: Audience) -> ViewState {
        func rows(_ parties: [Party]) -> [Row] { parties.map { Row(number: $0.number, name: $0.name) } }
        guard case .guest(let id) = audience else {
            return .staff(waiting: rows(state.waiting), called: rows(state.called))
        }
        if let place = state.waiting.firstIndex(where: { $0.guest == id }) {
            return .waiting(number: state.waiting[place].number, place: place + 1)
        }
        return state.called.first { $0.guest == id }.map { .called(number: $0.number) } ?? .outside
    }
    func view(_ state: State) -> ViewState { view(state, for: .staff) }

    /// Staff show their names to all who look at the line; guests are only counted.
    func presence(of viewer: Viewer) -> String? { viewer.principal?.staffName }

    static func forgetting(_ person: ForgottenPerson) -> Action? { .forget(guests: person.senders) }
}

extension Principal {
    /// The name to show of a member of the staff, by the claims of the token; nil for others.
    var staffName: String? { claim("role") == "staff" ? claim("name")?.string ?? "Staff" : nil }
}
