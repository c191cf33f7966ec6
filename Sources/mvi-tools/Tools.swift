import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `mvi-tools`: tools for operators. They know the server by its address only.
@main
struct Tools: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mvi-tools", abstract: "Examine or watch a server.",
        subcommands: [TopCommand.self, DoctorCommand.self])

    static func main() async {
        // A reader that closes its end causes an error and no signal.
        signal(SIGPIPE, SIG_IGN)
        await main(nil)
    }

    /// Writes all bytes to the standard output; false if the reader has closed it.
    static func put(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) throws -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                throw ToolFailure(1, "The output could not be written completely (errno \(errno)).")
            }
        }
        return true
    }

    /// The value of an environment variable; nil for an empty one.
    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Runs a tool. Writes an error to the standard error and exits with the failure's code.
    static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as ToolFailure {
            _ = try? put(Array("mvi-server: \(failure.description)\n".utf8), to: STDERR_FILENO)
            throw ExitCode(failure.code)
        }
    }
}

/// An error that ends a tool: the cause and a remedy.
struct ToolFailure: Error {
    let code: Int32
    let description: String

    init(_ code: Int32, _ description: String) { (self.code, self.description) = (code, description) }
}
