import MVI

/// One order in four sections that load separately.
///
/// A view only sends intents. They reach the sections as messages; each section is a part of one state, with its own
/// reducer and view, and is independent of the others.
struct OrderDetail: Feature {
    struct State: Codable, Equatable, Sendable {
        var status = StatusSection()
        var infoCard = InfoCardSection()
        var fee = FeeSection()
        var scheduling = SchedulingSection()
    }

    enum Section: String, Codable, CaseIterable {
        case status, infoCard, fee, scheduling
    }

    enum Intent: Codable, Equatable, Sendable {
        case statusButton(actionId: String)
        case refreshAllData
        case retrySection(section: Section)
    }

    enum Message: Codable, Equatable, Sendable {
        case status(StatusSection.Message)
        case infoCard(InfoCardSection.Message)
        case fee(FeeSection.Message)
        case scheduling(SchedulingSection.Message)
    }

    enum Label: Codable, Equatable, Sendable {
        case toast(text: String)
    }

    struct ViewState: Codable, Equatable, Sendable {
        var id: String
        var status: StatusSection.View
        var infoCard: InfoCardSection.View
        var fee: FeeSection.View
        var scheduling: SchedulingSection.View
    }

    static let summary = "An order in four sections that load on their own."
    static let examples: [Intent] = [
        .statusButton(actionId: "accept"), .refreshAllData, .retrySection(section: .fee),
    ]
    static let labelExamples: [Label] = [.toast(text: "The order is accepted")]

    let initialState = State()
    let id: String
    let orders: any OrderRepository

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone, so nothing is loading. Loaded content stays.
        let tookStep = turn.state.status.step != nil
        if tookStep { turn.dispatch(.status(.stepFailed)) }
        for section in Section.allCases {
            // The outcome of the step is unknown; it may have changed the technician and the time. Loading shows it.
            let isInDoubt = tookStep && (section == .status || section == .scheduling)
            load(section, always: isInDoubt, &turn)
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .statusButton(let actionId):
            guard turn.state.status.isIdle else {
                turn.publish(.toast(text: "One moment, something else is still in progress"))
                return
            }
            guard let step = OrderStep(rawValue: actionId), let status = turn.state.status.status.content,
                step.target(from: status) != nil
            else {
                turn.publish(.toast(text: "That cannot be done with this order now"))
                return
            }
            take(step, &turn)
        case .refreshAllData:
            for section in Section.allCases { load(section, &turn) }
        case .retrySection(let section): load(section, &turn)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .status(let message): state.status.reduce(message)
        case .infoCard(let message): state.infoCard.reduce(message)
        case .fee(let message): state.fee.reduce(message)
        case .scheduling(let message): state.scheduling.reduce(message)
        }
    }

    func view(_ state: State) -> ViewState {
        ViewState(
            id: id, status: state.status.view, infoCard: state.infoCard.view, fee: state.fee.view,
            scheduling: state.scheduling.view)
    }
}
