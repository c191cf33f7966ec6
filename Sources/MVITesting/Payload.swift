/// Returns the associated values of an enum's value if it has the case that `make` creates; nil for other cases.
func payload<Value, each Payload>(of value: Value, _ make: (repeat each Payload) -> Value) -> (repeat each Payload)? {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .enum, let child = mirror.children.first else { return nil }
    var count = 0
    for _ in repeat (each Payload).self { count += 1 }
    // Several associated values are one tuple; so is one value with a label.
    let tuple = Mirror(reflecting: child.value)
    let isTuple = tuple.displayStyle == .tuple && tuple.children.count == count
    var values = (isTuple ? tuple.children.map(\.value) : [child.value])[...]
    guard values.count == count else { return nil }
    func next<T>(_ type: T.Type) throws -> T {
        guard let value = values.removeFirst() as? T else { throw OtherCase() }
        return value
    }
    do {
        let payload = (repeat try next((each Payload).self))
        // Two cases may have values of the same types.
        guard caseName(of: make(repeat each payload)) == caseName(of: value) else { return nil }
        return payload
    } catch {
        return nil
    }
}

private struct OtherCase: Error {}

/// Returns the case's name with the labels of its values.
private func caseName(of value: Any) -> [String] {
    guard let child = Mirror(reflecting: value).children.first else { return [] }
    let tuple = Mirror(reflecting: child.value)
    let labels = tuple.displayStyle == .tuple ? tuple.children.map { $0.label ?? "" } : []
    return [child.label ?? ""] + labels
}
