import MVI

/// A ticket that its customer and the staff share.
struct Ticket: Feature {
    struct Entry: Codable, Equatable, Sendable {
        let intent: Intent
        /// Nil for a person who was deleted.
        var author: Subject?
    }
    struct State: Codable, Equatable, Sendable {
        /// Nil if nobody opened the ticket, and for those who may not see it.
        var ticket: Tickets.Item?
        /// The 100 newest.
        var entries: [Entry] = []
    }
    enum Intent: Codable, Equatable, Sendable {
        case open(title: String), comment(text: String), note(text: String), close, reopen

        var isNote: Bool { if case .note = self { true } else { false } }
    }
    enum Action: Codable, Equatable, Sendable { case tell(Outbox.Action?), tellLater(Outbox.Action?), forget(Subject) }
    enum Message: Codable, Equatable, Sendable { case added(Entry, at: Timestamp), forgotten(Subject) }

    static let summary = "A ticket that its customer and the staff share."
    static let examples: [Intent] = [
        .open(title: "The door squeaks"), .comment(text: "It still squeaks."), .note(text: "Again!"), .close, .reopen,
    ]
    let initialState = State()
    let id: String
    let staff: Set<String>

    // MARK: Who sees what

    func audience(of viewer: Viewer) -> Reader { Reader(viewer.principal, staff) }

    func view(_ state: State, for reader: Reader) -> State {
        if reader == .staff { return state }
        guard reader == .customer(state.ticket?.customer) else { return State() }
        return State(ticket: state.ticket, entries: state.entries.filter { !$0.intent.isNote })
    }

    func presence(of viewer: Viewer) -> String? { viewer.principal?.subject }

    // MARK: Who does what

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        try check(intent, turn.state.ticket, by: Reader(turn.principal, staff))
        let author = turn.principal?.identity
        turn.dispatch(.added(Entry(intent: intent, author: author), at: turn.now))
        guard !intent.isNote, let ticket = turn.state.ticket else { return }
        let text = if case .comment(let text) = intent { text } else { ticket.isOpen ? "open" : "closed" }
        let to = author == ticket.customer ? "staff" : ticket.customer.id
        turn.tell(Outbox.self, .mail(.init(id: turn.uuid(), ticket: id, to: to, text: "\(ticket.title): \(text)")))
        tellList(by: author, &turn)
    }

    private func check(_ intent: Intent, _ ticket: Tickets.Item?, by reader: Reader) throws {
        switch (intent, ticket) {
        case (.open, _?): throw Refusal(.conflict, code: "ticket-exists")
        case (.open(let title), nil): try check(title, upTo: 200, "title")
        case _ where ticket == nil || reader != .staff && reader != .customer(ticket?.customer):
            throw Refusal(.notFound, code: "no-such-ticket", "There is no ticket of yours with this key.")
        case (.note, _) where reader != .staff: throw Refusal(.forbidden, code: "not-staff")
        case (.reopen, let ticket?) where ticket.isOpen: throw Refusal(.conflict, code: "ticket-is-open")
        case (.comment, let ticket?) where !ticket.isOpen, (.close, let ticket?) where !ticket.isOpen:
            throw Refusal(.conflict, code: "ticket-is-closed", "The ticket is closed; reopen it first.")
        case (.comment(let text), _), (.note(let text), _): try check(text, upTo: 2_000, "text")
        case (.close, _), (.reopen, _): break
        }
    }

    private func check(_ text: String, upTo limit: Int, _ name: String) throws {
        guard (1...limit).contains(text.unicodeScalars.count) else {
            throw Refusal(.invalid, code: "no-\(name)", "Use 1 to \(limit) characters.", pointer: "/\(name)")
        }
    }

    // MARK: Others

    /// The reminder keeps the store, however long nobody uses it.
    private func tellList(by author: Subject? = nil, _ turn: inout Turn<Self>) {
        guard let ticket = turn.state.ticket else { return turn.tell(Tickets.self, .removed(id: id)) }
        turn.tell(Tickets.self, .changed(ticket, by: author))
        turn.remind(id: "list", after: .seconds(30 * 24 * 3_600), .tell(nil))
    }

    static func undelivered(_ message: UndeliveredMessage) -> Action? { .tellLater(message.action(of: Outbox.self)) }

    static func forgetting(_ person: ForgottenPerson) -> Action? { .forget(person.subject) }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .tell(let job): if let job { turn.tell(Outbox.self, job) } else { tellList(&turn) }
        case .tellLater(let job): turn.remind(id: job == nil ? "list" : turn.uuid(), after: .seconds(3_600), .tell(job))
        case .forget(let person):
            turn.dispatch(.forgotten(person))
            guard turn.state.ticket == nil else { return }
            turn.tell(Outbox.self, .forget(ticket: id))
            tellList(&turn)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let entry, let time):
            state.entries = state.entries.suffix(99) + [entry]
            if entry.intent.isNote { return }
            if case .open(let title) = entry.intent, let author = entry.author {
                state.ticket = Tickets.Item(id: id, title: title, customer: author, changed: time)
            }
            state.ticket?.isOpen = entry.intent != .close
            state.ticket?.changed = time
        case .forgotten(let person):
            if state.ticket?.customer == person { return state = State() }
            state.entries = state.entries.map { $0.author == person ? Entry(intent: $0.intent) : $0 }
        }
    }
}
