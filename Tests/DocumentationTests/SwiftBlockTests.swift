import Testing

/// Checks that the Swift code on pages is compiled.
@Suite("The Swift code of the pages", .timeLimit(.minutes(10)))
struct SwiftBlockTests {
    /// Pages whose blocks need not be compiled.
    private static let unchecked: Set<String> = []

    private static func swift() throws -> [CodeBlock] {
        try Repository.blocks("swift").filter { !unchecked.contains($0.page) }
    }

    @Test func `is copied word for word from a compiled file`() throws {
        let sources = try Repository.files(
            in: ["Examples", "Sources", "Tests/MVITests/Documented"], ".swift"
        )
        .filter { !$0.contains(".docc/") }.map { SourceLines(try Repository.text($0)) }
        let blocks = try Self.swift().filter { !$0.isManifest && !$0.isForApple }
        #expect(blocks.count > 5)
        for block in blocks {
            #expect(
                sources.contains { $0.contain(block.lines) },
                """
                \(block.page):\(block.line): this code is in no Swift file of Examples, Sources or \
                Tests/MVITests/Documented. Put it into one of Examples/Pages, word for word; only \
                indentation and blank lines may differ, and what stands between "// snippet.hide" \
                and "// snippet.show" is left out, and "// @main" stands for "@main".
                """)
        }
    }

    @Test(.enabled(if: Compiler.shared != nil))
    func `parses at least, if it needs SwiftUI`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        for block in try Self.swift().filter(\.isForApple) {
            let fault = try await compiler.fault(ofSyntax: try folder.write(block.text, to: "Block.swift"))
            #expect(fault == nil, "\(block.page):\(block.line): \(fault ?? "")")
        }
    }

    @Test(.enabled(if: Compiler.shared != nil))
    func `is a manifest that compiles`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        for block in try Self.swift().filter(\.isManifest) {
            let fault = try await compiler.fault(ofManifest: try folder.write(block.text, to: "Package.swift"))
            #expect(fault == nil, "\(block.page):\(block.line): \(fault ?? "")")
        }
    }

    @Test func `is compared without indentation, blank lines and hidden lines, but word for word`() {
        let source = SourceLines(
            """
            import MVI
            func f() {
                // snippet.hide
                hidden()
                // snippet.show

                shown()
            }
            """)
        #expect(source.contain(["import MVI", "", "func f() {", "shown()", "}"]))
        #expect(source.contain(["shown()", "}"]))
        #expect(!source.contain(["hidden()"]))
        #expect(!source.contain(["func f() {", "show()", "}"]))
        #expect(!source.contain(["import Other", "shown()"]))
        #expect(!source.contain(["func f() {", "}"]))
    }
}

extension CodeBlock {
    /// True if it is a `Package.swift`.
    fileprivate var isManifest: Bool { lines.first?.hasPrefix("// swift-tools-version") == true }
    /// True if it needs frameworks that only Apple's systems have.
    fileprivate var isForApple: Bool { lines.contains("import SwiftUI") }
}

/// The lines of a Swift file in the form that pages show.
struct SourceLines {
    private let imports: Set<String>
    private let lines: [String]

    init(_ text: String) {
        let all = Self.trimmed(text.split(separator: "\n").map(String.init))
        imports = Set(all.filter { $0.hasPrefix("import ") })
        var (lines, isHidden): ([String], Bool) = ([], false)
        for line in all {
            switch line {
            case "// snippet.hide": isHidden = true
            case "// snippet.show": isHidden = false
            case _ where isHidden || line.hasPrefix("// swift-format-ignore"): continue
            case _ where line.hasPrefix("import "): continue
            // One module has one entry point.
            case "// @main": lines.append("@main")
            default: lines.append(line)
            }
        }
        self.lines = lines
    }

    /// Returns true if the file contains a block: its imports anywhere, its other lines consecutively.
    func contain(_ block: [String]) -> Bool {
        let block = Self.trimmed(block)
        guard imports.isSuperset(of: block.filter { $0.hasPrefix("import ") }) else { return false }
        let code = block.filter { !$0.hasPrefix("import ") }
        guard !code.isEmpty, lines.count >= code.count else { return false }
        return (0...(lines.count - code.count)).contains { start in lines[start...].starts(with: code) }
    }

    private static func trimmed(_ lines: [String]) -> [String] {
        lines.map { $0.trimming { $0 == " " } }.filter { !$0.isEmpty }
    }
}

extension String {
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> String {
        let start = drop(while: isBlank)
        return String(start.reversed().drop(while: isBlank).reversed())
    }
}
