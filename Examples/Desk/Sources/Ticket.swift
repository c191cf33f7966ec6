import MVI

/// One ticket with what customers and staff wrote, live.
struct Ticket: Feature {
    struct State: Codable, Equatable, Sendable {
        /// Nil before it was read, and if there is no such ticket.
        var content: Desk.Content?
        var isMissing = false
        /// Entries that the database may not have yet.
        var pending: [Desk.Entry] = []
        var hasFailed = false
    }
    struct ViewState: Codable, Equatable, Sendable {
        struct Row: Codable, Equatable, Sendable {
            let entry: Desk.Entry
            let isPending: Bool
        }

        var ticket: Desk.Summary?
        var isMissing: Bool
        var rows: [Row]
        var hasFailed: Bool
    }
    enum Intent: Codable, Equatable, Sendable { case comment(text: String), close, reopen, retry }
    enum Message: Codable, Equatable, Sendable {
        case read(Desk.Content?), writing(Desk.Entry), retrying, written(id: String, Desk.Content?), failed
    }

    static let summary = "One ticket with what customers and staff wrote, live."
    static let examples: [Intent] = [.comment(text: "It still squeaks."), .close, .reopen, .retry]
    let initialState = State()
    let id: Int
    let desk: Desk

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if !turn.state.pending.isEmpty { save(&turn) }
        turn.observe(id: "ticket") { [desk, id, person = turn.session.person] in
            await desk.ticket(id, for: person)
        } onElement: { content, work in
            await work.turn { turn in
                let isNews = turn.state.content != content || turn.state.isMissing != (content == nil)
                if isNews { turn.dispatch(.read(content)) }
            }
        }
    }

    /// The database knows who may see the ticket. The session does not wait meanwhile.
    func check(_ intent: Intent) -> Check? {
        { [desk, id] context in
            guard let ticket = try await desk.find(id, for: context.session.person) else {
                throw Refusal(.notFound, code: "no-such-ticket", "There is no ticket \(id) of yours.")
            }
            if case .comment = intent, !ticket.isOpen {
                throw Refusal(.conflict, code: "ticket-is-closed", "The ticket is closed; reopen it first.")
            }
            return .execute
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .comment(let text):
            guard (1...2_000).contains(text.count) else {
                throw Refusal(.invalid, code: "no-text", "Use 1 to 2,000 characters.", pointer: "/text")
            }
            write(.comment, text, &turn)
        case .close: write(.close, "", &turn)
        case .reopen: write(.reopen, "", &turn)
        case .retry:
            turn.dispatch(.retrying)
            save(&turn)
        }
    }

    /// The first commit: the entry is in the state, and no crash loses it.
    private func write(_ kind: Desk.Entry.Kind, _ text: String, _ turn: inout Turn<Self>) {
        let entry = Desk.Entry(id: turn.uuid(), author: turn.session.person, kind: kind, text: text)
        turn.dispatch(.writing(entry))
        save(&turn)
    }

    /// The second commit: the database stores each entry once, however often this runs, and in order.
    private func save(_ turn: inout Turn<Self>) {
        turn.launch(id: "save", policy: .cancelPrevious) { [desk, id, pending = turn.state.pending] work in
            do {
                for entry in pending {
                    let content = try await work.retry(attempts: 5) { try await desk.add(entry, to: id) }
                    await work.dispatch(.written(id: entry.id, content))
                }
            } catch {
                await work.dispatch(.failed)
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .read(let content): show(content, &state)
        case .writing(let entry): state.pending.append(entry)
        case .retrying: state.hasFailed = false
        // The end of what is pending and its result, so that it is never gone in between.
        case .written(let id, let content):
            show(content, &state)
            state.pending.removeAll { $0.id == id }
            if state.pending.isEmpty { state.hasFailed = false }
        case .failed: state.hasFailed = true
        }
    }

    /// A write's result and what is observed may come in any order.
    private func show(_ content: Desk.Content?, _ state: inout State) {
        if let content, let shown = state.content, content.number < shown.number { return }
        (state.content, state.isMissing) = (content, content == nil)
    }

    func view(_ state: State) -> ViewState {
        let entries = state.content?.entries ?? []
        let stored = Set(entries.map(\.id))
        return ViewState(
            ticket: state.content?.ticket, isMissing: state.isMissing,
            rows: entries.map { ViewState.Row(entry: $0, isPending: false) }
                + state.pending.filter { !stored.contains($0.id) }.map { ViewState.Row(entry: $0, isPending: true) },
            hasFailed: state.hasFailed)
    }
}
