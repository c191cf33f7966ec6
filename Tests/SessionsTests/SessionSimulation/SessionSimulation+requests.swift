import Locking
import MVI
import SessionJournal
import WireJSON

@testable import Sessions

extension ChoreBuild {
    /// The stores that a session may have.
    static let all = [desk, drawers[0], drawers[1], vault]
}

/// Requests of clients and of code outside the features.
extension SessionSimulation {
    /// Starts a request whose result goes to the inbox.
    func begin(_ what: String) -> Question {
        lastQuestion += 1
        let question = Question(number: lastQuestion, what: what, life: life, session: session.key)
        asked.insert(question)
        return question
    }

    /// Finds a device's session, as the endpoints do.
    private func find(
        _ device: Device, _ refuse: @escaping @Sendable (StoreError) -> Void,
        _ body: @escaping @Sendable (Session, Credential?) -> Void
    ) {
        process.table.find(device.token) { found in
            switch found {
            case .live(let session, let credential): body(session, credential)
            case .failed(let error), .damaged(_, let error): refuse(error)
            case .ended, .unknown: refuse(.sessionEnded)
            }
        }
    }

    // MARK: Intents

    func intend(_ device: Device) {
        guard !device.isGone, device.requests.count < 5, lastNumber < 120 else { return }
        add(intent(), to: feature(), of: device)
        send(device)
    }

    private func add(_ intent: ChoreIntent, to feature: FeatureID, of device: Device, isNamed: Bool? = nil) {
        let hasKey = isNamed ?? chance(2, of: 3)
        device.add(
            intent, to: feature, key: hasKey ? "k\(intent.number)" : nil, wait: chance(1, of: 4) ? .seconds(10) : nil)
    }

    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func feature() -> FeatureID {
        let number = random.next() % 8
        let feature = ChoreBuild.all[number < 3 ? 0 : number < 5 ? 1 : number < 6 ? 2 : 3]
        return isRetired(feature) ? ChoreBuild.desk : feature
    }

    private func intent() -> ChoreIntent {
        let number = nextNumber()
        let fates: [ChoreFate] = [
            .well, .well, .says, .says, .whispers, .works, .works, .stays, .fails, .refuses, .fills, .spoils,
        ]
        switch random.next() % 20 {
        case 0..<9: return .act(number: number, fate: any(fates))
        case 9..<12: return .pass(number: number, fate: any(fates + (chance(1, of: 6) ? [.loops] : [.reminds])))
        case 12: return .relay(number: number)
        case 13: return .look(number: number)
        case 14: return .ask(number: number, seconds: any([1, 1, 7]))
        case 15: return .hush(number: number, id: any(["r0", "r1"]))
        case 16: return .act(number: number, fate: .reminds)
        default:
            let fates: [ChoreFate] = [.well, .well, .again, .says, .fails, .refuses, .fills, .spoils, .works]
            return .remind(
                number: number, id: any(["r0", "r1"]), after: Int(random.next() % 12),
                fate: any(chance(1, of: 12) ? [.loops] : fates), passes: chance(1, of: 3))
        }
    }

    func send(_ device: Device) {
        guard !device.isGone, let request = device.next() else { return }
        let (number, question) = (request.intent.number, begin("the intent \(request.intent)"))
        tell("device \(device.number) sends \(request.intent) to \(request.feature)")
        log.sent(request.intent, to: request.feature, changes: session.settledChanges)
        let body = (try? WireJSON.encode(request.intent)) ?? []
        let (place, log, hooks) = (device.number, log, hooks)
        find(device) { [inbox] in
            inbox.put(.answer(device: place, number: number, .failure($0)), for: question)
        } _: { [inbox] session, credential in
            session.send(
                IntentRequest(
                    body: body, name: request.key.map { .key($0) }, wait: request.wait,
                    client: SessionClient(credential)), to: request.feature
            ) { result in
                if case .success(let outcome) = result, outcome.isSettled, !outcome.isReplayed, request.wait != nil,
                    hooks.isCounting
                {
                    log.settled(number)
                }
                inbox.put(.answer(device: place, number: number, result), for: question)
            }
        }
    }

    /// Sends more intents than may wait, together with other requests.
    func burst(_ device: Device) {
        guard lastNumber < 120, !device.isGone else { return }
        for _ in 0..<10 {
            add(.act(number: nextNumber(), fate: .well), to: ChoreBuild.desk, of: device, isNamed: false)
            send(device)
        }
        switch random.next() % 3 {
        case 0: openStream(device)
        case 1: readView(device)
        default: deliver()
        }
    }

    /// Delivers an intent as a webhook or a background job does.
    func deliver(_ intent: ChoreIntent? = nil, to feature: FeatureID? = nil, hasLimit: Bool = true) {
        guard lastNumber < 120 || !hasLimit, !session.isEnding else { return }
        let fates: [ChoreFate] = [.well, .says, .says, .works, .stays]
        let intent = intent ?? .act(number: nextNumber(), fate: any(fates))
        let (feature, question) = (feature ?? self.feature(), begin("the delivery of \(intent)"))
        tell("\(intent) is delivered to \(feature)")
        log.sent(intent, to: feature, changes: session.settledChanges)
        let delivery = builds[build].delivery(intent, feature)
        process.table.find(session.token) { [inbox] found in
            guard case .live(let session, _) = found else {
                return inbox.put(.delivered(number: intent.number, .failure(.evicted)), for: question)
            }
            session.deliver(delivery, to: feature, once: nil, makesStore: true) {
                inbox.put(.delivered(number: intent.number, $0), for: question)
            }
        }
    }

