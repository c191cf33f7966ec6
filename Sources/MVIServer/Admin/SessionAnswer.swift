import EventStream
import MVI
import SessionJournal
import Sessions
import WireJSON

/// The JSON that describes sessions to administrators. Only `state` contains the stores' values, which are private to
/// users.
enum SessionAnswer {
    /// The maximal number of reminders in an answer.
    private static let reminderLimit = 100

    /// - Parameter namesSubject: false if the subject's name is hidden.
    static func overview(
        _ session: SessionOverview, namesSubject: Bool = true, memory: (streams: Int, stores: Int)?
    ) -> [UInt8] {
        var object = JSONObject()
        object.add("id", session.id)
        object.add(session.subject, isNamed: namesSubject, isShared: session.isShared)
        if let space = session.space { object.add("space", space.text) }
        object.add("created", time: session.created)
        object.add("lastUsed", time: session.lastSeen)
        object.add("stores", session.stores)
        object.add("bytes", session.bytes)
        if let memory {
            var here = JSONObject()
            here.add("stores", memory.stores)
            here.add("streams", memory.streams)
            object.add("memory", json: here.close())
        }
        return object.close()
    }

    /// - Parameters:
    ///   - namesSubject: false if the subject's name is hidden.
    ///   - node: this process's node; nil without a shared journal.
    ///   - now: the time since 1970.
    static func session(
        _ id: String, _ session: SessionInspection, namesSubject: Bool, node: NodeID?, now: Duration
    ) -> [UInt8] {
        let (kept, memory) = (session.kept, session.memory)
        var object = JSONObject()
        object.add("id", id)
        if let record = kept?.record {
            object.add(record.subject, isNamed: namesSubject, isShared: record.isShared)
            if let space = record.space {
                object.add("space", space.text)
            } else {
                object.add("credential", record.credential.rawValue)
            }
            object.add("created", time: record.created)
            object.add("lastUsed", time: max(record.lastSeen, memory?.lastUsed ?? .zero))
        } else if let memory {
            object.add(memory.subject, isNamed: namesSubject, isShared: memory.isShared)
            object.add("credential", memory.credential.rawValue)
            object.add("created", time: memory.created)
            object.add("lastUsed", time: memory.lastUsed)
        }
        // A session with a reminder does not expire.
        if kept == nil || session.expiresAt != nil, let expiresAt = memory?.expiresAt ?? session.expiresAt {
            object.add("expiresAt", time: expiresAt)
        }
        object.add("kept", kept != nil)
        if let damage = session.damage { object.add("damage", damage) }
        if let kept {
            object.add("epoch", kept.record.epoch)
            object.add("cursor", "\(Cursor(epoch: kept.record.epoch, sequence: kept.head.number))")
        } else if let memory {
            object.add("epoch", memory.epoch)
            object.add("cursor", "\(Cursor(epoch: memory.epoch, sequence: memory.head))")
        }
        object.add("stores", array: session.stores.map { store($0, memory) })
        object.add("labels", kept?.labels.count ?? memory?.labels ?? 0)
        object.add("receipts", kept?.receipts.count ?? memory?.receipts ?? 0)
        object.add("credentials", array: (kept?.credentials ?? []).map(credential))
        object.add("reminderCount", kept?.reminders.count ?? 0)
        object.add("reminders", array: (kept?.reminders ?? []).prefix(reminderLimit).map(reminder))
        if let owner = session.owner { object.add("owner", json: self.owner(owner)) }
        if let node { object.add("node", "\(node.number)") }
        if let memory { object.add("memory", json: self.memory(memory, now: now)) }
        return object.close()
    }

    private static func store(_ store: SessionInspection.Store, _ memory: SessionInMemory?) -> [UInt8] {
        let here = memory?.stores.first { $0.feature == store.summary.feature }
        var object = JSONObject()
        object.add("feature", store.summary.feature.text)
        object.add("version", store.summary.version)
        object.add("schemaVersion", store.schemaVersion)
        object.add("bytes", store.bytes)
        object.add("viewBytes", store.viewBytes)
        object.add("loaded", here?.isLoaded ?? false)
        object.add("runningWork", here?.runningWork ?? 0)
        return object.close()
    }

    private static func credential(_ credential: StoredCredential) -> [UInt8] {
        var object = JSONObject()
        object.add("number", credential.number)
        object.add("kind", credential.kind.rawValue)
        object.add("made", time: credential.made)
        object.add("revoked", credential.revokedUntil != nil)
        return object.close()
    }

    private static func reminder(_ reminder: StoredReminder) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", reminder.feature.text)
        object.add("id", reminder.id)
        object.add("due", time: reminder.due)
        if let message = reminder.message { object.add("to", message.feature.text) }
        return object.close()
    }

    private static func owner(_ owner: SessionInspection.Owner) -> [UInt8] {
        var object = JSONObject()
        // As a string: JavaScript would round the number.
        object.add("node", "\(owner.node.number)")
        object.add("here", owner.isHere)
        if let address = owner.address { object.add("address", address) }
        return object.close()
    }

    private static func memory(_ memory: SessionInMemory, now: Duration) -> [UInt8] {
        var object = JSONObject()
        object.add("cursor", "\(Cursor(epoch: memory.epoch, sequence: memory.head))")
        object.add("waitingJobs", memory.waitingJobs)
        object.add("waitingRequests", memory.waitingRequests)
        object.add("runningWork", memory.stores.reduce(0) { $0 + $1.runningWork })
        object.add("streams", array: memory.streams.map { stream($0, now: now) })
        return object.close()
    }

    private static func stream(_ stream: SessionInMemory.Stream, now: Duration) -> [UInt8] {
        var object = JSONObject()
        object.add("number", stream.number)
        object.add("opened", time: now - stream.age)
        if let features = stream.features { object.add("features", array: features.map { .json($0.text) }) }
        if let credential = stream.credential { object.add("credential", credential) }
        object.add("events", stream.events)
        object.add("waitingStates", stream.waitingStates)
        object.add("waitingLabels", stream.waitingLabels)
        object.add("ending", stream.isEnding)
        return object.close()
    }

    /// A stored store with its values.
    static func state(_ store: StoredStore) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", store.summary.feature.text)
        object.add("version", store.summary.version)
        object.add("sequence", store.summary.number)
        object.add("madeSequence", store.summary.made)
        object.add("schemaVersion", store.schemaVersion)
        object.add(kept: store.state, as: "state", orHex: "stateHex")
        object.add(kept: store.view, as: "view", orHex: "viewHex")
        if let intent = store.viewIntent { object.add("viewIntent", intent) }
        return object.close()
    }
}

extension JSONObject {
    fileprivate mutating func add(_ name: StaticString, time: Duration) {
        add(name, Timestamp(sinceEpoch: time).wholeSeconds)
    }

    /// Adds the session's subject, if it has one.
    fileprivate mutating func add(_ subject: Subject?, isNamed: Bool, isShared: Bool) {
        guard let subject else { return }
        var identity = JSONObject()
        identity.add("issuer", subject.issuer)
        identity.add("subject", isNamed ? subject.id : ValueShape.hiddenName)
        add("identity", json: identity.close())
        add("shared", isShared)
    }
}
