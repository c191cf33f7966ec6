import MVI

/// The tickets of a customer; for staff, everybody's.
struct Tickets: Feature {
    /// A ticket that the database may not have yet.
    struct Pending: Codable, Equatable, Sendable, Identifiable {
        let id, title: String
        var hasFailed = false
    }
    struct State: Codable, Equatable, Sendable {
        var list = Desk.List()
        var pending: [Pending] = []
    }
    enum Intent: Codable, Equatable, Sendable { case open(title: String), retry }
    enum Message: Codable, Equatable, Sendable {
        case listed(Desk.List)
        case opening(Pending)
        case retrying
        case opened(request: String)
        case failed(request: String)
    }
    enum Label: Codable, Equatable, Sendable { case opened(ticket: Int) }

    static let summary = "The tickets of a customer; for staff, everybody's."
    static let examples: [Intent] = [.open(title: "The door squeaks"), .retry]
    static let labelExamples: [Label] = [.opened(ticket: 1)]
    let initialState = State()
    let desk: Desk

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        for ticket in turn.state.pending { save(ticket, &turn) }
        turn.observe(id: "tickets") { [desk, person = turn.session.person] in
            await desk.tickets(of: person)
        } onElement: { list, work in
            await work.turn { turn in if turn.state.list != list { turn.dispatch(.listed(list)) } }
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .open(let title):
            guard (1...200).contains(title.count) else {
                throw Refusal(.invalid, code: "no-title", "Use 1 to 200 characters.", pointer: "/title")
            }
            let ticket = Pending(id: turn.uuid(), title: title)
            turn.dispatch(.opening(ticket))
            save(ticket, &turn)
        case .retry:
            turn.dispatch(.retrying)
            for ticket in turn.state.pending { save(ticket, &turn) }
        }
    }

    /// The second commit. It runs again if the server ends before the state says that it is done.
    private func save(_ ticket: Pending, _ turn: inout Turn<Self>) {
        turn.launch(id: "open \(ticket.id)", policy: .keepPrevious) { [desk, person = turn.session.person] work in
            do {
                let number = try await work.retry(attempts: 5) {
                    try await desk.open(ticket.title, by: person, request: ticket.id)
                }
                await work.turn { turn in
                    turn.dispatch(.opened(request: ticket.id))
                    turn.publish(.opened(ticket: number))
                }
            } catch {
                await work.dispatch(.failed(request: ticket.id))
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .listed(let list): state.list = list
        case .opening(let ticket): state.pending.append(ticket)
        case .retrying: for index in state.pending.indices { state.pending[index].hasFailed = false }
        case .opened(let request): state.pending.removeAll { $0.id == request }
        case .failed(let request):
            for index in state.pending.indices where state.pending[index].id == request {
                state.pending[index].hasFailed = true
            }
        }
    }
}

extension SessionInfo {
    /// The name of who signed in; access rules admit nobody else.
    var person: String { subject?.id ?? "" }
}
