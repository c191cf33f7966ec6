extension PostgresEngine {
    /// What a writer does next.
    enum Task {
        case group([Ready<Write>])
        case statements([Ready<Write>])
        case steps(Ready<Write>)
        case streams([Ready<Write>])

        /// The task with a group's appends in the order in which their rows are locked: see `AppendGroup`.
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

/// About how many sessions the database has: counted now and then, and followed in between as far as this process makes and
/// removes them.
struct SessionCount {
    /// Nil as long as it was not counted.
    var count: Int?
}
