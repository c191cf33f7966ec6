import ArgumentParser
import MVI
import SessionJournal
import Sessions

/// `sign-out`: no token that was given before is good any more.
struct SignOutCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "sign-out",
            abstract: "Sign everybody out.",
            discussion: """
                Takes --data and --journal as the server does; no server may use the journal meanwhile. No token or cookie \
                that was given before names a session afterwards, those of anonymous sessions included, and the journal has \
                another key. What is kept stays: users who sign in find the session that their devices share, reminders fire, \
                and the other sessions expire in their time. For a database that was restored to an earlier time, and for \
                tokens that may have been stolen.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        try await reporting {
            let journal = try program.journal()
            do throws(StoreError) {
                let sessions = try journal.signOutAll()
                // It is done, whether a reader is told of it or not.
                _ = try? StandardOutput.put(Array("\(journal.place): nobody is signed in, \(sessions) sessions\n".utf8))
            } catch {
                throw CommandFailure("Nobody is signed out. \(error)")
            }
        }
    }
}

/// `rotate-key`: another key proves the tokens of new sessions.
struct RotateKeyCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate-key",
            abstract: "Replace the journal's key, which proves tokens of empty sessions.",
            discussion: """
                Takes --data, --journal and --session-life as the server does. A server with a data folder must not run \
                meanwhile. Servers that share a database prove their requests to each other by a key that follows from it; \
                they go on, and use the new one two minutes later. Tokens that the old \
                key proves are taken until the longest life of them is over; 'sign-out' ends them at once.
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
                throw CommandFailure("The key is the same as before. \(error)")
            }
        }
    }
}
