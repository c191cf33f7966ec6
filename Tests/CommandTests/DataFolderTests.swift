import Foundation
import TestSupport
import Testing

@testable import MVIServer
@testable import mvi_server

@Suite("The data folder of a command")
struct DataFolderTests {
    private func folder(_ arguments: String...) throws -> String {
        switch try ServerProgram<DemoServer>.parseAsRoot(arguments) {
        case let command as BackupCommand<DemoServer>: try command.program.existingDataFolder()
        case let command as SessionsCommand<DemoServer>: try command.program.existingDataFolder()
        case let command as ExportCommand<DemoServer>: try command.program.existingDataFolder()
        default: throw CommandFailure("no command that reads the data folder")
        }
    }

    @Test func `it is the one of --data, before the command's name or after it`() throws {
        let temporary = try TemporaryFolder()
        #expect(try folder("backup", "file", "--data", temporary.path) == temporary.path)
        #expect(try folder("sessions", "--data", temporary.path) == temporary.path)
        #expect(try folder("export", "session", "--data", temporary.path) == temporary.path)
        #expect(try folder("--data", temporary.path, "export", "session") == temporary.path)
    }

    @Test func `a missing one is an error that names it, and is not created`() throws {
        let temporary = try TemporaryFolder()
        let path = "\(temporary.path)/none"
        let error = #expect(throws: CommandFailure.self) { try folder("sessions", "--data", path) }
        #expect(
            error?.description
                == "The data folder '\(path)' does not exist. Give the server's data folder with --data or MVI_DATA."
        )
        #expect(!TemporaryFolder.isThere(path))
    }

    @Test func `a server that stores nothing has none`() throws {
        let error = #expect(throws: CommandFailure.self) { try folder("sessions", "--data", ":memory:") }
        #expect(
            error?.description
                == "With --data :memory: nothing is stored. Give the server's data folder.")
    }

    @Test func `a journal in memory cannot be inspected, and no other is used instead`() throws {
        let temporary = try TemporaryFolder()
        let error = #expect(throws: CommandFailure.self) {
            let program = try ServerProgram<DemoServer>.parse(["--journal", "memory", "--data", temporary.path])
            _ = try program.journal()
        }
        #expect(error?.description.hasPrefix("With --journal memory nothing is stored. ") == true)
    }

    @Test func `an empty flag is refused`() throws {
        for flags in [["data": ""], ["port": ""]] {
            let source = try SettingsSource(flags: flags, environment: [:], known: Array(flags.keys))
            #expect(throws: SettingError.self) { try source.read(ServerSettings.init) }
        }
    }

    @Test func `a file is refused as the data folder`() throws {
        let temporary = try TemporaryFolder()
        var settings = ServerSettings()
        settings.data = "\(temporary.path)/file"
        try "text".write(toFile: settings.data, atomically: true, encoding: .utf8)
        let error = #expect(throws: SettingError.self) { try settings.dataFile("demo.sqlite") }
        #expect(error?.description.contains("a folder that can be made or written to (Not a directory)") == true)
    }

    @Test func `an error is one line without a heading, with any characters in a name`()
        async throws
    {
        let temporary = try TemporaryFolder()
        let minimal = Tool.built("minimal")
        let (code, text) = try await minimal.output(["sessions", "--data", temporary.path])
        #expect(code == 1 && text == "minimal: There is no journal in \(temporary.path).\n")
        let named = try await minimal.output(["export", "a\u{1B}[31m\nb", "--data", temporary.path])
        #expect(named.code == 1 && named.text.split(separator: "\n").count == 1 && !named.text.contains("\u{1B}"))
    }
}
