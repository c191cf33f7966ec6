import Testing

@testable import MVIServer
@testable import mvi_server

@Suite("The data folder of a command")
struct DataFolderTests {
    private func folder(_ arguments: String...) async throws -> String {
        switch try ServerProgram<DemoServer>.parseAsRoot(arguments) {
        case let command as BackupCommand<DemoServer>: try await command.program.existingDataFolder()
        case let command as SessionsCommand<DemoServer>: try await command.program.existingDataFolder()
        case let command as ExportCommand<DemoServer>: try await command.program.existingDataFolder()
        default: throw CommandFailure("no command that reads the data folder")
        }
    }

    @Test func `it is the one of --data, before the command's name or after it`() async throws {
        let temporary = try TemporaryFolder()
        #expect(try await folder("backup", "file", "--data", temporary.path) == temporary.path)
        #expect(try await folder("sessions", "--data", temporary.path) == temporary.path)
        #expect(try await folder("export", "session", "--data", temporary.path) == temporary.path)
        #expect(try await folder("--data", temporary.path, "export", "session") == temporary.path)
    }

    @Test func `one that is not there is an error that names it, and is not made`() async throws {
        let temporary = try TemporaryFolder()
        let path = "\(temporary.path)/none"
        let error = await #expect(throws: CommandFailure.self) { try await folder("sessions", "--data", path) }
        #expect(
            error?.description
                == "There is no data folder '\(path)'. Give the one that the server was given, with --data or MVI_DATA."
        )
        #expect(!TemporaryFolder.isThere(path))
    }

    @Test func `a server that keeps nothing has none`() async throws {
        let error = await #expect(throws: CommandFailure.self) { try await folder("sessions", "--data", ":memory:") }
        #expect(
            error?.description
                == "With --data :memory: nothing is kept. Give the folder that the server was given.")
    }
}
