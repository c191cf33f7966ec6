import MVI

/// Records the customer and the feature of every committed intent and action.
struct Analytics: CommonMiddleware {
    struct Entry: Equatable, Sendable {
        /// The customer's id; nil if the client is not signed in.
        let who: String?
        let feature: String
        let what: String
    }

    let record: @Sendable (Entry) -> Void

    func middleware<F: Feature>(for feature: F.Type) -> Middleware<F> {
        .observing { [record] observation in
            let what: String
            switch observation.event {
            case .intent(let intent): what = "\(intent)"
            case .refused(let intent, let refusal): what = "\(intent) refused: \(refusal.code ?? refusal.detail)"
            case .action(let action): what = "\(action)"
            default: return
            }
            // A reminder or a webhook has no principal; the session still has its customer.
            let who = observation.principal?.subject ?? observation.session.subject?.id
            record(Entry(who: who, feature: observation.instance, what: what))
        }
    }
}
