/// The requests of a type while it decoded one value.
final class Recording {
    let recorder: TypeRecorder
    let sample: SampleScalar
    /// The type that is read; `Void` for what has none of its own, such as a nested container.
    let owner: any Any.Type
    /// The case that an enum is told it has.
    var caseName: String?
    /// True if each single value is of the wrong type.
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

    /// True if it is one value, not an object or an array.
    var isScalar: Bool { single != nil && keyed == nil && elements == nil }

    /// True if all was found that its container has.
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

    /// A type for a container in a container.
    func nested(named name: any Any.Type) -> (recording: Recording, type: WireType) {
        let nested = Recording(recorder, sample, owner: Void.self)
        return (nested, recorder.add(nested, named: name))
    }
}

/// The names of a type's coding keys, where the type takes no others.
struct ClosedKeys {
    let names: [String]
    /// True if they are the cases of an enum.
    let areCases: Bool
}

/// The requests of a type for one object.
final class KeyedRecording {
    private unowned let recording: Recording
    private let keys: ClosedKeys?
    private(set) var members: [TypeDefinition.Member] = []
    /// The cases, if it is an enum that the compiler codes.
    private(set) var caseNames: [String]?
    private var payloadKeys: [String] = []
    /// True if its names are not fixed.
    private var isOpen = false
    private var testedNames: Set<String> = []
    private var isPatched = false

    /// The placeholder of a member in an object with arbitrary names.
    static let openName = "key"

    init(_ recording: Recording, _ keys: ClosedKeys?) { (self.recording, self.keys) = (recording, keys) }

    var isComplete: Bool { !isPatched }

    var kind: TypeDefinition.Kind {
        guard isOpen else { return .object(members) }
        guard members.count <= 1 else { return .alias(.any) }
        return .alias(.dictionary(members.first?.type ?? .any))
    }

    /// The names that the object is shown as having, asked for with all its keys.
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

    /// Returns true if the member was asked about: it may be absent.
    func test(_ name: String) { testedNames.insert(name) }

    func note(_ name: String, _ type: WireType, isOptional: Bool, isUnlabelled: Bool = false) {
        guard !members.contains(where: { $0.name == name }) else { return }
        var (type, isOptional) = (type, isOptional || testedNames.contains(name))
        if isOptional, case .nullable(let wrapped) = type { type = wrapped }
        if case .never = type { isOptional = true }
        members.append(
            TypeDefinition.Member(name: name, type: type, isOptional: isOptional, isUnlabelled: isUnlabelled))
    }

    /// Members that a type did not come to, for want of a value of one before.
    func addMissingKeys() {
        guard let keys, !keys.areCases else { return isPatched = true }
        add(keys.names)
    }

    /// The same for a case.
    func addMissingPayloadKeys(unless isRead: Bool) {
        if !isRead { add(payloadKeys) }
    }

    private func add(_ names: [String]) {
        isPatched = true
        for name in names { note(name, .any, isOptional: true) }
    }
}
