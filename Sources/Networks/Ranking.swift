/// Keys with numbers. The key with the largest number is found in constant time.
struct Ranking<Key: Hashable & Sendable>: Sendable {
    private var numbers: [Key: Int] = [:]
    /// The keys by number. The last set is not empty.
    private var keys: [Set<Key>] = []

    subscript(key: Key) -> Int { numbers[key] ?? 0 }

    /// A key with the largest number; nil if there is none.
    var largest: (key: Key, number: Int)? { keys.last?.first.map { ($0, keys.count - 1) } }

    /// Adds to a key's number. Removes a key whose number is 0.
    mutating func add(_ change: Int, to key: Key) {
        let old = self[key]
        let new = old + change
        precondition(new >= 0, "a key's number became negative")
        // An emptied set would keep its storage, and a growing number leaves one behind at each step.
        if old > 0, keys[old].remove(key) != nil, keys[old].isEmpty { keys[old] = [] }
        if new > 0 {
            numbers[key] = new
            if keys.count <= new { keys += repeatElement([], count: new + 1 - keys.count) }
            keys[new].insert(key)
        } else {
            numbers[key] = nil
        }
        while keys.last?.isEmpty == true { keys.removeLast() }
    }
}
