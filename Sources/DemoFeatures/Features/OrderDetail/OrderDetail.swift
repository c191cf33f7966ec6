import MVI

/// One order in four sections that load on their own.
///
/// A view can only raise events (the intents); they are routed to the sections as actions and messages, each section
/// being a part of one state with its own reducer.
struct OrderDetail: Feature {
    struct State: Codable, Equatable, Sendable {
        var status = StatusSection()
        var infoCard = InfoCardSection()
        var fee = FeeSection()
        var scheduling = SchedulingSection()

        /// Whether a section was to be loaded, and neither was nor failed.
        func owes(_ section: OrderSectionName) -> Bool {
            switch section {
            case .status: status.status.isOwed
            case .infoCard: infoCard.info.isOwed
            case .fee: fee.fee.isOwed
            case .scheduling: scheduling.scheduling.isOwed
            }
        }
    }

    enum Intent: Codable, Equatable, Sendable {
        case statusButton(actionId: String)
        case refreshAllData
        case retrySection(section: OrderSectionName)
    }

    enum Action: Codable, Equatable, Sendable {
        case load(OrderSectionName)
        case take(OrderStep)
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
        // The work of an earlier life is gone: what its state says is loading is not. What it had loaded stays.
        var sections = OrderSectionName.allCases.filter { turn.state.owes($0) }
        if turn.state.status.step != nil {
            // Whether the step was taken before the end is what loading tells; it may have changed who comes and when.
            turn.dispatch(.status(.stepFailed))
            sections = OrderSectionName.allCases.filter {
                sections.contains($0) || $0 == .status || $0 == .scheduling
            }
        }
        for section in sections { turn.send(.load(section)) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .statusButton(let actionId):
            guard turn.state.status.isIdle else {
                turn.publish(.toast(text: "One moment, something else is still under way"))
                return
            }
            guard let step = OrderStep(rawValue: actionId), let status = turn.state.status.status.content,
                step.target(from: status) != nil
            else {
                turn.publish(.toast(text: "That cannot be done with this order now"))
                return
            }
            turn.send(.take(step))
        case .refreshAllData:
            for section in OrderSectionName.allCases { turn.send(.load(section)) }
        case .retrySection(let section): turn.send(.load(section))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .load(.status):
            // The step that is being taken brings the status.
            guard turn.state.status.step == nil else { return }
            load(.status, &turn, of: { try await $0.status(of: $1) }, as: { .status(.load($0)) })
        case .load(.infoCard): load(.infoCard, &turn, of: { try await $0.info(of: $1) }, as: Message.infoCard)
        case .load(.fee): load(.fee, &turn, of: { try await $0.fee(of: $1) }, as: Message.fee)
        case .load(.scheduling):
            load(.scheduling, &turn, of: { try await $0.scheduling(of: $1) }, as: Message.scheduling)
        case .take(let step): take(step, &turn)
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
