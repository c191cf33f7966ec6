import ArgumentParser
import MVI
import SessionJournal
import Sessions

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `export SESSION`: prints everything that is stored of a session.
struct ExportCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Print everything that is stored of a session as JSON.",
            discussion: """
                Takes --data and --journal like the server, which may run. Changes nothing. The format is \
                mvi-session/1 of docs/fixtures.md; `replay` and tests replay recorded turns (--record-turns). With \
                --sample, writes so many sessions by chance into the folder --into. The documents contain data of \
                the sessions' users: protect them. With --redacted, they have only stores and recorded turns, with \
                pseudonyms in the place of subjects and of each `Secret`, and numbers in the place of ids and keys.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "The session's public id, as `sessions` lists it.") var session: String?

    @Option(help: "The number of sessions to write.") var sample: Int?

    @Option(help: "The folder to write into, created if it is missing.") var into: String?

    @Flag(help: "Write only stores and recorded turns, with pseudonyms for secrets and subjects.") var redacted = false

    func validate() throws {
        guard (session != nil) != (sample != nil), (sample != nil) == (into != nil), sample.map({ $0 > 0 }) != false
        else {
            throw ValidationError("Give either a session, or --sample with a number and --into with a folder.")
        }
    }

    func run() async throws {
        try await reporting {
            let journal = try program.journal()
            let redaction = redacted ? Redaction(try await program.registry()) : nil
            if let sample, let into {
                let count = try Export.write(sample: sample, of: journal, into: into, redaction)
                _ = try StandardOutput.put(Array("\(into): \(count) sessions\n".utf8))
            } else {
                _ = try StandardOutput.put(try Export.document(of: session ?? "", in: journal, redaction))
            }
        }
    }
}

/// The removal of secrets and ids from exports.
struct Redaction {
    private let features: FeatureRegistry

    init(_ features: FeatureRegistry) { self.features = features }

    /// - Parameter number: the session's id in the result.
    func of(_ export: SessionExport, number: Int = 1) -> SessionExport {
        let (redacted, unreadable) = export.redacted(by: features, number: number)
        if unreadable > 0 {
            let id = export.session.record.id
            StandardError.say(
                "left out \(unreadable) stores and turns of \(id) that this build cannot read", by: "export")
        }
        return redacted
    }
}

/// Exports sessions as documents.
enum Export {
    /// Writes sessions, each with the same chance, into files of a folder that are named by their ids. Returns their
    /// number.
    static func write(
        sample count: Int, of journal: any JournalInspection, into folder: String, _ redaction: Redaction? = nil
    ) throws(CommandFailure) -> Int {
        // Reservoir sampling (Vitter 1985, algorithm R).
        var (chosen, seen, last): ([String], Int, SessionKey?) = ([], 0, nil)
        while true {
            let sessions: [SessionOverview]
            do throws(StoreError) { sessions = try journal.sessions(after: last, limit: SessionList.step) } catch {
                throw CommandFailure("\(error)")
            }
            guard let newest = sessions.last else { break }
            last = newest.key
            for session in sessions {
                seen += 1
                if chosen.count < count {
                    chosen.append(session.id)
                } else if case let place = Int.random(in: 0..<seen), place < count {
                    chosen[place] = session.id
                }
            }
        }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure("The folder '\(folder)' cannot be created: \(FilePath.reason(errno)).")
        }
        var written = 0
        for id in chosen {
            do throws(StoreError) {
                // Nil if it has ended meanwhile.
                guard let export = try journal.export(id) else { continue }
                written += 1
                try PrivateFile.write(
                    SessionDocument.write(redaction?.of(export, number: written) ?? export),
                    to: "\(folder)/\(redaction == nil ? id : "\(written)").json", replacing: true)
            } catch {
                throw CommandFailure("\(error)")
            }
        }
        return written
    }

    static func document(
        of session: String, in journal: any JournalInspection, _ redaction: Redaction? = nil
    ) throws -> [UInt8] {
        let export: SessionExport?
        do throws(StoreError) {
            export = try journal.export(session)
        } catch {
            throw CommandFailure("\(error)")
        }
        guard let export else {
            throw CommandFailure(
                "There is no session '\(session)' in '\(journal.place)'. The command `sessions` lists all sessions."
            )
        }
        return SessionDocument.write(redaction?.of(export) ?? export)
    }
}
