import MVI
import Testing

/// Fails the test for each case of the feature's `Intent` and `Label` that has no example or more than one.
///
/// ```swift
/// @Test("every intent and label has an example")
/// func examples() { checkExamples(of: Counter.self) }
/// ```
///
/// Only enums with a synthesized `Codable` conformance are checked.
public func checkExamples<F: Feature>(of feature: F.Type, sourceLocation: SourceLocation = #_sourceLocation) {
    var problems: [String] = []
    if F.examples.isEmpty, F.Intent.self != Never.self {
        problems.append("\(F.self).examples is empty: give one value for each case of Intent.")
    }
    problems += problemsOfCases(F.examples, "\(F.self).examples", "Intent")
    problems += problemsOfCases(F.labelExamples, "\(F.self).labelExamples", "Label")
    for problem in problems { Issue.record(Comment(rawValue: problem), sourceLocation: sourceLocation) }
}

private func problemsOfCases<Value: Codable>(_ examples: [Value], _ property: String, _ type: String) -> [String] {
    // The keys of a struct are its members, which each example has.
    if let first = examples.first, Mirror(reflecting: first).displayStyle != .enum { return [] }
    let reader = CaseDecoder()
    // The call always throws. Only the requested keys matter.
    _ = try? Value(from: reader)
    guard let cases = reader.keys.names, !cases.isEmpty else { return [] }
    var counts: [String: Int] = [:]
    for example in examples {
        let writer = CaseEncoder()
        // An error here comes after the case's name is known.
        try? example.encode(to: writer)
        if let name = writer.keys.used { counts[name, default: 0] += 1 }
    }
    return cases.compactMap { name in
        switch counts[name, default: 0] {
        case 0: "\(property) has no value for the case `\(name)` of \(type): add one."
        case 1: nil
        default: "\(property) has more than one value for the case `\(name)` of \(type): keep one."
        }
    }
}
