import Foundation

/// Runs a test with a file of that content, and removes it after.
func withFile(_ content: String, _ test: (_ path: String) async throws -> Void) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("jwt-\(UUID()).json")
    try Data(content.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await test(file.path)
}
