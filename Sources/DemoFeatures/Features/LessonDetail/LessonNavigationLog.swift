import Logging
import MVI

/// Logs the navigation from a lesson's screen.
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

    /// Returns nil for a label without navigation.
    static func target(of label: LessonDetail.Label) -> String? {
        switch label {
        case .dismiss: "back"
        case .openMaps: "maps"
        case .addToCalendar: "calendar"
        case .toast: nil
        }
    }
}
