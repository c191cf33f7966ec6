/// In which form an intent that ran is answered: the table of `docs/http.md`, Intents.
struct AnswerForm: Equatable {
    /// 202, 200 or 204.
    let status: Int
    /// The preferences that the answer honours, as `Preference-Applied` lists them (RFC 7240 section 3).
    let applied: String?

    /// - Parameters:
    ///   - isSettled: whether no work that the intent launched is running.
    ///   - isWaitGranted: whether the request had a place to wait in.
    ///   - cap: the longest wait in seconds.
    init(_ preferences: Preferences, isSettled: Bool, isWaitGranted: Bool, cap: Int) {
        let waited = preferences.wait.map { "wait=\(min($0, cap))" }
        if let waited, !isSettled {
            status = 202
            applied = isWaitGranted ? waited : nil
            return
        }
        switch preferences.return {
        case .minimal:
            status = 204
            applied = waited.map { "return=minimal, \($0)" } ?? "return=minimal"
        case .representation:
            status = 200
            applied = waited.map { "return=representation, \($0)" } ?? "return=representation"
        case nil:
            status = waited == nil ? 202 : 200
            applied = waited ?? (preferences.respondAsync ? "respond-async" : nil)
        }
    }
}
