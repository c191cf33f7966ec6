import Foundation
import Testing

/// Checks the line counts in docs/comparison.md.
@Suite("docs/comparison.md")
struct ComparisonTests {
    private static let root = "\(#filePath)".replacing(#/\/Tests\/CommandTests\/.*$/#, with: "")

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
    }

    @Test func `has the line counts of the files`() throws {
        let files = [
            "Sources/Minimal.swift", "Elsewhere/tca.swift.txt", "Elsewhere/mvikotlin.kt.txt",
            "Elsewhere/liveview.exs.txt",
        ]
        let counts = try files.map { file in
            try text("Examples/Minimal/\(file)").split(separator: "\n").count { line in
                let line = line.trimmingCharacters(in: .whitespaces)
                return !line.isEmpty && !line.hasPrefix("//") && !line.hasPrefix("#")
            }
        }
        let row = try #require(try text("docs/comparison.md").split(separator: "\n").first { $0.hasPrefix("| lines,") })
        let shown = row.split(separator: "|").dropFirst().compactMap { cell in
            Int(cell.drop { $0 == " " }.prefix { $0.isNumber })
        }
        #expect(shown == counts)
    }
}
