import MVI

/// The stored form of directed labels.
///
/// A row of a directed label names a feature that no server has, so that nodes of older builds show it to nobody. Its
/// content is the name of the label's feature and the number of the addressee's bytes in a line, the addressee, and the
/// label. Other rows are what they were before there were directed labels.
extension StoredLabel {
    /// The name in the rows of directed labels. No feature may have it.
    package static let directed = FeatureID(name: "mvi-directed-label", key: nil)

    /// The label as a row has it.
    package var packed: StoredLabel {
        guard let to else { return self }
        var row = self
        let addressee = Array(to.text.utf8)
        (row.feature, row.to) = (Self.directed, nil)
        row.json = Array("\(feature) \(addressee.count)\n".utf8) + addressee + json
        return row
    }

    /// The label of a row.
    package var unpacked: StoredLabel {
        get throws(StoreError) {
            guard feature == Self.directed else { return self }
            let line = json.prefix { $0 != UInt8(ascii: "\n") }
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 2, line.count < json.count, let feature = FeatureID(words[0]),
                let count = Int(String(decoding: words[1], as: UTF8.self)), count >= 0,
                count <= json.count - line.count - 1,
                let to = LabelAddressee(text: String(decoding: json[(line.count + 1)...].prefix(count), as: UTF8.self))
            else { throw .unexpected(String(decoding: line, as: UTF8.self), "a directed label") }
            var label = self
            (label.feature, label.to) = (feature, to)
            label.json = Array(json[(line.count + 1 + count)...])
            return label
        }
    }
}

extension LabelAddressee {
    /// The number of its bytes that count towards the limits.
    @usableFromInline package var size: Int {
        switch self {
        case .audience(let json): json.count
        case .sender(let id), .session(let id): id.utf8.count
        case .subject(let subject): subject.issuer.utf8.count + subject.id.utf8.count
        }
    }

    /// Its kind and its name. That of a subject begins with the number of bytes of its issuer.
    package var text: String {
        switch self {
        case .audience(let json): "audience \(String(decoding: json, as: UTF8.self))"
        case .sender(let id): "sender \(id)"
        case .session(let id): "session \(id)"
        case .subject(let subject): "subject \(subject.issuer.utf8.count) \(subject.issuer)\(subject.id)"
        }
    }

    package init?(text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2 else { return nil }
        let name = String(Substring(words[1]))
        switch String(Substring(words[0])) {
        case "audience": self = .audience(Array(name.utf8))
        case "sender": self = .sender(name)
        case "session": self = .session(name)
        case "subject":
            let parts = name.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let count = Int(String(Substring(parts[0]))), count >= 0, count <= parts[1].count
            else { return nil }
            self = .subject(
                Subject(
                    issuer: String(decoding: parts[1].prefix(count), as: UTF8.self),
                    id: String(decoding: parts[1].dropFirst(count), as: UTF8.self)))
        default: return nil
        }
    }
}
