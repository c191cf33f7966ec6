import TestSupport
import MVITesting
import Testing

@testable import MVIServer

@Suite("Commands over the socket in the data folder", .timeLimit(.minutes(2)))
struct ControlTests {
    private static let echo = ControlCommand("echo") { .success("\($0)!") }
    private static let refuse = ControlCommand("refuse") { .failure(ControlFailure("no \($0) today")) }

    /// Runs a test with a server in a folder of its own, and stops it after.
    private func withServer(
        _ commands: [ControlCommand] = [echo, refuse], patience: Duration = .seconds(60), in folder: String? = nil,
        _ test: (_ folder: String, ControlServer) async throws -> Void
    ) async throws {
        let temporary = try TemporaryFolder()
        let folder = folder ?? temporary.path
        let server = try ControlServer.start(folder: folder, commands: commands, patience: patience)
        do {
            try await test(folder, server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func ask(_ command: String, _ argument: String, _ folder: String) async throws -> String? {
        try await ControlClient.ask(command, argument, folder: folder)
    }

    @Test func `a command is carried out and its answer comes back, again and again`() async throws {
        try await withServer { folder, _ async throws in
            for text in ["a", "", "two words", "日本語 \u{0301}", String(repeating: "x", count: 10_000)] {
                #expect(try await ask("echo", text, folder) == "\(text)!")
            }
        }
    }

    @Test func `why a command was not carried out comes back as an error`() async throws {
        try await withServer { folder, _ async throws in
            let error = await #expect(throws: ControlFailure.self) { try await ask("refuse", "backup", folder) }
            #expect(error?.description == "no backup today")
        }
    }

    @Test func `a command that the server does not know is refused with those that it knows`() async throws {
        try await withServer { folder, _ async throws in
            let error = await #expect(throws: ControlFailure.self) { try await ask("format", "c:", folder) }
            #expect(error?.description == "This server knows no command 'format'; it knows: echo, refuse.")
        }
    }

    @Test func `nobody listens in a folder without a server, nor after its stop, nor after its death`() async throws {
        let empty = try TemporaryFolder()
        #expect(try await ask("echo", "a", empty.path) == nil)
        let folder = try TemporaryFolder()
        let server = try ControlServer.start(folder: folder.path, commands: [Self.echo])
        await server.stop()
        // What it leaves behind is what a server that was killed leaves.
        #expect(TemporaryFolder.isThere("\(folder.path)/control.sock"))
        #expect(try await ask("echo", "a", folder.path) == nil)
    }

    @Test func `the next server takes the place of the one before`() async throws {
        let folder = try TemporaryFolder()
        let first = try ControlServer.start(folder: folder.path, commands: [Self.echo])
        await first.stop()
        try await withServer([Self.refuse], in: folder.path) { folder, _ async throws in
            await #expect(throws: ControlFailure.self) { try await ask("refuse", "a", folder) }
        }
    }

    @Test func `only the owner may connect`() async throws {
        try await withServer { folder, _ async throws in
            #expect(try TemporaryFolder.mode(of: "\(folder)/control.sock") == 0o600)
        }
    }

    @Test func `a folder whose path is longer than a socket's address will do`() async throws {
        let temporary = try TemporaryFolder()
        var folder = temporary.path
        let name = String(repeating: "d", count: 100)
        for depth in 1...3 { folder = try temporary.folder((1...depth).map { _ in name }.joined(separator: "/")) }
        #expect(folder.utf8.count > 300)
        try await withServer(in: folder) { folder, _ async throws in
            #expect(try await ask("echo", "deep", folder) == "deep!")
        }
    }

    @Test func `a folder that is not there is an error that names it`() async throws {
        let error = #expect(throws: ControlFailure.self) {
            try ControlServer.start(folder: "/nonexistent/folder", commands: [])
        }
        #expect(error?.description == "Cannot open the folder /nonexistent/folder: No such file or directory.")
        await #expect(throws: ControlFailure.self) { try await ask("echo", "a", "/nonexistent/folder") }
    }

    @Test func `an argument with a line break is refused before it is sent`() async throws {
        try await withServer { folder, _ async throws in
            for argument in ["a\nb", "a\u{0}b"] {
                await #expect(throws: ControlFailure.self) { try await ask("echo", argument, folder) }
            }
        }
    }

    @Test func `clients come one after the other, and each is answered`() async throws {
        let gate = Gate()
        let slow = ControlCommand("slow") { text in
            await gate.waitDespiteCancellation()
            return .success(text)
        }
        try await withServer([slow, Self.echo]) { folder, _ async throws in
            async let first = ask("slow", "first", folder)
            await gate.waiters()
            async let second = ask("echo", "second", folder)
            gate.open()
            #expect(try await first == "first")
            #expect(try await second == "second!")
        }
    }

    @Test func `a stop waits for the command that is being carried out`() async throws {
        let gate = Gate()
        let slow = ControlCommand("slow") { text in
            await gate.waitDespiteCancellation()
            return .success(text)
        }
        let folder = try TemporaryFolder()
        let server = try ControlServer.start(folder: folder.path, commands: [slow])
        async let answer = ask("slow", "kept", folder.path)
        await gate.waiters()
        async let end: Void = server.stop()
        gate.open()
        #expect(try await answer == "kept")
        await end
        // Another stop has nothing to wait for.
        await server.stop()
    }

    @Test func `a client that says nothing does not hold up a stop`() async throws {
        let folder = try TemporaryFolder()
        let server = try ControlServer.start(folder: folder.path, commands: [Self.echo], patience: .seconds(3_600))
        let client = try RawControlClient(path: "\(folder.path)/control.sock")
        client.send(Array("echo unfinished".utf8))
        await server.stop()
        #expect(try await offThePool { client.readToEnd() } == "")
    }

    @Test func `a client that is silent, endless or no text loses its turn, and the next one is served`() async throws {
        try await withServer(patience: .milliseconds(50)) { folder, _ async throws in
            for bytes in [[], Array(repeating: UInt8(ascii: "a"), count: 20_000), [0xff, 0xfe, 0x0a]] as [[UInt8]] {
                let client = try RawControlClient(path: "\(folder)/control.sock")
                client.send(bytes)
                #expect(try await offThePool { client.readToEnd() } == "")
            }
            #expect(try await ask("echo", "still there", folder) == "still there!")
        }
    }

    @Test func `a client that leaves before its answer does no harm`() async throws {
        try await withServer { folder, _ async throws in
            do {
                let client = try RawControlClient(path: "\(folder)/control.sock")
                client.send(Array("echo a\n".utf8))
            }
            // The one who left may still be served; then the next is asked to come again.
            var answer: String?
            while answer == nil {
                do { answer = try await ask("echo", "b", folder) } catch let failure as ControlFailure {
                    guard "\(failure)".contains("busy with another command") else { throw failure }
                    await Task.yield()
                }
            }
            #expect(answer == "b!")
        }
    }

    @Test func `the protocol is lines: working, then done or failed`() async throws {
        try await withServer { folder, _ async throws in
            for (line, answer) in [
                ("echo a b", "working\ndone a b!\n"), ("refuse x", "working\nfailed no x today\n"),
                ("echo", "working\ndone !\n"),
                ("nothing", "failed This server knows no command 'nothing'; it knows: echo, refuse.\n"),
            ] {
                let client = try RawControlClient(path: "\(folder)/control.sock")
                client.send(Array("\(line)\n".utf8))
                #expect(try await offThePool { client.readToEnd() } == answer)
            }
        }
    }
}
