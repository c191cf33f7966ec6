/// Schemas that tests take in turns.
actor SchemaPool {
    private let make: @Sendable () async throws -> TestSchema
    private var free: [TestSchema] = []
    private var unmade: Int
    private var waiters: [CheckedContinuation<TestSchema?, Never>] = []

    init(count: Int, make: @escaping @Sendable () async throws -> TestSchema = { try await TestSchema() }) {
        (unmade, self.make) = (count, make)
    }

    /// Returns a schema that no other test uses.
    func take() async throws -> TestSchema {
        if let schema = free.popLast() { return schema }
        if unmade > 0 {
            unmade -= 1
        } else if let schema = await withCheckedContinuation({ waiters.append($0) }) {
            return schema
        }
        do { return try await make() } catch {
            // The next one tries it: otherwise all others would wait for ever.
            if waiters.isEmpty { unmade += 1 } else { waiters.removeFirst().resume(returning: nil) }
            throw error
        }
    }

    func giveBack(_ schema: TestSchema) {
        if waiters.isEmpty { free.append(schema) } else { waiters.removeFirst().resume(returning: schema) }
    }
}
