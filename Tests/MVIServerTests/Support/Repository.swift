import Foundation

/// The files of this repository, for tests that compare them.
enum Repository {
    static func text(_ path: String) throws -> String {
        let root = #filePath.replacing(#/Tests\/MVIServerTests\/.*$/#, with: "")
        return try String(contentsOfFile: root + path, encoding: .utf8)
    }
}
