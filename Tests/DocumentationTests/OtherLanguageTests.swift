import Foundation
import TestSupport
import Testing
import Yams

/// Checks the code of the pages in other languages than Swift. script/trial proxies runs the proxy configurations,
/// script/clients the React components, and compiles the Kotlin (Clients/Kotlin/build --pages).
@Suite("The other code of the pages", .timeLimit(.minutes(10)))
struct OtherLanguageTests {
    @Test(.enabled(if: Tool.typeScript != nil))
    func `in TypeScript compiles, with the types that a server makes`() async throws {
        let tool = try #require(Tool.typeScript)
        let blocks = try Repository.blocks("ts")
        #expect(!blocks.isEmpty)
        for block in blocks {
            let folder = try WorkFolder()
            try folder.write(try Repository.text("Tests/CommandTests/Types/Files/features.ts"), to: "features.ts")
            for file in ["package.json", "mvi-client.js", "mvi-client.d.ts"] {
                try folder.write(
                    try Repository.text("Clients/JavaScript/\(file)"), to: "node_modules/mvi-client/\(file)")
            }
            let file = try folder.write(block.text, to: "block.ts")
            let result = try await tool.output(
                [
                    "--strict", "--noEmit", "--target", "es2020", "--module", "es2020", "--moduleResolution", "node",
                    file,
                ])
            #expect(result.code == 0, "\(block.page):\(block.line): \(result.text)")
        }
    }

    @Test(.enabled(if: Tool("node") != nil))
    func `in JavaScript parses, also inside HTML`() async throws {
        let tool = try #require(Tool("node"))
        let folder = try WorkFolder()
        var blocks = try Repository.blocks("js")
        for var block in try Repository.blocks("html") {
            let scripts = block.text.matches(of: #/<script type="module">((?s).*?)<\/script>/#)
            #expect(!scripts.isEmpty, "\(block.page):\(block.line) has no script")
            block.lines = scripts.map { String($0.1) }
            blocks.append(block)
        }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let result = try await tool.output(["--check", try folder.write(block.text, to: "block.mjs")])
            #expect(result.code == 0, "\(block.page):\(block.line): \(result.text)")
        }
    }

    @Test(.enabled(if: Tool("bash") != nil))
    func `in a shell parses`() async throws {
        try await check("sh", with: Tool("bash"), ["-n"])
    }

    @Test func `in JSON and YAML parses`() throws {
        let json = try Repository.blocks("json")
        #expect(!json.isEmpty)
        for block in json {
            #expect(throws: Never.self, "\(block.page):\(block.line)") {
                try JSONSerialization.jsonObject(with: Data(block.text.utf8))
            }
        }
        let yaml = try Repository.blocks("yaml")
        #expect(!yaml.isEmpty)
        for block in yaml {
            #expect(throws: Never.self, "\(block.page):\(block.line)") { _ = try Yams.compose(yaml: block.text) }
        }
    }

    @Test func `is only in languages that a test checks`() throws {
        let known: Set = [
            "", "console", "swift", "ts", "js", "html", "sh", "json", "yaml",
            // Checked elsewhere, see above, or not at all.
            "nginx", "haproxy", "apache", "jsx", "kotlin", "http",
        ]
        for block in try Repository.pages.flatMap({ try CodeBlock.all(in: $0) }) {
            #expect(known.contains(block.language), "\(block.page):\(block.line): ```\(block.language)")
        }
    }

    private func check(_ language: String, with tool: Tool?, _ arguments: [String]) async throws {
        let tool = try #require(tool)
        let folder = try WorkFolder()
        let blocks = try Repository.blocks(language)
        #expect(!blocks.isEmpty)
        for block in blocks {
            let result = try await tool.output(arguments + [try folder.write(block.text, to: "block")])
            #expect(result.code == 0, "\(block.page):\(block.line): \(result.text)")
        }
    }
}
