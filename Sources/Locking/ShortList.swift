/// An array that usually has one element, which it stores without an allocation.
///
/// Inlinable, for the element types of other modules.
public struct ShortList<Element>: RandomAccessCollection, ExpressibleByArrayLiteral {
    @usableFromInline var one: Element?
    @usableFromInline var others: [Element] = []

    /// A list of the elements.
    @inlinable
    public init(arrayLiteral elements: Element...) {
        for element in elements { append(element) }
    }

    /// An empty list.
    @inlinable
    public init() {}

    /// Always 0.
    @inlinable public var startIndex: Int { 0 }
    /// The number of elements.
    @inlinable public var endIndex: Int { one == nil ? 0 : 1 + others.count }

    /// The element at a valid index.
    @inlinable
    public subscript(position: Int) -> Element {
        guard position > 0 else {
            guard let one else { preconditionFailure("an empty list has no element \(position)") }
            return one
        }
        return others[position - 1]
    }

    /// Appends an element.
    @inlinable
    public mutating func append(_ element: Element) {
        if one == nil { one = element } else { others.append(element) }
    }

    /// Removes up to this number of elements from the beginning.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        one = count <= others.count ? others[count - 1] : nil
        others.removeFirst(Swift.min(count, others.count))
    }

    /// Removes the elements that meet the condition.
    @inlinable
    public mutating func removeAll(where isGone: (Element) -> Bool) {
        others.removeAll(where: isGone)
        if let one, isGone(one) { removeFirst(1) }
    }
}

extension ShortList: Sendable where Element: Sendable {}
extension ShortList: Equatable where Element: Equatable {}
