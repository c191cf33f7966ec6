import MVI

extension OrderDetail {
    /// Loads one section: `content` asks the repository, `message` makes of each event what the section is told.
    func load<Content: Codable & Equatable & Sendable>(
        _ section: OrderSectionName, _ turn: inout Turn<Self>,
        of content: @escaping @Sendable (any OrderRepository, String) async throws -> Content,
        as message: @escaping @Sendable (Loadable<Content>.Event) -> Message
    ) {
        turn.dispatch(message(.started))
        turn.launch(id: WorkID("load \(section.rawValue)"), policy: .cancelPrevious) { [id, orders] work in
            do {
                await work.dispatch(message(.loaded(try await content(orders, id))))
            } catch {
                await work.dispatch(message(.failed))
            }
        }
    }

    /// Takes a step in the order's life. It may change who comes and when, so that is loaded anew.
    func take(_ step: OrderStep, _ turn: inout Turn<Self>) {
        turn.dispatch(.status(.stepStarted(step)))
        turn.launch(id: "step", policy: .keepPrevious) { [id, orders] work in
            do {
                let status = try await orders.take(step, in: id)
                await work.turn { turn in
                    turn.dispatch(.status(.stepTaken(status)))
                    turn.publish(.toast(text: Self.sentence(for: status)))
                    turn.send(.load(.scheduling))
                }
            } catch let refusal as OrderStepRefused {
                await work.turn { turn in
                    turn.dispatch(.status(.stepTaken(refusal.status)))
                    turn.publish(.toast(text: "Somebody was quicker. \(Self.sentence(for: refusal.status))"))
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
        case .cancelled: "The order is cancelled"
        }
    }
}
