import MVI

/// The appointment and the technician of the order.
struct SchedulingSection: Part {
    struct Content: Codable, Equatable, Sendable {
        var date: String
        var time: String
        var technician: String
    }

    var scheduling = Loadable<OrderScheduling>()

    mutating func reduce(_ message: Loadable<OrderScheduling>.Message) { scheduling.reduce(message) }

    var view: SectionView<Content> {
        scheduling.view(error: "The appointment could not be loaded.") { scheduling in
            Content(
                date: scheduling.from.dateText, time: "\(scheduling.from.timeText) – \(scheduling.to.timeText)",
                technician: scheduling.technician ?? "Nobody yet")
        }
    }
}
