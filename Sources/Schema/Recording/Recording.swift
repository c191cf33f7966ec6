/// The requests of a type while it read one value.
final class Recording {
    let recorder: TypeRecorder
    let sample: SampleScalar
    /// The type that is read; `Void` for values without a type, such as nested containers.
    let owner: any Any.Type
    /// The case that an enum receives.
    var caseName: String?
    /// True if each single value has the wrong type.
    var refusesSingleValues = false
    /// The number of requested single values.
    private(set) var singleRequests = 0

    private(set) var keyed: KeyedRecording?
    private var single: WireType?
    private var isNullable = false
    private var elements: [WireType]?

    init(_ recorder: TypeRecorder, _ sample: SampleScalar, owner: any Any.Type) {
        (self.recorder, self.sample, self.owner) = (recorder, sample, owner)
    }

    /// The number of requests.
    var size: Int { (keyed?.members.count ?? 0) + (single == nil ? 0 : 1) + (elements?.count ?? 0) }

    /// True for a single value, false for an object or an array.
    var isScalar: Bool { single != nil && keyed == nil && elements == nil }

    /// True if the whole contents of its container are known.
    var isComplete: Bool { keyed?.isComplete ?? (elements?.isEmpty != true) }

    var kind: TypeDefinition.Kind {
        if let keyed { return keyed.kind }
        if let elements {
            let first = elements.first ?? .any
            return .alias(.array(elements.allSatisfy { $0 == first } ? first : .any))
        }
        guard let single else { return .object([]) }
        return .alias(isNullable ? .nullable(single) : single)
    }

    func beginObject(_ keys: ClosedKeys?) -> KeyedRecording {
        if let keyed { return keyed }
        let new = KeyedRecording(self, keys)
        keyed = new
        return new
    }

    func beginArray() { if elements == nil { elements = [] } }

    func note(element: WireType) { elements?.append(element) }

    func noteNil() { isNullable = true }

    func note(single type: WireType) throws {
        singleRequests += 1
        if single == nil { single = type }
        if refusesSingleValues { throw TypeRecorder.NoValue() }
    }

    /// Notes that a text needs no format.
    func dropFormat() {
        if case .string? = single { single = .string(format: nil) }
    }

    /// Returns a type for a nested container.
    func nested(named name: any Any.Type) -> (recording: Recording, type: WireType) {
        let nested = Recording(recorder, sample, owner: Void.self)
        return (nested, recorder.add(nested, named: name))
    }
}

/// The names of a type's coding keys, if the type accepts no others.
struct ClosedKeys {
    let names: [String]
    /// True for the cases of an enum.
    let areCases: Bool
}

/// The requests of a type for one object.
final class KeyedRecording {
    private unowned let recording: Recording
    private let keys: ClosedKeys?
    private(set) var members: [TypeDefinition.Member] = []
    /// The cases, for an enum with a synthesized conformance.
    private(set) var caseNames: [String]?
    private var payloadKeys: [String] = []
    /// True if the member names are not fixed.
    private var isOpen = false
    private var testedNames: Set<String> = []
    private var isPatched = false

    /// The member name of a sample object with any names.
    static let openName = "key"

    init(_ recording: Recording, _ keys: ClosedKeys?) { (self.recording, self.keys) = (recording, keys) }

    var isComplete: Bool { !isPatched }

    var kind: TypeDefinition.Kind {
        guard isOpen else { return .object(members) }
        guard members.count <= 1 else { return .alias(.any) }
        return .alias(.dictionary(members.first?.type ?? .any))
    }

    /// Returns the names of the sample object, when all of its keys are requested.
    func allNames() -> [String] {
        guard let keys else {
            isOpen = true
            return [Self.openName]
        }
        return keys.areCases ? Array(keys.names.filter { $0 == chosenCase }) : keys.names
    }

    private var chosenCase: String? { recording.caseName ?? keys?.names.first }

    /// Begins the values of a case.
    func beginPayload(_ names: [String]) {
        caseNames = keys?.names ?? []
        payloadKeys = names
    }

    /// Notes a test for the member, which may thus be absent.
    func test(_ name: String) { testedNames.insert(name) }

    func note(_ name: String, _ type: WireType, isOptional: Bool, isUnlabelled: Bool = false) {
        guard !members.contains(where: { $0.name == name }) else { return }
        var (type, isOptional) = (type, isOptional || testedNames.contains(name))
        if isOptional, case .nullable(let wrapped) = type { type = wrapped }
        if case .never = type { isOptional = true }
        members.append(
            TypeDefinition.Member(name: name, type: type, isOptional: isOptional, isUnlabelled: isUnlabelled))
    }

    /// Adds members that a type did not reach, since a value before had no sample.
    func addMissingKeys() {
        guard let keys, !keys.areCases else { return isPatched = true }
        add(keys.names)
    }

    /// Adds such members of a case.
    func addMissingPayloadKeys(unless isRead: Bool) {
        if !isRead { add(payloadKeys) }
    }

    private func add(_ names: [String]) {
        isPatched = true
        for name in names { note(name, .any, isOptional: true) }
    }
}
