import MVI
import SessionJournal
import WireJSON

@testable import Sessions

/// Checks the answers to requests.
extension SessionSimulation {
    private func device(_ number: Int) -> Device? { session.devices.first { $0.number == number } }

    func receive(_ item: Item, _ question: Question) {
        tell("\(question.what): \(item)")
        switch item {
        case .answer(let place, let number, let result):
            device(place)?.answered(number, result)
            checkJudgements(of: number)
        case .delivered(let number, let result):
            if case .failure(let error) = result {
                starve(error, question)
                if !error.isTransient { log.refused(number, "\(error.code)") }
            }
            checkJudgements(of: number)
        case .stream(let place, let filter, let delta, let result):
            switch result {
            case .failure(let error): starve(error, question)
            case .success(let stream):
                guard let device = device(place), !device.isGone else { return stream.closed() }
                device.streams.append(DeviceStream(stream, filter, delta, log, device))
            }
        case .view(let place, let feature, let refused, let result):
            switch result {
            case .failure(let error): starve(error, question)
            case .success(let state):
                if let refused, device(place)?.changeCount == refused {
                    log.note("a client without access read \(feature)")
                }
                guard let view = try? WireJSON.decode(ChoreState.self, from: state.view) else {
                    return log.note("the view of \(feature) cannot be read")
                }
                log.shown(view, of: feature, version: state.version)
            }
        case .removal(let feature, _): log.removalEnded(feature)
        case .identity(let place, let signIn, let result):
            if !signIn.keepsStores {
                for feature in ChoreBuild.all { log.removalEnded(feature) }
                log.dropLabels()
            }
            session.changes += 1
            if let device = device(place) { identified(device, signIn, result) }
        case .signedOut(let place, let endsAll, let result):
            session.changes += 1
            if let device = device(place) { signedOut(device, endsAll: endsAll, result) }
        case .ended(let result):
            session.changes += 1
            if case .success = result { ended() }
        }
    }

    /// Checks that clients' intents block no other kind of request.
    private func starve(_ error: StoreError, _ question: Question) {
        // It may wait behind as many of its own kind.
        if error.code == .busy, error.detail.contains("intents") {
            log.note("\(question.what) was refused: too many intents wait", .starved)
        }
    }

    /// Checks that interceptors judge each request once, unless its client has changed.
    private func checkJudgements(of number: Int) {
        let (attempts, changes) = log.state.withLock { state in
            (state.intents[number]?.attempts ?? 0, state.intents[number]?.changes)
        }
        let judgements = hooks.judgements(of: number)
        guard changes == session.changes, judgements > attempts else { return }
        log.note("the intent \(number) was sent \(attempts) times and judged \(judgements) times", .judgedAgain)
    }

    private func identified(_ device: Device, _ signIn: Device.SignIn, _ result: Result<SignInResult, StoreError>) {
        device.isChangingAccess = false
        switch result {
        case .success(.renewed): device.note(signIn.isGold ? .gold : .free)
        case .success(.signedIn(_, _, let token)):
            device.signIn = nil
            device.note(signIn.isGold ? .gold : .free, token)
        case .failure(let error):
            // Repeated unchanged, or by the next renewal.
            if !error.isTransient, ![.signedOut, .busy, .full].contains(error.code) {
                let isMistaken = error.code == .otherIdentity
                log.note("an identity was refused: \(error.code), \(error.detail)", isMistaken ? .otherIdentity : nil)
            }
        }
    }

    private func signedOut(_ device: Device, endsAll: Bool, _ result: Result<Void, StoreError>) {
        device.isChangingAccess = false
        switch result {
        case .success: if endsAll { ended() } else { device.leave() }
        case .failure(let error) where error.code == .gone || error.code == .signedOut:
            // It had signed out already without learning it.
            device.leave()
            session.isEnding = session.isOfOne || session.isEndedFromOutside || log.isRemoved
        // Repeated.
        case .failure: break
        }
    }

    private func ended() {
        for device in session.devices { device.leave() }
        session.isOver = true
    }
}
