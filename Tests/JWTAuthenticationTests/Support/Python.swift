import Foundation
import TestSupport

/// The system's Python, with the Debian packages python3-jwt and python3-cryptography (script/bootstrap installs them).
enum Python {
    /// A script ended with an exit code other than 0.
    struct Failure: Error {
        let code: Int32
    }

    /// True if PyJWT is installed, with its support for public keys.
    static let hasJWT = (try? output("import jwt, cryptography")) != nil

    private static let path = "/usr/bin/python3"

    /// Returns the output of a script. Blocks until it ends.
    static func output(_ script: String) throws -> Data {
        let (process, output) = try start(script)
        let data = output.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(code: process.terminationStatus) }
        return data
    }

    /// Starts a script that prints a line and keeps running. Returns the line and a function that stops the script.
    static func begin(_ script: String) async throws -> (line: String, end: @Sendable () -> Void) {
        try await offThePool {
            let (process, output) = try start(script)
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                guard let byte = try output.read(upToCount: 1), !byte.isEmpty else { break }
                line += byte
            }
            let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            let id = process.processIdentifier
            return (text, { kill(id, SIGKILL) })
        }
    }

    private static func start(_ script: String) throws -> (Process, FileHandle) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-c", script]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, output.fileHandleForReading)
    }
}
