import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A command that replaces this process by `mvi-tools` in the same folder.
protocol ToolCommand: ServerSubcommand {
    var program: ServerProgram<Command> { get }
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
            // Programs are installed and built beside it.
            guard let folder = Self.folder else { throw CommandFailure("The folder of this program is unknown.") }
            let tool = folder + "/mvi-tools"
            let words = [tool, Self.configuration.commandName ?? ""] + arguments
            var pointers = words.map { strdup($0) }
            pointers.append(nil)
            execv(tool, pointers)
            let reason = String(cString: strerror(errno))
            for pointer in pointers { free(pointer) }
            let rest = words.dropFirst().joined(separator: " ")
            throw CommandFailure(
                "\(tool) cannot be run (\(reason)). In the folder of the package, run: swift run mvi-tools \(rest)")
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

/// `top`.
struct TopTool<Command: FeatureServerCommand>: ToolCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "top", abstract: "Show a server's current activity (mvi-tools).")
    }

    @ParentCommand var program: ServerProgram<Command>
    @Argument(parsing: .captureForPassthrough, help: "See \(Command.name) top --help.") var arguments: [String] = []
}

/// `doctor URL`.
struct DoctorTool<Command: FeatureServerCommand>: ToolCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor",
            abstract: "Measure the path between clients and a server, and suggest changes (mvi-tools).")
    }

    @ParentCommand var program: ServerProgram<Command>
    @Argument(parsing: .captureForPassthrough, help: "See \(Command.name) doctor --help.") var arguments: [String] = []
}
