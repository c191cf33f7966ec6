import Foundation
import Testing

/// The files of this repository with documentation or code.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// Returns the files in folders, at any depth, with a name suffix, as sorted paths from the root.
    static func files(in folders: [String], _ ending: String) -> [String] {
        folders.flatMap { folder in
            (FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.compactMap { $0 as? String } ?? [])
                .filter { $0.hasSuffix(ending) && !$0.contains(".build") && !$0.contains("node_modules") }
                .sorted().map { "\(folder)/\($0)" }
        }
    }

    /// Every Markdown page for people.
    static let pages = ["README.md"] + files(in: ["docs", "Examples", "Clients", "Sources"], ".md")

    /// The code blocks of all pages in a language.
    static func blocks(_ language: String) throws -> [CodeBlock] {
        try pages.flatMap { try CodeBlock.all(in: $0) }.filter { $0.language == language }
    }
}

/// A fenced block of a page.
struct CodeBlock: CustomTestStringConvertible, Sendable {
    let page: String
    /// The line number of the opening fence.
    let line: Int
    let language: String
    var lines: [String] = []

    var text: String { lines.map { $0 + "\n" }.joined() }
    var testDescription: String { "\(page):\(line)" }

    static func all(in page: String) throws -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var isInside = false
        for (index, line) in try Repository.text(page).components(separatedBy: "\n").enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.hasPrefix("```") {
                isInside.toggle()
                if isInside {
                    blocks.append(CodeBlock(page: page, line: index + 1, language: "\(trimmed.dropFirst(3))"))
                }
            } else if isInside {
                blocks[blocks.count - 1].lines.append(line)
            }
        }
        return blocks
    }
}

/// A folder that is removed with its owner.
final class WorkFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/mvi-documentation-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }
}
