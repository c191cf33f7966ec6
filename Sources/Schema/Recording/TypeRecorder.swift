import WireJSON

/// Determines the JSON form of a type: its `init(from:)` reads sample values, and the requests are recorded.
///
/// Each type is read once, so recursive types terminate. Used by one thread.
final class TypeRecorder {
    /// A type that was read.
    struct Found {
        /// The type; nil for a nested container.
        let id: ObjectIdentifier?
        let typeName: TypeName
        fileprivate var known = TypeDefinition.Kind.alias(.any)
        fileprivate var isKnown = true
        /// The recording of a value without a type that may still be read.
        fileprivate var recording: Recording?

        var kind: TypeDefinition.Kind { recording?.kind ?? known }
        var isComplete: Bool { recording?.isComplete ?? isKnown }
    }

    /// The error for a type without a known value.
    struct NoValue: Error {}

    private(set) var found: [Found] = []
    private var places: [ObjectIdentifier: Int] = [:]
    private var values: [ObjectIdentifier: Any] = [:]
    private var refused: Set<ObjectIdentifier> = []

    /// Returns the type's JSON form.
    func describe<T: Decodable>(_ type: T.Type) -> WireType {
        if let known = (type as? any KnownType.Type)?.wireType(self) { return known }
        let id = ObjectIdentifier(type)
        if let place = places[id] { return .named(place) }
        if let reason = Self.unfitness(of: type) {
            // Read once for a value, so that the rest of its owner is read, too.
            if refused.insert(id).inserted { _ = read(type) }
            return .unfit(reason)
        }
        let place = found.count
        places[id] = place
        found.append(Found(id: id, typeName: TypeName(type)))
        let read = read(type)
        found[place].known = read.kind
        found[place].isKnown = read.isComplete
        return .named(place)
    }

    /// Adds a nested container as a type named after another one.
    func add(_ recording: Recording, named name: any Any.Type) -> WireType {
        found.append(Found(id: nil, typeName: TypeName(name), recording: recording))
        return .named(found.count - 1)
    }

    /// Returns a sample value of a described type.
    func value<T: Decodable>(of type: T.Type) throws -> T {
        if let value = (type as? any KnownType.Type)?.sample as? T { return value }
        guard let value = values[ObjectIdentifier(type)] as? T else { throw NoValue() }
        return value
    }

    /// Returns the reason why clients cannot use a type's JSON: Foundation's types write their storage.
    private static func unfitness(of type: any Any.Type) -> String? {
        let name = _typeName(type, qualified: true)
        guard
            ["Foundation", "FoundationEssentials", "FoundationInternationalization"].contains(name.prefix { $0 != "." })
        else { return nil }
        return
            "\(_typeName(type, qualified: false)) of Foundation has no JSON that other languages know; use a type of "
            + "your own"
    }

    private func read<T: Decodable>(_ type: T.Type) -> (kind: TypeDefinition.Kind, isComplete: Bool) {
        if let list = EnumValues.all(of: type) {
            values[ObjectIdentifier(type)] = list.first
            return (.values(list.values), true)
        }
        var best: Recording?
        for sample in SampleScalar.all {
            let recording = Recording(self, sample, owner: type)
            let isRead = attempt(type, recording)
            if let cases = recording.keyed?.caseNames { return readCases(type, cases, sample) }
            guard isRead else {
                if recording.size > best?.size ?? -1 { best = recording }
                continue
            }
            if let wrong = sample.wrong, recording.isScalar, accepts(type, wrong) { recording.dropFormat() }
            if recording.isScalar, triesOtherTypes(type) { return (.alias(.any), true) }
            // An array whose element has no known value is read without elements.
            let fullest = best.map { $0.size > recording.size ? $0 : recording } ?? recording
            return (fullest.kind, fullest.isComplete)
        }
        // All samples were rejected. Only the first requests are known.
        guard let best else { return (.alias(.any), false) }
        best.keyed?.addMissingKeys()
        return (best.kind, best.isScalar && best.isComplete)
    }

    /// Returns true if a type that reads a single value requests another type after a mismatch.
    private func triesOtherTypes<T: Decodable>(_ type: T.Type) -> Bool {
        let recording = Recording(self, SampleScalar.all[0], owner: type)
        recording.refusesSingleValues = true
        _ = try? T(from: RecordingDecoder(recording: recording))
        return recording.singleRequests > 1
    }

    /// Returns true if the type accepts a text that is not of the format that it seems to want: it wants something else,
    /// such as a number of letters.
    private func accepts<T: Decodable>(_ type: T.Type, _ text: String) -> Bool {
        let sample = SampleScalar(text: text, number: 1, format: nil)
        return (try? T(from: RecordingDecoder(recording: Recording(self, sample, owner: type)))) != nil
    }

    /// Returns true if the type accepts the sample, whose value is then known.
    private func attempt<T: Decodable>(_ type: T.Type, _ recording: Recording) -> Bool {
        guard let value = try? T(from: RecordingDecoder(recording: recording)) else { return false }
        let id = ObjectIdentifier(type)
        if values[id] == nil { values[id] = value }
        return true
    }

    /// Reads each case separately, and again if its value contains the enum itself.
    private func readCases<T: Decodable>(
        _ type: T.Type, _ names: [String], _ sample: SampleScalar
    ) -> (kind: TypeDefinition.Kind, isComplete: Bool) {
        var cases = names.map { TypeDefinition.Case(name: $0, members: [], isComplete: false) }
        var open = Array(cases.indices)
        var isProgress = true
        while isProgress {
            isProgress = false
            for place in open {
                let recording = Recording(self, sample, owner: type)
                recording.caseName = names[place]
                let isRead = attempt(type, recording)
                recording.keyed?.addMissingPayloadKeys(unless: isRead)
                cases[place].members = recording.keyed?.members ?? []
                guard isRead else { continue }
                cases[place].isComplete = recording.isComplete
                open.removeAll { $0 == place }
                isProgress = true
            }
        }
        return (.cases(cases), open.isEmpty)
    }
}

/// A sample string and number that a type may accept.
struct SampleScalar {
    let text: String
    let number: Int
    /// The JSON Schema format of a string that is accepted after the previous ones were rejected.
    let format: String?
    /// A text of the same length and with the same signs that is not of the format.
    var wrong: String?

    /// In the order of the attempts. The first is 1, which few computations trap on.
    static let all = [
        SampleScalar(text: "a", number: 1, format: nil),
        SampleScalar(text: "", number: 0, format: nil),
        SampleScalar(text: "1", number: 2, format: nil),
        SampleScalar(text: "2026-01-31T23:59:59Z", number: 1, format: "date-time", wrong: "abcd-ef-ghTij:kl:mnZ"),
        SampleScalar(text: "2026-01-31", number: 1, format: "date", wrong: "abcd-ef-gh"),
        SampleScalar(
            text: "00000000-0000-4000-8000-000000000000", number: 1, format: "uuid",
            wrong: "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"),
        SampleScalar(text: "https://example.com/", number: 1, format: "uri", wrong: "https:// [example] /"),
        SampleScalar(text: "1.5", number: 1, format: nil),
        SampleScalar(text: "en", number: 1, format: nil),
        SampleScalar(text: "EUR", number: 1, format: nil),
    ]
}
