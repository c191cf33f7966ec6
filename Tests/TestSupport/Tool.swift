import Foundation

/// A program that tests run: one of the system, or one of this package.
package struct Tool: Sendable {
    package let path: String

    /// `tsc`, of the Debian package node-typescript (script/bootstrap installs it).
    package static let typeScript = Tool("tsc")
    /// The compiler of the toolchain.
    package static let swift = Tool("swiftc")
    /// A shell.
    package static let bash = Tool(path: "/bin/bash")
    /// The system's Python with the Debian package python3-jsonschema (script/bootstrap installs it).
    package static let python: Tool? = {
        let python = Tool(path: "/usr/bin/python3")
        return (try? python.run(["-c", "from jsonschema import Draft202012Validator"]))?.code == 0 ? python : nil
    }()

    /// An executable of the package, which is built beside the tests.
    package static func built(_ name: String) -> Tool { Tool(path: "\(folder)/\(name)") }

    /// The folder of those executables.
    package static var folder: String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().path
    }

    private init(path: String) { self.path = path }

    /// Finds a program on the path; nil if there is none.
    package init?(_ name: String) {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
            return nil
        }
        self.path = path
    }

    /// Returns another program of the same folder.
    package func beside(_ name: String) -> Tool {
        Tool(path: URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name).path)
    }

    /// Runs the program on a thread of its own. The text is its standard output and standard error.
    package func output(_ arguments: [String]) async throws -> (code: Int32, text: String) {
        try await offThePool { try run(arguments) }
    }

    private func run(_ arguments: [String]) throws -> (code: Int32, text: String) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
