/// A list of parts, ordered, no two of which have the same id.
///
/// It is stored as the array of its parts. Looking for an id goes through the list: hundreds are no trouble.
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

    /// The parts in order. One whose id was there before takes that one's place.
    @inlinable
    public init(_ parts: some Sequence<Element>) {
        for part in parts { append(part) }
    }

    /// The ids, in order.
    @inlinable public var ids: [Element.ID] { elements.map(\.id) }

    /// The values that clients see, in order.
    @inlinable public var view: [Element.View] { elements.map(\.view) }

    /// The part of an id; nil if there is none. Setting a part puts it into the place of the one that has its id, or at
    /// the end; setting nil removes the one of that id.
    @inlinable
    public subscript(id id: Element.ID) -> Element? {
        get { index(of: id).map { elements[$0] } }
        set {
            if let newValue { append(newValue) } else { remove(id: id) }
        }
    }

    /// Has the part of that id reduce a message. One whose part is gone does nothing.
    ///
    /// - Returns: whether there is such a part.
    @discardableResult
    @inlinable
    public mutating func reduce(_ id: Element.ID, _ message: Element.Message) -> Bool {
        guard let index = index(of: id) else { return false }
        elements[index].reduce(message)
        return true
    }

    /// Adds a part at the end. One with the same id is replaced where it is.
    @inlinable
    public mutating func append(_ part: Element) { insert(part, at: elements.count) }

    /// Adds a part before the one at that place; places beyond the ends are the ends. One with the same id is replaced
    /// where it is.
    @inlinable
    public mutating func insert(_ part: Element, at place: Int) {
        if let index = index(of: part.id) {
            elements[index] = part
        } else {
            elements.insert(part, at: Swift.min(Swift.max(place, 0), elements.count))
        }
    }

    /// Removes the part of that id and returns it; nil if there is none.
    @discardableResult
    @inlinable
    public mutating func remove(id: Element.ID) -> Element? {
        index(of: id).map { elements.remove(at: $0) }
    }

    /// Moves the part of that id so that it is at that place of the list; places beyond the ends are the ends.
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
    /// The part at a place.
    @inlinable public subscript(place: Int) -> Element { elements[place] }
}

extension Parts: ExpressibleByArrayLiteral {
    /// The parts in order.
    @inlinable
    public init(arrayLiteral parts: Element...) { self.init(parts) }
}

extension Parts: Codable {
    /// Reads an array of parts.
    ///
    /// - Throws: `DecodingError` if two have the same id.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        elements = try container.decode([Element].self)
        guard Set(ids).count == elements.count else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "two parts have the same id")
        }
    }

    /// Writes the array of the parts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(elements)
    }
}

extension Part where Self: Identifiable, ID: Sendable {
    /// A list of such parts.
    public typealias List = Parts<Self>
}
