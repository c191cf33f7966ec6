/// Elements by numbers that it assigns and never reuses. A freed place is used again.
///
/// For very many elements: the memory of a dictionary is touched everywhere, although a third to two thirds are empty.
public struct NumberedList<Element> {
    private var places: [(number: UInt64, element: Element)?] = []
    private var free: [UInt32] = []
    private var additions: UInt64 = 0

    /// An empty list.
    public init() {}

    /// Adds an element and returns its number.
    public mutating func append(_ element: Element) -> UInt64 {
        additions += 1
        let place = free.popLast() ?? UInt32(places.count)
        // The additions wrap around after four thousand million.
        let number = additions << 32 | UInt64(place)
        if place == places.count { places.append((number, element)) } else { places[Int(place)] = (number, element) }
        return number
    }

    /// The element with a number; nil if there is none, or none any more. Only an existing one can be set.
    public subscript(number: UInt64) -> Element? {
        get { index(of: number).flatMap { places[$0]?.element } }
        set {
            guard let index = index(of: number) else { return }
            if newValue == nil { free.append(UInt32(index)) }
            places[index] = newValue.map { (number, $0) }
        }
    }

    private func index(of number: UInt64) -> Int? {
        let index = Int(truncatingIfNeeded: number & 0xFFFF_FFFF)
        return index < places.count && places[index]?.number == number ? index : nil
    }
}

extension NumberedList: Sendable where Element: Sendable {}
