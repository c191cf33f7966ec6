import MVI
import WireJSON

/// A session with recorded turns, read from an export.
package struct RecordedSession: Sendable {
    /// The format of the exports: their `format` member.
    package static let format = "mvi-session/1"

    /// A number of a turn or a version of a store: below 2^63, as in journals, so that the next number exists.
    private struct Number: Decodable {
        let value: UInt64

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = try container.decode(UInt64.self)
            guard value <= UInt64(Int64.max) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "numbers of turns and versions are below 2^63")
            }
        }
    }

    /// A store at the time of the export.
    package struct Store: Decodable, Sendable {
        package let feature: String
        package let schemaVersion: Int
        package let version: UInt64
        /// The numbers of its last turn and of the one that made it; nil if a test recorded it.
        package let sequence: UInt64?
        package let madeSequence: UInt64?
        package let state: JSONText

        private enum Member: CodingKey { case feature, schemaVersion, version, sequence, madeSequence, state }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            feature = try members.decode(String.self, forKey: .feature)
            schemaVersion = try members.decode(Int.self, forKey: .schemaVersion)
            version = try members.decode(Number.self, forKey: .version).value
            sequence = try members.decodeIfPresent(Number.self, forKey: .sequence)?.value
            madeSequence = try members.decodeIfPresent(Number.self, forKey: .madeSequence)?.value
            state = try members.decode(JSONText.self, forKey: .state)
        }
    }

    package struct Turn: Decodable, Sendable {
        package let sequence: UInt64
        package let feature: String
        /// Nil if the stored recording is not JSON.
        package let recording: JSONText?

        private enum Member: CodingKey { case sequence, feature, recording }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            sequence = try members.decode(Number.self, forKey: .sequence).value
            feature = try members.decode(String.self, forKey: .feature)
            recording = try members.decodeIfPresent(JSONText.self, forKey: .recording)
        }
    }

    private struct Session: Decodable {
        let id: String
        let subject: Subject?
    }

    private struct Export: Decodable {
        let format: String
        let session: Session?
        let stores: [Store]
        let turns: [Turn]
    }

    private struct Format: Decodable { let format: String }

    /// The session's public id; nil if a test recorded it.
    package let id: String?
    package let subject: Subject?
    package let stores: [Store]
    /// Oldest first.
    package let turns: [Turn]

    /// Reads an export.
    ///
    /// - Throws: `NotRecorded` with a sentence if it is none.
    package init(_ bytes: [UInt8]) throws(NotRecorded) {
        let format = try Self.read(Format.self, bytes).format
        guard format == Self.format else {
            throw NotRecorded("has the format \"\(format)\"; this version reads \"\(Self.format)\".")
        }
        let export = try Self.read(Export.self, bytes)
        (id, subject, stores) = (export.session?.id, export.session?.subject, export.stores)
        turns = export.turns.sorted { $0.sequence < $1.sequence }
    }

    private static func read<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(NotRecorded) -> T {
        do throws(WireDecodingError) { return try WireJSON.decode(type, from: bytes) } catch {
            throw NotRecorded("is not an exported session: \(error)")
        }
    }

    /// The feature instances with recorded turns, in the order of their first one.
    package var instances: [String] {
        var (found, known) = ([String](), Set<String>())
        for turn in turns where known.insert(turn.feature).inserted { found.append(turn.feature) }
        return found
    }
}

/// The reason why a document is not a recorded session, without its subject.
package struct NotRecorded: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
