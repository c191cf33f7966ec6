import Logging
import MVI

/// Logs where a lesson's screen sends people.
enum LessonNavigationLog {
    static func middleware(_ logger: Logger) -> Middleware<LessonDetail> {
        .observing { observation in
            guard case .label(let label) = observation.event, let target = target(of: label) else { return }
            logger.info(
                "navigation",
                metadata: [
                    "to": "\(target)", "feature": "\(observation.instance)", "intent": "\(observation.intentID)",
                ])
        }
    }

    /// Nil for a label that leads nowhere.
    static func target(of label: LessonDetail.Label) -> String? {
        switch label {
        case .dismiss: "back"
        case .openMaps: "maps"
        case .addToCalendar: "calendar"
        case .toast: nil
        }
    }
}
