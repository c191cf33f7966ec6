import ArgumentParser
import MVI
import SessionJournal
import Sessions

/// `sign-out`: invalidates all tokens.
struct SignOutCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sign-out",
            abstract: "Sign all clients out.",
            discussion: """
                Takes --data and --journal like the server; no server may use the journal meanwhile. Invalidates all \
                tokens and cookies, including those of anonymous sessions, and replaces the journal's key. Sessions \
                stay: users who sign in find the session that their devices share, reminders fire, and other sessions \
                expire. Use it after a database was restored to an earlier time, or if tokens may have been stolen.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            let journal = try program.journal()
            do throws(StoreError) {
                let sessions = try journal.signOutAll()
                // It is done, even if the line cannot be printed.
                _ = try? StandardOutput.put(Array("\(journal.place): all signed out, \(sessions) sessions\n".utf8))
            } catch {
                throw CommandFailure("The sign-out failed. \(error)")
            }
        }
    }
}

/// `rotate-key`: replaces the key that proves the tokens of new sessions.
struct RotateKeyCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate-key",
            abstract: "Replace the journal's key, which proves tokens of empty sessions.",
            discussion: """
                Takes --data, --journal and --session-life like the server. A server with a data folder must not run \
                meanwhile. Servers that share a database derive the key of their requests to each other from it; they \
                keep running and use the new key two minutes later. Tokens of the old key are valid until the end of \
                their lifetime; 'sign-out' invalidates them at once.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            let journal = try program.journal()
            let life = try program.settings().server.sessionLife
            do throws(StoreError) {
                try journal.rotateKey(now: TimeSource.system.sinceEpoch(), tokenLife: life)
                _ = try? StandardOutput.put(Array("\(journal.place): another key\n".utf8))
            } catch {
                throw CommandFailure("The key was not replaced. \(error)")
            }
        }
    }
}
