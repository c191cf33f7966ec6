/// Schemas that tests take in turns.
actor SchemaPool {
    private var free: [TestSchema] = []
    private var unmade: Int
    private var waiters: [CheckedContinuation<TestSchema?, Never>] = []

    init(count: Int) { unmade = count }

    /// Returns a schema that no other test uses.
    func take() async throws -> TestSchema {
        if let schema = free.popLast() { return schema }
        if unmade == 0, let schema = await withCheckedContinuation({ waiters.append($0) }) { return schema }
        if unmade > 0 { unmade -= 1 }
        return try await TestSchema()
    }

    func giveBack(_ schema: TestSchema) {
        if waiters.isEmpty { free.append(schema) } else { waiters.removeFirst().resume(returning: schema) }
    }
}
