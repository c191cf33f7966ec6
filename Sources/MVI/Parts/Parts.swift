/// An ordered list of parts with unique ids.
///
/// It is stored as an array of its parts. Looking up an id is a linear search, which is fast enough for hundreds of
/// parts.
///
/// ```swift
/// struct State: Codable, Equatable, Sendable { var rows = Row.List() }
/// enum Message: Sendable { case row(id: Int, Row.Message) }
/// // in `reduce`:
/// case .row(let id, let message): state.rows.reduce(id, message)
/// ```
public struct Parts<Element: Part & Identifiable>: Equatable, Sendable where Element.ID: Sendable {
    @usableFromInline var elements: [Element] = []

    /// An empty list.
    @inlinable
    public init() {}

    /// Creates a list. A part with the id of an earlier one replaces it.
    @inlinable
    public init(_ parts: some Sequence<Element>) {
        for part in parts { append(part) }
    }

    /// The ids, in order.
    @inlinable public var ids: [Element.ID] { elements.map(\.id) }

    /// The view of each part, in order.
    @inlinable public var view: [Element.View] { elements.map(\.view) }

    /// The part with an id; nil if there is none. Setting a part replaces the one with its id, or appends it; setting
    /// nil removes the one with that id.
    @inlinable
    public subscript(id id: Element.ID) -> Element? {
        get { index(of: id).map { elements[$0] } }
        set {
            if let newValue { append(newValue) } else { remove(id: id) }
        }
    }

    /// Applies a message to the part with an id, if there is one.
    ///
    /// - Returns: true if the part exists.
    @discardableResult
    @inlinable
    public mutating func reduce(_ id: Element.ID, _ message: Element.Message) -> Bool {
        guard let index = index(of: id) else { return false }
        elements[index].reduce(message)
        return true
    }

    /// Appends a part, or replaces the one with the same id.
    @inlinable
    public mutating func append(_ part: Element) { insert(part, at: elements.count) }

    /// Inserts a part at an index, which is clamped to the list, or replaces the one with the same id.
    @inlinable
    public mutating func insert(_ part: Element, at place: Int) {
        if let index = index(of: part.id) {
            elements[index] = part
        } else {
            elements.insert(part, at: Swift.min(Swift.max(place, 0), elements.count))
        }
    }

    /// Removes and returns the part with an id; nil if there is none.
    @discardableResult
    @inlinable
    public mutating func remove(id: Element.ID) -> Element? {
        index(of: id).map { elements.remove(at: $0) }
    }

    /// Moves the part with an id to an index, which is clamped to the list.
    @inlinable
    public mutating func move(id: Element.ID, to place: Int) {
        guard let part = remove(id: id) else { return }
        insert(part, at: place)
    }

    @inlinable
    func index(of id: Element.ID) -> Int? { elements.firstIndex { $0.id == id } }
}

extension Parts: RandomAccessCollection {
    /// 0.
    @inlinable public var startIndex: Int { 0 }
    /// The number of parts.
    @inlinable public var endIndex: Int { elements.count }
    /// The part at an index.
    @inlinable public subscript(place: Int) -> Element { elements[place] }
}

extension Parts: ExpressibleByArrayLiteral {
    /// The parts in order.
    @inlinable
    public init(arrayLiteral parts: Element...) { self.init(parts) }
}

extension Parts: Codable {
    /// Decodes an array of parts.
    ///
    /// - Throws: `DecodingError` if two parts have the same id.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        elements = try container.decode([Element].self)
        guard Set(ids).count == elements.count else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "two parts have the same id")
        }
    }

    /// Encodes the parts as an array.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(elements)
    }
}

extension Part where Self: Identifiable, ID: Sendable {
    /// A list of parts of this type.
    public typealias List = Parts<Self>
}
