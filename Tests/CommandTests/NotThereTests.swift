import Foundation
import Testing

@testable import MVIServer
@testable import mvi_server

/// Checks that the features which docs/not-there.md lists as missing are still missing.
@Suite("docs/not-there.md")
struct NotThereTests {
    private static let root = "\(#filePath)".replacing(#/\/Tests\/CommandTests\/.*$/#, with: "")

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
    }

    /// The names of one kind in the last column of its tables.
    private func names(_ kind: String) throws -> [String] {
        try text("docs/not-there.md").split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[2].hasPrefix("\(kind) `") else { return nil }
            return String(cells[2].dropFirst(kind.count + 2).dropLast())
        }
    }

    @Test func `lists no existing flag`() throws {
        let flags = Set((ServerSettings.catalogue + OwnSettings<DemoServer>.all).map { "--\($0.name)" })
        let missing = try names("flag")
        #expect(missing.count == 4 && flags.isDisjoint(with: missing))
    }

    @Test func `lists no existing path`() throws {
        let contract = try text("openapi.yaml") + text("openapi-admin.yaml")
        let missing = try names("path")
        #expect(missing.count == 7)
        for path in missing { #expect(!contract.contains("\n  \(path):")) }
    }
}
