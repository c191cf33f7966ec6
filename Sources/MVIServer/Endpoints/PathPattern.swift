/// A route's path, taken apart once, to be compared with the bytes of a request's.
struct PathPattern: Sendable {
    /// What stands before the parameter, slashes included; all of it if there is none.
    private let head: [UInt8]
    /// What stands behind the parameter; nil without one.
    private let tail: [UInt8]?

    init(_ template: String) {
        let bytes = Array(template.utf8)
        guard
            let open = bytes.firstIndex(of: UInt8(ascii: "{")), let close = bytes.firstIndex(of: UInt8(ascii: "}"))
        else {
            head = bytes
            tail = nil
            return
        }
        head = Array(bytes[..<open])
        tail = Array(bytes[(close + 1)...])
    }

    enum Match: Equatable {
        case no
        case exact
        /// Where in the path the parameter is, still percent-encoded.
        case parameter(Range<Int>)
    }

    /// Compares byte for byte: an encoded letter is not the letter, `%2F` never separates, a trailing slash counts.
    func match(_ path: [UInt8]) -> Match {
        guard let tail else { return path == head ? .exact : .no }
        guard path.count > head.count + tail.count else { return .no }
        let parameter = head.count..<(path.count - tail.count)
        // The end first, by which most routes differ.
        for index in tail.indices where path[parameter.upperBound + index] != tail[index] { return .no }
        for index in head.indices where path[index] != head[index] { return .no }
        for index in parameter where path[index] == UInt8(ascii: "/") { return .no }
        return .parameter(parameter)
    }
}
