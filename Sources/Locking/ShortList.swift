/// An array that mostly has one element, which it holds without an allocation.
///
/// Inlinable: the modules that use it need it for their own elements.
public struct ShortList<Element>: RandomAccessCollection, ExpressibleByArrayLiteral {
    @usableFromInline var one: Element?
    @usableFromInline var others: [Element] = []

    /// A list of those elements.
    @inlinable
    public init(arrayLiteral elements: Element...) {
        for element in elements { append(element) }
    }

    /// An empty list.
    @inlinable
    public init() {}

    /// Always 0.
    @inlinable public var startIndex: Int { 0 }
    /// How many there are.
    @inlinable public var endIndex: Int { one == nil ? 0 : 1 + others.count }

    /// The element at a place, which must be there.
    @inlinable
    public subscript(position: Int) -> Element {
        guard position > 0 else {
            guard let one else { preconditionFailure("an empty list has no element \(position)") }
            return one
        }
        return others[position - 1]
    }

    /// Adds an element at the end.
    @inlinable
    public mutating func append(_ element: Element) {
        if one == nil { one = element } else { others.append(element) }
    }

    /// Removes that many from the beginning, at most all.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        one = count <= others.count ? others[count - 1] : nil
        others.removeFirst(Swift.min(count, others.count))
    }

    /// Removes those that the condition holds of.
    @inlinable
    public mutating func removeAll(where isGone: (Element) -> Bool) {
        others.removeAll(where: isGone)
        if let one, isGone(one) { removeFirst(1) }
    }
}

extension ShortList: Sendable where Element: Sendable {}
extension ShortList: Equatable where Element: Equatable {}
