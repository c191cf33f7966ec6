/// The state of a feature instance. `counter` counts; `sized:<bytes>-<name>` does too, with a text that gives the state
/// about that size.
struct Store {
    let feature: String
    var count = 0
    var version = 1
    /// The intent of the newest state.
    var intent: String?
    /// The state's JSON after the count.
    private let rest: String

    /// Nil if no feature has that id.
    init?(feature: String) {
        self.feature = feature
        if feature == "counter" {
            rest = ",\"isLoading\":false}"
        } else if feature.hasPrefix("sized:"), let bytes = Int(feature.dropFirst(6).prefix { $0 != "-" }),
            (64...1 << 20).contains(bytes)
        {
            rest = ",\"isLoading\":false,\"text\":\"\(String(repeating: "x", count: bytes - 45))\"}"
        } else {
            return nil
        }
    }

    mutating func add(_ amount: Int, intent: String) {
        count += amount
        version += 1
        self.intent = intent
    }

    /// Appends the event with the state. `cursor`: set if it is the last event of its batch.
    func appendState(to events: inout String, cursor: Cursor?) {
        if let cursor { events += "id: \(cursor)\n" }
        events += "event: state\ndata: {\"feature\":\"\(feature)\",\"version\":\(version)"
        if let intent { events += ",\"intent\":\"\(intent)\"" }
        events += ",\"state\":{\"count\":\(count)\(rest)}\n\n"
    }
}
