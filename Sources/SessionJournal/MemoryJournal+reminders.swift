import MVI

/// Reminders. Alarms are in one list for all sessions, which only appends with reminders change.
extension MemoryJournal {
    /// Appends a batch that changes reminders.
    func appendReminders(_ batch: JournalBatch, to session: MemorySession, in shard: inout MemoryShard) -> AppendResult
    {
        let before = session.alarmTimes
        let result = shard.append(batch, to: session)
        changeAlarms(of: batch.session, session, from: before, to: session.alarmTimes)
        return result
    }

    /// Sets reminders as part of another change.
    func set(_ reminders: [StoredReminder], of key: SessionKey, _ session: MemorySession) {
        let before = session.alarmTimes
        session.apply(reminders.map { .set($0) })
        changeAlarms(of: key, session, from: before, to: session.alarmTimes)
    }

    func changeAlarms(of key: SessionKey, _ session: MemorySession, from old: Set<Duration>, to new: Set<Duration>) {
        guard old != new else { return }
        let token = session.record.tokenHash
        alarmList.withLock { alarms in
            for due in old.subtracting(new) { alarms.remove(Alarm(token: token, session: key, due: due)) }
            for due in new.subtracting(old) { alarms.insert(Alarm(token: token, session: key, due: due)) }
        }
    }

    package func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        answer(alarmList.withLock { $0.alarms(after: after, limit: limit) }, done)
    }
}

extension MemorySession {
    /// The times of the next attempts of its reminders.
    var alarmTimes: Set<Duration> { Set(reminders.lazy.map(\.next)) }

    /// The due time of the last reminder, or nil if there is none.
    var lastDue: Duration? { reminders.last?.due }
}
