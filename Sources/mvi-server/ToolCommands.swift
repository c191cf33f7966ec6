import ArgumentParser
import MVIServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A command that replaces this process by `mvi-tools`.
private protocol ToolCommand: ServerSubcommand where Command == DemoServer {
    var program: ServerProgram<DemoServer> { get }
    var arguments: [String] { get }
}

extension ToolCommand {
    func run() async throws {
        // The tool reads neither the configuration file nor a secret's file.
        let source = try program.source()
        if let token = try ServerSettings.catalogue.first(where: { $0.name == "admin-token" })
            .flatMap({ try source.text(of: $0) })
        {
            setenv("MVI_ADMIN_TOKEN", token, 1)
        }
        try await reporting {
            // Both programs are installed in the same folder.
            guard let folder = Self.folder else { throw CommandFailure("The folder of this program is unknown.") }
            let tool = folder + "/mvi-tools"
            let words = [tool, Self._commandName] + arguments
            var pointers = words.map { strdup($0) }
            pointers.append(nil)
            execv(tool, pointers)
            let reason = String(cString: strerror(errno))
            for pointer in pointers { free(pointer) }
            throw CommandFailure(
                "\(tool) cannot be run (\(reason)). Build it with: swift build -c release --product mvi-tools")
        }
    }

    /// The folder of the running program.
    private static var folder: String? {
        #if os(Linux)
            let path = realpath("/proc/self/exe", nil)
        #else
            let path = realpath(CommandLine.arguments[0], nil)
        #endif
        guard let path else { return nil }
        defer { free(path) }
        return String(cString: path).split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
            separator: "/")
    }
}

/// `mvi-server top`.
struct TopTool: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show a server's current activity.")

    @ParentCommand var program: ServerProgram<DemoServer>
    @Argument(parsing: .captureForPassthrough, help: "See mvi-server top --help.") var arguments: [String] = []
}

/// `mvi-server doctor URL`.
struct DoctorTool: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Measure the path between clients and a server, and suggest changes.")

    @ParentCommand var program: ServerProgram<DemoServer>
    @Argument(parsing: .captureForPassthrough, help: "See mvi-server doctor --help.") var arguments: [String] = []
}
