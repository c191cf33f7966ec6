import SessionJournal

/// The highest numbers of messages from other logs that this node knows the session to have received. The journal decides;
/// what is forgotten here costs a repeated append.
struct HeardNumbers {
    private static let limit = 1_024

    private var numbers: [[UInt8]: UInt64] = [:]

    var isEmpty: Bool { numbers.isEmpty }

    func has(_ message: HeardMessage) -> Bool { message.number <= numbers[message.sender] ?? 0 }

    mutating func note(_ messages: [HeardMessage]) {
        if numbers.count + messages.count > Self.limit { numbers = [:] }
        for message in messages { numbers[message.sender] = max(numbers[message.sender] ?? 0, message.number) }
    }
}

extension SessionCore {
    /// Notes messages that the log has received.
    mutating func noteHeard(_ messages: [HeardMessage]) {
        guard !messages.isEmpty else { return }
        makeRare().heard.note(messages)
    }
}
