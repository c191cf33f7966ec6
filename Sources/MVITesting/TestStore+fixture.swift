import MVI
import SessionJournal
import Testing
import WireJSON

extension TestStore where F.Message: Codable, F.Action: Codable {
    /// Returns the turns of the session so far. Saved as a file, later tests replay them to check that a changed
    /// reducer still produces the same states.
    ///
    /// ```swift
    /// try await Data(store.fixture().json).write(to: url)
    /// // Later, in a test of its own:
    /// try Fixture(Array(Data(contentsOf: url))).replay(Counter())
    /// ```
    ///
    /// - Throws: ``FixtureError`` if the session was not created, which has failed the test, or has ended.
    public func fixture(sourceLocation: SourceLocation = #_sourceLocation) async throws(FixtureError) -> Fixture {
        await settle(sourceLocation)
        guard let export = world?.export else {
            throw FixtureError("The test's session has no turns: it was not created, or has ended.")
        }
        return try Fixture(Fixture.document(of: export))
    }
}

extension Fixture {
    /// Returns the parts of an export that a fixture reads, in the form of `docs/fixtures.md`.
    fileprivate static func document(of export: SessionExport) -> [UInt8] {
        let stores = export.stores.map { store in
            let version = "\"schemaVersion\":\(store.schemaVersion),\"version\":\(store.summary.version)"
            return line(store.summary.feature, "\(version),\"state\":", store.state)
        }
        let turns = export.turns.map { turn in
            let time = "\"sequence\":\(turn.number),\"time\":\"\(Timestamp(sinceEpoch: turn.time))\""
            return line(turn.feature, "\(time),\"recording\":", turn.recording)
        }
        return Array("{\"format\":\"\(format)\",\"stores\":[".utf8) + stores.joined(separator: ",".utf8)
            + "],\"turns\":[".utf8 + turns.joined(separator: ",".utf8) + "]}\n".utf8
    }

    /// Returns an element on its own line.
    private static func line(_ feature: FeatureID, _ members: String, _ json: [UInt8]) -> [UInt8] {
        var line = Array("\n{\"feature\":".utf8)
        WireJSON.appendString(feature.text, to: &line)
        return line + ",\(members)".utf8 + json + "}".utf8
    }
}
