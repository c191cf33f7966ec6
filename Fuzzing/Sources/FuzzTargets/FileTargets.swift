import MVI
import SessionJournal
import Sessions

/// Files that commands read.
extension FuzzTarget {
    /// The document of a session, as `replay` and `import FILE` read it.
    static let recorded = FuzzTarget(name: "recorded") { input throws(BrokenProperty) in
        guard case .success(let session) = attempt({ () throws(NotRecorded) in try RecordedSession(input) }) else {
            return
        }
        let numbers = session.turns.map(\.sequence)
        try hold(numbers == numbers.sorted(), "turns are not in order: \(numbers)")
        try hold(numbers.allSatisfy { $0 < 1 << 63 }, "a turn has no next number: \(numbers)")
        for number in Set(numbers.prefix(4)) {
            guard case .success(let fork) = attempt({ () throws(NotRecorded) in try Fork(session, at: number) }) else {
                continue
            }
            try hold(!fork.features.isEmpty, "a fork at \(number) has no store")
            try hold(
                Set(fork.features).isDisjoint(with: fork.disposed), "a store at \(number) is and is not disposed of")
        }
        let features = try succeed("the registry") {
            try FeatureRegistry([FeatureDefinition(Desk()), FeatureDefinition(keyed: { key, _ in Shelf(key: key) })])
        }
        for instance in session.instances.prefix(4) {
            guard let id = FeatureID(instance), let definition = features.definition(for: id) else { continue }
            guard case .same(let turns) = definition.replayer.run(session, id).outcome else { continue }
            try hold(turns <= session.turns.count, "\(turns) of \(session.turns.count) turns are the same")
        }
    }

    /// Lines of the list of deleted subjects.
    static let forgotten = FuzzTarget(name: "forgotten") { input throws(BrokenProperty) in
        let key = ForgottenKey((0..<32).map { $0 })
        let someone = Subject(issuer: "issuer", id: "ann")
        for line in String(decoding: input, as: UTF8.self).split(separator: "\n").prefix(16) {
            guard let subject = ForgottenSubject(line: line) else { continue }
            let sealed = key.sealed(subject)
            try hold(!sealed.isPlain, "a key stands beside a sealed subject")
            try hold(key.sealed(sealed) == sealed, "a sealed subject is sealed again")
            for each in [subject, sealed] {
                let text = String(decoding: each.line, as: UTF8.self)
                try hold(text.last == "\n" && text.dropLast().allSatisfy { $0 != "\n" }, "not one line: \(text)")
                try hold(
                    ForgottenSubject(line: text.dropLast()) == each, "a line changes when it is read again: \(text)")
            }
            let times = [subject, sealed].map { ForgottenFinder([$0], key).time(of: someone) }
            try hold(times[0] == times[1], "a sealed subject is found otherwise: \(line)")
        }
    }
}
