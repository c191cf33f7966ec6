import MVI

extension OrderDetail {
    /// Loads one section. Unless `always`, does nothing if it was loaded or has failed.
    func load(_ section: Section, always: Bool = true, _ turn: inout Turn<Self>) {
        switch section {
        // The running step brings the status.
        case .status where turn.state.status.step != nil: break
        case .status:
            turn.part(\.status.status, { .status(.load($0)) }) {
                $0.load(always: always) { try await orders.status(of: id) }
            }
        case .infoCard:
            turn.part(\.infoCard.info, Message.infoCard) { $0.load(always: always) { try await orders.info(of: id) } }
        case .fee: turn.part(\.fee.fee, Message.fee) { $0.load(always: always) { try await orders.fee(of: id) } }
        case .scheduling:
            turn.part(\.scheduling.scheduling, Message.scheduling) {
                $0.load(always: always) { try await orders.scheduling(of: id) }
            }
        }
    }

    /// Takes a step of the order. It may change the technician and the time, so these are loaded again.
    func take(_ step: OrderStep, _ turn: inout Turn<Self>) {
        turn.dispatch(.status(.stepStarted(step)))
        turn.launch(id: "step", policy: .keepPrevious) { work in
            do {
                let status = try await orders.take(step, in: id)
                await work.turn { turn in
                    turn.dispatch(.status(.stepTaken(status)))
                    turn.publish(.toast(text: Self.sentence(for: status)))
                    load(.scheduling, &turn)
                }
            } catch let refusal as OrderStepRefused {
                await work.turn { turn in
                    turn.dispatch(.status(.stepTaken(refusal.status)))
                    turn.publish(.toast(text: "Someone else was faster. \(Self.sentence(for: refusal.status))"))
                }
            } catch {
                await work.turn { turn in
                    turn.dispatch(.status(.stepFailed))
                    turn.publish(.toast(text: "That did not work. The order is as it was."))
                }
            }
        }
    }

    private static func sentence(for status: OrderStatus) -> String {
        switch status {
        case .received: "The order is open again"
        case .accepted: "The order is accepted"
        case .onSite: "The technician is on site"
        case .done: "The order is done"
        case .cancelled: "The order is canceled"
        }
    }
}
