import SessionJournal

/// The relation of an answer of the journal to the log as it is known here.
enum LogStanding {
    /// It is the log as it is known here, or was when the journal was asked.
    case known
    /// So it is, but access to the session was changed.
    case accessChanged
    /// The log ends with this node's append in flight, which is not shown here yet.
    case inFlight
    /// The log has turns that are not known here, as far as the answer tells.
    case newer
    /// The log has another name, and perhaps such turns: versions under the old name are void.
    case renamed
    /// It is another log, or another session: turns that are known here were lost.
    case other

    /// True if data of the answer may be shown. Otherwise the log is read first.
    var isCurrent: Bool { self == .known || self == .accessChanged || self == .inFlight }
}

extension SessionCore {
    /// Decides about an answer of the journal that has data of the session. No other code compares logs.
    ///
    /// - Parameters:
    ///   - mark: the answer's; nil if the session is gone.
    ///   - heads: the log's newest heads if the answer has them.
    ///   - begun: the position here when the journal was asked.
    func standing(of mark: SessionMark?, _ heads: [SessionHead] = [], since begun: SessionMark) -> LogStanding {
        guard let mark, mark.token == begun.token else { return .other }
        let (isRenamed, isAhead) = (isRenamed(mark.epoch), mark.head.number > head.number)
        // This node appended after it asked.
        let isEarlier =
            begun.epoch == epoch && mark.epoch == epoch
            && (mark.head == begun.head || mark.head.number > begun.head.number && mark.head.number < head.number)
        // The random part of a head is of one log.
        if isEarlier || mark.head == head && !isRenamed {
            return mark.accessChanges == accessChanges ? .known : .accessChanged
        }
        if isAhead, mark.head == appending, !isRenamed { return .inFlight }
        if mark.head == head || heads.contains(head) { return isRenamed ? .renamed : .newer }
        return isRenamed || !isAhead || heads.contains { $0.number <= head.number } ? .other : .newer
    }

    /// True if the journal has another name for the log, unless this node just chose one, which the journal does not know.
    func isRenamed(_ name: String) -> Bool { name != epoch && !epochIsUnsaved }
}

extension Session {
    /// True if the journal has nothing of the session that is not known here.
    func knows(_ mark: SessionMark?, since begun: SessionMark) -> Bool {
        core.withLock { $0.standing(of: mark, since: begun) == .known }
    }
}
