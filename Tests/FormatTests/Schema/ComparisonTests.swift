import Testing

@testable import Schema

/// Two builds of a server, and the changes between them that break installed apps.
@Suite("What breaks installed apps")
struct ComparisonTests {
    private enum Color: String, Codable { case red, green }
    private enum MoreColors: String, Codable { case red, green, blue }
    private enum Phase: Codable { case open(count: Int), closed }
    private enum MorePhases: Codable { case open(count: Int), closed, paused(since: Int) }
    private enum OtherPhase: Codable { case open(count: Int, by: String), closed }
    private enum OptionalPhase: Codable { case open(count: Int, by: String?), closed }
    private struct Old: Codable {
        var count: Int32
        var note: String?
        var color: Color
        var rows: [Row]
    }
    private struct Row: Codable { var title: String }
    private struct Grown: Codable {
        var count: Int32
        var note: String?
        var color: Color
        var rows: [Row]
        var extra: Int
    }
    private struct Shrunk: Codable {
        var note: String?
        var color: Color
        var rows: [Row]
    }
    private struct Changed: Codable {
        var count: Int
        var color: MoreColors
        var rows: [OtherRow]
    }
    private struct OtherRow: Codable { var title: String? }
    private struct Retyped: Codable {
        var count: String
        var note: String
        var color: Color?
        var rows: [String: Row]
    }
    private struct Tree: Codable { var children: [Tree] }
    private enum Loud: Codable { case beep(times: Int) }
    private enum Louder: Codable { case beep(times: Int), flash }
    private enum Silent: Codable { case beep(count: Int) }

    private func documents(
        _ state: any Decodable.Type = Int.self, intent: any Decodable.Type = Never.self,
        label: any Decodable.Type = Never.self, isKeyed: Bool = false, name: String = "probe"
    ) throws -> SchemaDocuments {
        let shape = FeatureShape(
            name: name, isKeyed: isKeyed, summary: "", state: state, intent: intent, label: label)
        return try SchemaDocuments(
            SchemaTree.object([(name, JSONSchema(shape).document(maker: "test"))]).lines())
    }

    private func broken(_ old: SchemaDocuments, _ new: SchemaDocuments, open: Bool = false) -> [String] {
        SchemaComparison(openEnums: open).breakingChanges(from: old, to: new).map { String($0.dropFirst(7)) }
    }

    @Test func `a state may gain members, and lose optional ones`() throws {
        #expect(try broken(documents(Old.self), documents(Grown.self)).isEmpty)
        #expect(try broken(documents(Old.self), documents(Old.self)).isEmpty)
        #expect(try broken(documents(Old.self), documents(Shrunk.self)) == ["state/count is gone."])
    }

    @Test func `a state's members keep their types`() throws {
        #expect(
            try broken(documents(Old.self), documents(Changed.self)) == [
                #"state/color has a new value "blue"."#, "state/count has a wider range.",
                "state/rows/*/title can be absent.",
            ])
        #expect(
            try broken(documents(Old.self), documents(Retyped.self)) == [
                "state/color can be absent.", "state/count was an integer and is a text.",
                "state/rows was a list and is a dictionary.",
            ])
        #expect(try broken(documents(Double.self), documents(Int.self)).isEmpty)
        #expect(try broken(documents(UInt8.self), documents(UInt16.self)) == ["state has a wider range."])
        #expect(
            try broken(documents(Int.self), documents(Double.self)) == ["state was an integer and is a number."])
        #expect(try broken(documents([Int].self), documents([Int?].self)) == ["state/* can be null."])
        #expect(try broken(documents([Int?].self), documents([Int].self)).isEmpty)
    }

    @Test func `a state's new case breaks closed enums only`() throws {
        let (old, new) = (try documents(Phase.self), try documents(MorePhases.self))
        #expect(broken(old, new) == ["state(paused) is a new case."])
        #expect(broken(old, new, open: true).isEmpty && broken(new, old).isEmpty)
        #expect(try broken(documents(Old.self), documents(Changed.self), open: true).count == 2)
        #expect(try broken(documents(OtherPhase.self), documents(Phase.self)) == ["state(open)/by is gone."])
    }

    @Test func `an intent may gain cases and optional members`() throws {
        let old = try documents(intent: Phase.self)
        #expect(try broken(old, documents(intent: MorePhases.self)).isEmpty)
        #expect(try broken(old, documents(intent: OptionalPhase.self)).isEmpty)
        #expect(try broken(documents(intent: MorePhases.self), old) == ["intent(paused) is gone."])
        #expect(try broken(old, documents(intent: OtherPhase.self)) == ["intent(open)/by is new and required."])
        #expect(
            try broken(documents(intent: OptionalPhase.self), documents(intent: OtherPhase.self)) == [
                "intent(open)/by is required."
            ])
        #expect(try broken(documents(intent: OtherPhase.self), old).isEmpty)
        // Open enums are received only.
        #expect(try broken(documents(intent: MorePhases.self), old, open: true).count == 1)
    }

    @Test func `an intent's members accept what they did`() throws {
        #expect(try broken(documents(intent: Old.self), documents(intent: Changed.self)) == [])
        #expect(
            try broken(documents(intent: Changed.self), documents(intent: Old.self)) == [
                #"intent/color has no value "blue" any more."#, "intent/count has a narrower range.",
                "intent/rows/*/title is required.",
            ])
    }

    @Test func `a label that an app does not know is left out, others stay readable`() throws {
        let old = try documents(label: Loud.self)
        #expect(try broken(old, documents(label: Louder.self)).isEmpty)
        #expect(try broken(documents(), old).isEmpty)
        #expect(try broken(old, documents(label: Silent.self)) == ["label(beep)/times is gone."])
    }

    @Test func `a feature stays, and its stores keep having a key or none`() throws {
        #expect(
            SchemaComparison(openEnums: false).breakingChanges(from: try documents(), to: try documents(name: "other"))
                == ["probe: The feature is gone."])
        #expect(try broken(documents(), documents(isKeyed: true)) == ["Its stores have a key now."])
        #expect(try broken(documents(isKeyed: true), documents()) == ["Its stores have no key any more."])
    }

    @Test func `types that contain themselves are compared`() throws {
        #expect(try broken(documents(Tree.self), documents(Tree.self)).isEmpty)
    }

    @Test(arguments: ["", "[]", "7", #"{"counter": {}}"#, "openapi: 3.1.0"])
    func `another text is refused`(text: String) {
        #expect(throws: (any Error).self) { try SchemaDocuments(text) }
    }
}
