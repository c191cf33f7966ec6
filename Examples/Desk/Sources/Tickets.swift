import MVI

/// The list of tickets, which tell it their changes. The staff sees all, customers see their own.
struct Tickets: Feature {
    struct Item: Codable, Equatable, Sendable {
        /// The ticket's key.
        let id: String, title: String, customer: Subject
        var isOpen = true, changed: Timestamp
    }
    struct State: Codable, Equatable, Sendable { var items: [Item] = [] }
    struct ViewState: Codable, Equatable, Sendable { let isStaff: Bool, items: [Item], count: Int }
    typealias Intent = Never
    enum Action: Codable, Equatable, Sendable { case changed(Item, by: Subject?), removed(id: String) }
    typealias Message = Action
    enum Label: Codable, Equatable, Sendable { case changed(id: String) }

    static let summary = "The tickets of a customer; for staff, everybody's."
    static let labelExamples: [Label] = [.changed(id: "5f0c2b1e-7d3a-4c7e-9a55-0a4d2b6f1c01")]
    static let limit = 500
    let initialState = State()
    let staff: Set<String>

    func audience(of viewer: Viewer) -> Reader { Reader(viewer.principal, staff) }

    func view(_ state: State, for reader: Reader) -> ViewState {
        let items = state.items.filter { reader == .staff || reader == .customer($0.customer) }
        return ViewState(isStaff: reader == .staff, items: Array(items.prefix(50)), count: items.count)
    }

    func view(_ state: State) -> ViewState { view(state, for: .staff) }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        if case .changed(let item, let author) = action {
            // The state has a size limit. The ticket tells it again an hour later.
            guard !item.isOpen || turn.state.items.count(where: { $0.isOpen && $0.id != item.id }) < Self.limit else {
                throw Refusal(.conflict, code: "desk-is-full")
            }
            if let author {
                let isCustomers = author == item.customer
                turn.publish(.changed(id: item.id), to: isCustomers ? .audience(.staff) : .subject(item.customer))
            }
        }
        turn.dispatch(action)
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .removed(let id): state.items.removeAll { $0.id == id }
        case .changed(let item, _):
            state.items.removeAll { $0.id == item.id }
            state.items.append(item)
            state.items.sort { $0.changed > $1.changed }
            guard state.items.count > Self.limit else { return }
            if let last = state.items.lastIndex(where: { !$0.isOpen }) { state.items.remove(at: last) }
        }
    }
}

/// Clients that see the same.
enum Reader: Hashable, Codable, Sendable {
    case staff, customer(Subject?)

    init(_ principal: Principal?, _ staff: Set<String>) {
        self = if let principal, staff.contains(principal.subject) { .staff } else { .customer(principal?.identity) }
    }
}
