extension PostgresEngine {
    /// The next work of a writer.
    enum Task {
        case group([Ready<Write>])
        case statements([Ready<Write>])
        case steps(Ready<Write>)
        case streams([Ready<Write>])

        /// The task, with a group's appends in the order in which their rows are locked: see `AppendGroup`.
        var inOrder: Task {
            guard case .group(let writes) = self else { return self }
            return .group(writes.sorted { $0.value.order < $1.value.order })
        }

        var writes: [Ready<Write>] {
            switch self {
            case .group(let writes), .statements(let writes), .streams(let writes): writes
            case .steps(let write): [write]
            }
        }
    }
}

/// The approximate number of sessions in the database: counted from time to time, and updated in between with this
/// process's own changes.
struct SessionCount {
    /// Without spaces; nil until it was counted.
    var count: Int?
    /// The number of spaces, in the same way.
    var spaces: Int?

    mutating func add(_ number: Int, areSpaces: Bool) {
        if areSpaces { spaces? += number } else { count? += number }
    }
}
