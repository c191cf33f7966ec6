import Testing

/// Builds the DocC archives of the doc comments, the articles and the tutorial.
@Suite("The catalogues of DocC", .timeLimit(.minutes(10)))
struct CatalogueTests {
    @Test(.enabled(if: Compiler.shared != nil))
    func `have no broken links and no other warnings of DocC`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        var done: [String] = []
        for module in ["MVI", "MVITesting", "MVIServer"] {
            let catalogue = "\(Repository.root)/Sources/\(module)/\(module).docc"
            let fault = try await compiler.fault(
                ofDocumentation: module, catalogue, into: folder.path, beside: done)
            #expect(fault == nil, "\(fault ?? "")")
            done.append(module)
        }
    }

    @Test(.enabled(if: Compiler.shared != nil))
    func `are refused with a broken link`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        try folder.write("# ``MVI``\n\nSee ``NotThere``.\n", to: "MVI.docc/MVI.md")
        let fault = try await compiler.fault(
            ofDocumentation: "MVI", "\(folder.path)/MVI.docc", into: folder.path, beside: [])
        #expect(fault?.contains("'NotThere' doesn't exist") == true, "\(fault ?? "")")
    }
}
