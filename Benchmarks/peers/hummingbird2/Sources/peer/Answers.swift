/// A session's newest answers by their Idempotency-Key.
struct Answers {
    private static let most = 64

    private(set) var texts: [String: String] = [:]
    private var keys: [String] = []
    private var count = 0

    /// Returns the place of the answer that this one displaces.
    mutating func keep(_ text: String, for key: String) -> Int {
        let slot = count % Self.most
        count += 1
        if keys.count < Self.most {
            keys.append(key)
        } else {
            texts[keys[slot]] = nil
            keys[slot] = key
        }
        texts[key] = text
        return slot
    }
}
