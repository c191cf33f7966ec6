import MVI

// The common encoding of values that databases have no type for.

extension Duration {
    /// Nanoseconds in 64 bits, enough for times since 1970 in the years 1678 to 2262. Clamped beyond.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowed) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return !overflow && !overflowed ? sum : (seconds < 0 ? .min : .max)
    }
}

extension FeatureID {
    package init(stored text: String) throws(StoreError) {
        guard let feature = FeatureID(text) else { throw .unexpected(text, "a feature's name") }
        self = feature
    }
}

extension StoreError {
    package static func unexpected(_ found: String, _ expected: String) -> StoreError {
        StoreError(.unavailable, "The journal holds '\(found)' where \(expected) was expected.")
    }
}

extension LostLabels {
    /// `0` or `1` for `hasAny`, then for each feature instance a space, its id, `=`, the number, and `!` if unheard.
    package var text: String {
        dropped.reduce(hasAny ? "1" : "0") { text, entry in
            "\(text) \(entry.key)=\(entry.value.number)\(entry.value.isUnheard ? "!" : "")"
        }
    }

    package init(text: String) throws(StoreError) {
        self.init()
        let parts = text.split(separator: " ")
        hasAny = parts.first == "1"
        for part in parts.dropFirst() {
            let sides = part.split(separator: "=")
            let isUnheard = sides.last?.last == "!"
            guard sides.count == 2, let feature = FeatureID(sides[0]),
                let number = UInt64(isUnheard ? sides[1].dropLast() : sides[1])
            else { throw .unexpected(text, "a record of lost labels") }
            dropped[feature] = Dropped(number: number, isUnheard: isUnheard)
        }
    }
}
