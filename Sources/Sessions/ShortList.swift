/// An array that mostly has one element, which it holds without an allocation.
struct ShortList<Element>: RandomAccessCollection, ExpressibleByArrayLiteral {
    private var one: Element?
    private var others: [Element] = []

    init(arrayLiteral elements: Element...) {
        for element in elements { append(element) }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { one == nil ? 0 : 1 + others.count }

    subscript(position: Int) -> Element {
        guard position > 0 else {
            guard let one else { preconditionFailure("an empty list has no element \(position)") }
            return one
        }
        return others[position - 1]
    }

    mutating func append(_ element: Element) {
        if one == nil { one = element } else { others.append(element) }
    }

    mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        one = count <= others.count ? others[count - 1] : nil
        others.removeFirst(Swift.min(count, others.count))
    }

    mutating func removeAll(where isGone: (Element) -> Bool) {
        others.removeAll(where: isGone)
        if let one, isGone(one) { removeFirst(1) }
    }
}

extension ShortList: Sendable where Element: Sendable {}
extension ShortList: Equatable where Element: Equatable {}
