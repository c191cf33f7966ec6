/// Elements that are found by their ids. Up to 16 are searched one after the other, which takes less time and memory
/// than hashing.
///
/// No two elements have the same id, and the id of an element does not change.
public struct IdentifiedArray<Element: Identifiable>: RandomAccessCollection, MutableCollection,
    ExpressibleByArrayLiteral
{
    @usableFromInline static var searched: Int { 16 }

    @usableFromInline var elements: [Element] = []
    /// The indices of more elements than are searched; otherwise empty.
    @usableFromInline var places: [Element.ID: Int] = [:]

    @inlinable public init() {}
    @inlinable public init(arrayLiteral elements: Element...) { for element in elements { append(element) } }

    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { elements.count }

    @inlinable
    public subscript(index: Int) -> Element {
        // Not a copy, of which a computed property of an element would need only a part.
        _read { yield elements[index] }
        _modify { yield &elements[index] }
    }

    @inlinable
    public func index(of id: Element.ID) -> Int? {
        if !places.isEmpty { return places[id] }
        // By index, since a closure would receive a copy of each.
        for index in elements.indices where elements[index].id == id { return index }
        return nil
    }

    @inlinable public subscript(id: Element.ID) -> Element? { index(of: id).map { elements[$0] } }

    @inlinable
    public mutating func append(_ element: Element) {
        elements.append(element)
        if !places.isEmpty {
            places[element.id] = elements.count - 1
        } else if elements.count > Self.searched {
            for index in elements.indices { places[elements[index].id] = index }
        }
    }

    /// Removes an element. Among many the last one takes its place.
    @inlinable
    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        if places.isEmpty { return elements.remove(at: index) }
        elements.swapAt(index, elements.count - 1)
        let removed = elements.removeLast()
        places[removed.id] = nil
        if index < elements.count { places[elements[index].id] = index }
        if elements.count < Self.searched / 2 { places = [:] }
        return removed
    }
}

extension IdentifiedArray: Sendable where Element: Sendable, Element.ID: Sendable {}
extension IdentifiedArray: Equatable where Element: Equatable {
    /// Compares the elements with the same ids.
    public static func == (left: IdentifiedArray, right: IdentifiedArray) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.id] == $0 }
    }
}
