#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

import Testing

/// Runs a test with a file of that content, and removes it after.
func withFile(_ content: String, _ test: (_ path: String) async throws -> Void) async throws {
    var template = Array("/tmp/mvi-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    try #require(descriptor >= 0)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let bytes = Array(content.utf8)
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    defer { unlink(path) }
    try await test(path)
}
