/// What a table of work gives up: tasks to cancel, and values to let go of after the lock, since an author's may do
/// anything when they die. Not generic: it is made on every turn, and a generic one costs a look-up of its type.
@usableFromInline
struct LeavingWork: Sendable {
    @usableFromInline var tasks: [Task<Void, Never>] = []
    @usableFromInline var values: [any Sendable] = []

    @inlinable
    init() {}

    init(tasks: [Task<Void, Never>], values: [any Sendable]) {
        self.tasks = tasks
        self.values = values
    }

    mutating func add(_ request: any Sendable, _ task: Task<Void, Never>? = nil) {
        values.append(request)
        if let task { tasks.append(task) }
    }
}
