import Logging
import MVI

/// Reports the use of a lesson's screen as analytics events. Here they go to the log.
enum LessonAnalytics {
    static func middleware(_ logger: Logger) -> Middleware<LessonDetail> {
        .observing { observation in
            guard let event = event(for: observation.event) else { return }
            logger.info(
                "analytics",
                metadata: [
                    "event": "\(event)", "feature": "\(observation.instance)", "intent": "\(observation.intentID)",
                ])
        }
    }

    /// Returns nil for events that are not counted.
    static func event(for event: StoreObservation<LessonDetail>.Event) -> String? {
        switch event {
        case .intent(.onAppear): "lesson_viewed"
        case .intent(.tapConfirmCancelEnrollment): "enrollment_cancel_confirmed"
        case .intent(.tapEnrollAgain): "enrollment_requested"
        case .intent(.resendConfirmation): "confirmation_resend_requested"
        case .intent(.tapOpenMaps): "maps_tapped"
        case .intent(.tapAddToCalendar): "calendar_tapped"
        case .message(.loadFailed, _, _): "lesson_load_failed"
        case .message(.enrollmentChanged(let isEnrolled), _, _):
            isEnrolled ? "enrollment_booked" : "enrollment_cancelled"
        default: nil
        }
    }
}
