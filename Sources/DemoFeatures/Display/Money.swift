/// The status of loaded content in a view.
enum LoadStatus: String, Codable, Sendable {
    /// Nothing has been loaded.
    case empty
    case loading
    case content
    case error

    /// Loading comes before an earlier error, and an error before content that was loaded earlier.
    init(isLoading: Bool, hasFailed: Bool, isEmpty: Bool) {
        self =
            if isLoading {
                .loading
            } else if hasFailed {
                .error
            } else {
                isEmpty ? .empty : .content
            }
    }
}

/// An amount of euros, in cents.
struct Money: Codable, Hashable, Sendable {
    var cents: Int

    static func + (left: Money, right: Money) -> Money {
        let sum = left.cents.addingReportingOverflow(right.cents)
        return Money(cents: sum.overflow ? (left.cents < 0 ? .min : .max) : sum.partialValue)
    }

    /// "€84.50", "−€5.00".
    var text: String {
        let rest = String(cents.magnitude % 100)
        return (cents < 0 ? "−" : "") + "€" + grouped(cents.magnitude / 100) + "."
            + (rest.utf8.count < 2 ? "0" + rest : rest)
    }
}

/// "18,204".
func grouped(_ number: some BinaryInteger) -> String {
    let digits = String(number.magnitude)
    var result = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
        result.append(digit)
    }
    return number < 0 ? "−" + result : result
}

/// "32 min", "1 h 5 min"; rounds up to whole minutes.
func durationText(seconds: Int) -> String {
    let minutes = seconds > 0 ? (seconds - 1) / 60 + 1 : 0
    let (hours, rest) = minutes.quotientAndRemainder(dividingBy: 60)
    if hours == 0 { return "\(rest) min" }
    return rest == 0 ? "\(hours) h" : "\(hours) h \(rest) min"
}
