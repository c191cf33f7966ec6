import MVI

extension LessonDetail {
    func load(_ turn: inout Turn<Self>) {
        turn.dispatch(.loadStarted)
        turn.launch(id: "load", policy: .cancelPrevious) { [id, lessons] work in
            do {
                guard let lesson = try await lessons.lesson(id) else { throw MissingRecord(what: "lesson \(id)") }
                await work.dispatch(.loaded(lesson))
            } catch {
                await work.turn { turn in
                    turn.dispatch(.loadFailed)
                    turn.publish(.dismiss(reason: "The lesson could not be loaded"))
                }
            }
        }
    }

    func setEnrolled(_ isEnrolled: Bool, _ turn: inout Turn<Self>) {
        guard let lesson = lessonToChange(&turn) else { return }
        guard lesson.isEnrolled != isEnrolled else {
            turn.publish(.toast(text: isEnrolled ? "You have a place already" : "Your place is canceled already"))
            return
        }
        turn.dispatch(.changeStarted(isEnrolled ? .enrolling : .cancelling))
        turn.launch(id: "change", policy: .keepPrevious) { [id, lessons] work in
            do {
                try await lessons.setEnrolled(isEnrolled, in: id)
                await work.turn { turn in
                    turn.dispatch(.enrollmentChanged(isEnrolled: isEnrolled))
                    turn.publish(.toast(text: isEnrolled ? "Your place is booked" : "Your place is canceled"))
                }
            } catch {
                await work.turn { turn in
                    turn.dispatch(.changeEnded)
                    turn.publish(.toast(text: "That did not work. Your booking is as it was."))
                }
            }
        }
    }

    func resendConfirmation(_ turn: inout Turn<Self>) {
        guard let lesson = lessonToChange(&turn) else { return }
        guard lesson.isEnrolled else {
            turn.publish(.toast(text: "There is no booking to confirm"))
            return
        }
        turn.dispatch(.changeStarted(.sending))
        turn.launch(id: "change", policy: .keepPrevious) { [id, lessons] work in
            do {
                let address = try await lessons.resendConfirmation(of: id)
                await work.turn { turn in
                    turn.dispatch(.changeEnded)
                    turn.publish(.toast(text: "Confirmation sent to \(address)"))
                }
            } catch {
                await work.turn { turn in
                    turn.dispatch(.changeEnded)
                    turn.publish(.toast(text: "The confirmation could not be sent. Try again."))
                }
            }
        }
    }

    /// Returns the lesson; if none is loaded yet, publishes a toast and returns nil.
    func loadedLesson(_ turn: inout Turn<Self>) -> Lesson? {
        if turn.state.lesson == nil { turn.publish(.toast(text: "The lesson is not loaded yet")) }
        return turn.state.lesson
    }

    /// Returns the lesson if no other change is running; otherwise publishes a toast and returns nil.
    private func lessonToChange(_ turn: inout Turn<Self>) -> Lesson? {
        guard turn.state.change == nil, !turn.state.isLoading else {
            turn.publish(.toast(text: "One moment, something else is still in progress"))
            return nil
        }
        return loadedLesson(&turn)
    }
}
