import MVI

/// The order's status, with buttons for the possible steps.
struct StatusSection: Part {
    enum Message: Codable, Equatable, Sendable {
        case load(Loadable<OrderStatus>.Message)
        case stepStarted(OrderStep)
        case stepTaken(OrderStatus)
        case stepFailed
    }

    struct Content: Codable, Equatable, Sendable {
        struct Button: Codable, Equatable, Sendable {
            /// The value to send with `statusButton`.
            var actionId: String
            var title: String
            var isEnabled: Bool
        }

        var title: String
        var detail: String
        var buttons: [Button]
        /// The running step: "Accepting…"
        var progress: String?
    }

    var status = Loadable<OrderStatus>()
    /// The running step.
    var step: OrderStep?

    /// True if a step may start now.
    var isIdle: Bool { step == nil && !status.isLoading }

    mutating func reduce(_ message: Message) {
        switch message {
        case .load(let message): status.reduce(message)
        case .stepStarted(let step): self.step = step
        case .stepTaken(let new):
            step = nil
            status.reduce(.loaded(new))
        case .stepFailed: step = nil
        }
    }

    var view: SectionView<Content> {
        status.view(error: "The status could not be loaded.") { status in
            let steps = OrderStep.allCases.filter { $0.target(from: status) != nil }
            return Content(
                title: Self.title(of: status), detail: Self.detail(of: status),
                buttons: steps.map {
                    Content.Button(actionId: $0.rawValue, title: Self.title(of: $0), isEnabled: isIdle)
                },
                progress: step.map { "\(Self.title(of: $0))…" })
        }
    }

    private static func title(of status: OrderStatus) -> String {
        switch status {
        case .received: "Received"
        case .accepted: "Accepted"
        case .onSite: "On site"
        case .done: "Done"
        case .cancelled: "Cancelled"
        }
    }

    private static func detail(of status: OrderStatus) -> String {
        switch status {
        case .received: "No technician has accepted this order yet."
        case .accepted: "A technician will come at the appointed time."
        case .onSite: "The technician is at work."
        case .done: "The work is finished and signed off."
        case .cancelled: "No technician will come."
        }
    }

    private static func title(of step: OrderStep) -> String {
        switch step {
        case .accept: "Accept the order"
        case .arrive: "Arrive on site"
        case .complete: "Complete the work"
        case .cancel: "Cancel the order"
        case .reopen: "Open it again"
        }
    }
}