    // MARK: Stores

    func dispose(_ feature: FeatureID, _ device: Device) {
        guard !device.isGone else { return }
        let question = begin("the disposal of \(feature)")
        tell("device \(device.number) disposes of \(feature)")
        log.removalBegan(feature)
        find(device) { [inbox] in
            inbox.put(.removal(feature, .failure($0)), for: question)
        } _: {
            [inbox] session, credential in
            session.removeStore(feature, for: SessionClient(credential)) {
                inbox.put(.removal(feature, $0), for: question)
            }
        }
    }

    /// Reads a state, or waits until it changes.
    func readView(_ device: Device) {
        guard !device.isGone else { return }
        let (feature, place, waits) = (feature(), device.number, chance(1, of: 2))
        let refused = feature == ChoreBuild.vault && device.isExcluded ? device.changeCount : nil
        let question = begin(refused == nil ? "a read of \(feature)" : "a forbidden read")
        find(device) { [inbox] in
            inbox.put(.view(device: place, feature, refused: refused, .failure($0)), for: question)
        } _: {
            [inbox] session, credential in
            let done: @Sendable (Result<StateSnapshot, StoreError>) -> Void = {
                inbox.put(.view(device: place, feature, refused: refused, $0), for: question)
            }
            let client = SessionClient(credential)
            guard waits else { return session.state(of: feature, for: client, completion: done) }
            session.state(of: feature, for: client, wait: .seconds(8), until: { _ in false }, completion: done)
        }
    }

    func openStream(_ device: Device, _ filter: String? = nil) {
        guard !device.isGone else { return }
        let delta: DeltaForm? = any([nil, .jsonPatch, .mergePatch])
        let filter = filter ?? any(["all", "all", "desk", "vault"])
        let (place, question) = (device.number, begin("a stream"))
        let start = StreamStart(lastEventID: device.cursors[filter] ?? "earliest")
        find(device) { [inbox] in
            inbox.put(.stream(device: place, filter: filter, delta, .failure($0)), for: question)
        } _: { [inbox] session, credential in
            let features: StreamFilter = filter == "all" ? .all : .features([FeatureID(name: filter, key: nil)])
            session.openStream(features, from: start, delta: delta, for: SessionClient(credential)) {
                inbox.put(.stream(device: place, filter: filter, delta, $0), for: question)
            }
        }
    }

    // MARK: Access

    /// Renews the principal, or signs in.
    func renew(_ device: Device, isGold: Bool? = nil) {
        guard !device.isGone, !device.isChangingAccess else { return }
        let isGold = isGold ?? chance(1, of: 2)
        let isSignIn = device.standing == .anonymous || device.signIn != nil
        lastQuestion += 1
        if isSignIn, device.signIn == nil {
            let principal = SimulatedSession.principal(session.subject, isGold: isGold, serial: lastQuestion)
            device.signIn = Device.SignIn(
                principal: principal, isGold: isGold, proof: [UInt8(truncatingIfNeeded: lastQuestion)],
                keepsStores: chance(3, of: 4))
        }
        let signIn =
            device.signIn
            ?? Device.SignIn(
                principal: SimulatedSession.principal(session.subject, isGold: isGold, serial: lastQuestion),
                isGold: isGold, proof: [], keepsStores: true)
        if !signIn.keepsStores { for feature in ChoreBuild.all { log.removalBegan(feature) } }
        tell("device \(device.number) \(isSignIn ? "signs in" : "renews") as \(signIn.isGold ? "gold" : "free")")
        device.changes()
        session.changes += 1
        let (place, question) = (device.number, begin("an identity"))
        let (token, table, executor) = (device.token, process.table, process.executor)
        find(device) { [inbox] in
            inbox.put(.identity(device: place, signIn, .failure($0)), for: question)
        } _: { [inbox] session, credential in
            Task(executorPreference: executor) {
                let result = await table.identify(
                    session, token, credential, as: signIn.principal, proof: signIn.proof,
                    keepsStores: signIn.keepsStores)
                inbox.put(.identity(device: place, signIn, result), for: question)
            }
        }
    }

    func signOut(_ device: Device, everywhere: Bool) {
        guard !device.isGone, !device.isChangingAccess else { return }
        let endsAll = everywhere || device.standing == .anonymous || session.isOfOne
        tell("device \(device.number) signs out\(endsAll ? " everywhere" : "")")
        device.changes()
        device.isLeaving = true
        session.changes += 1
        if endsAll { session.isEnding = true }
        let (place, question, table) = (device.number, begin("a sign-out"), process.table)
        find(device) { [inbox] in
            inbox.put(.signedOut(device: place, endsAll: endsAll, .failure($0)), for: question)
        } _: { [inbox] session, credential in
            table.end(session, SessionClient(credential), everywhere: everywhere) {
                inbox.put(.signedOut(device: place, endsAll: endsAll, $0), for: question)
            }
        }
    }

    private static var endQuestion: String { "the end of the session" }

    /// Ends the session by code outside the features.
    func end() {
        guard !asked.contains(where: { $0.what == Self.endQuestion && $0.session == session.key }) else { return }
        tell("the session is ended")
        (session.isEnding, session.isEndedFromOutside) = (true, true)
        let (question, table, token) = (begin(Self.endQuestion), process.table, session.token)
        Task(executorPreference: process.executor) { [inbox] in
            do throws(StoreError) {
                try await table.end(token)
                inbox.put(.ended(.success(())), for: question)
            } catch {
                inbox.put(.ended(.failure(error)), for: question)
            }
        }
    }
}
