import ArgumentParser
import MVIServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A command that `mvi-tools` carries out, in this process's place.
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
            // The two are installed side by side.
            guard let folder = Self.folder else { throw CommandFailure("The folder of this program cannot be read.") }
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

    /// Of the program that runs.
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
        commandName: "top", abstract: "Show what a server does now, again and again.")

    @ParentCommand var program: ServerProgram<DemoServer>
    @Argument(parsing: .captureForPassthrough, help: "See mvi-server top --help.") var arguments: [String] = []
}

/// `mvi-server doctor URL`.
struct DoctorTool: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Measure the way between clients and a server, and say what to change.")

    @ParentCommand var program: ServerProgram<DemoServer>
    @Argument(parsing: .captureForPassthrough, help: "See mvi-server doctor --help.") var arguments: [String] = []
}
