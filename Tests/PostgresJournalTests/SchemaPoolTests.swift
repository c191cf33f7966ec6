import Testing

@Suite struct SchemaPoolTests {
    private struct NoDatabase: Error {}

    @Test func `without a database all who wait for a schema fail, and none waits for ever`() async {
        let pool = SchemaPool(count: 2) { throw NoDatabase() }
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { await #expect(throws: NoDatabase.self) { try await pool.take() } }
            }
        }
    }
}
