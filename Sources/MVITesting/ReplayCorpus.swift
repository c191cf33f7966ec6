import MVI
import Sessions

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A folder with sessions that a server recorded and exported. A test replays all of them with the features of today.
///
/// ```swift
/// @Test func `production is as it was`() throws {
///     let corpus = try ReplayCorpus("Fixtures/sessions")
///     let count = try corpus.replay(Counter(), Order(services: .none))
///     #expect(count.compared > 0)
/// }
/// ```
///
/// `mvi-server export --sample 200 --into DIR` fills the folder. States and view states are compared for all turns. Turns of
/// intents, actions and reminders also run again, with the recorded time, UUIDs, sender and views of other stores: their
/// actions, messages, labels, sends and launched work are compared. Launched work, checks and interceptors do not run.
///
/// The sender's claims and the running work are not recorded: turns that ask for them may differ. One value stands for all
/// keys of a keyed feature; `mvi-server replay` makes one for each key.
public struct ReplayCorpus: Sendable {
    /// The numbers of a replay's turns.
    public struct Count: Sendable, Equatable {
        /// The turns whose states agree.
        public var turns = 0
        /// The turns that ran again and agree.
        public var compared = 0
        /// The turns that could not run again, because the state before, or a store that they read, is not recorded.
        public var skipped = 0
    }

    /// The recorded sessions, by file name.
    private let sessions: [(file: String, fixture: Fixture)]

    /// Reads the `.json` files of a folder.
    ///
    /// - Throws: ``FixtureError`` for a file that is not an export, or if there is none; the error of the file system.
    public init(_ folder: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
        guard !names.isEmpty else { throw FixtureError("The folder \(folder) has no .json file.") }
        sessions = try names.sorted().map { name in
            let bytes = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
            do { return (name, try Fixture(bytes)) } catch { throw FixtureError("\(name): \(error)") }
        }
    }

    /// Replays all stores of the features, and those of all keys of a keyed feature.
    ///
    /// - Parameter feature: the features. Their services are not called.
    /// - Returns: the numbers of turns.
    /// - Throws: ``FixtureError`` with the first difference of each store, also if a feature has no recorded turn.
    @discardableResult
    public func replay<each F: Feature>(_ feature: repeat each F) throws(FixtureError) -> Count {
        var readers: [String: RerunHost.Reader] = [:]
        for feature in repeat each feature { Self.add(feature, to: &readers) }
        let host = RerunHost(readers)
        var count = Count()
        var faults: [String] = []
        for feature in repeat each feature { replay(feature, host, &count, &faults) }
        guard faults.isEmpty else { throw FixtureError(faults.joined(separator: "\n\n")) }
        return count
    }

    private static func add<F: Feature>(_ feature: F, to readers: inout [String: RerunHost.Reader]) {
        readers[F.name] = RerunHost.reader(feature)
    }

    private func replay<F: Feature>(_ feature: F, _ host: RerunHost, _ count: inout Count, _ faults: inout [String]) {
        var isThere = false
        for (file, fixture) in sessions {
            for instance in fixture.session.instances where instance.prefix(while: { $0 != ":" }) == F.name {
                isThere = true
                do throws(Replay<F>.Fault) {
                    var skipped = 0
                    let states = try Replay(feature, instance: instance, of: fixture.session).run { _ in skipped += 1 }
                    count.turns += states.count - skipped
                } catch {
                    faults.append("\(file), \(instance): \(FixtureError(error))")
                    continue
                }
                do throws(RerunDifference) {
                    let rerun = try Rerun(feature, instance: instance, of: fixture.session, host: host).run()
                    count.compared += rerun.compared
                    count.skipped += rerun.skipped
                } catch {
                    faults.append(
                        """
                        \(file), \(instance): Turn \(error.turn) differs in its \(error.what) (- recorded, + run again):
                        - \(String(decoding: error.recorded, as: UTF8.self))
                        + \(String(decoding: error.rerun, as: UTF8.self))
                        """)
                }
            }
        }
        if !isThere { faults.append("No session has a recorded turn of the feature \"\(F.name)\".") }
    }
}
