/// Collections of the standard library that encode themselves as an array in the order of this process's hashes.
protocol UnorderedCollection {
    /// How many values in a row belong together.
    static var valuesPerElement: Int { get }
}

extension Set: UnorderedCollection {
    static var valuesPerElement: Int { 1 }
}

/// A dictionary whose keys are no strings is an array of keys and values in turn.
extension Dictionary: UnorderedCollection {
    static var valuesPerElement: Int { 2 }
}
