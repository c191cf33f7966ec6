/// The members of an object, in order, with different names. Used by one thread at a time.
///
/// A patch looks many names up, so after a few searches there is an index. A removed member leaves a gap, so that those
/// after it keep their places in the index.
final class JSONMembers {
    private var slots: [JSONValue.Member?]
    /// The places of the members by name; nil until there were some searches.
    private var places: [[UInt8]: Int]?
    private var searches = 0
    private(set) var count: Int

    /// The number of searches without an index.
    private static let searchLimit = 8

    /// - Parameter slots: members, without gaps. Optional, so that the array is not copied.
    init(_ slots: [JSONValue.Member?] = []) {
        self.slots = slots
        count = slots.count
    }

    subscript(name: [UInt8]) -> JSONValue? { place(of: name).flatMap { slots[$0]?.value } }

    /// Sets a member. One that exists keeps its place; another one comes last.
    func set(_ name: [UInt8], _ value: JSONValue) {
        if let place = place(of: name) {
            slots[place]?.value = value
        } else {
            places?[name] = slots.count
            slots.append(JSONValue.Member(name: name, value: value))
            count += 1
        }
    }

    /// Removes a member and returns its value; nil if there is none.
    func remove(_ name: [UInt8]) -> JSONValue? {
        guard let place = place(of: name), let member = slots[place] else { return nil }
        slots[place] = nil
        places?[name] = nil
        count -= 1
        if slots.count > 2 * count + Self.searchLimit {
            slots.removeAll { $0 == nil }
            (places, searches) = (nil, 0)
        }
        return member.value
    }

    private func place(of name: [UInt8]) -> Int? {
        if let places { return places[name] }
        searches += 1
        if searches <= Self.searchLimit || slots.count <= Self.searchLimit {
            return slots.firstIndex { $0?.name == name }
        }
        var places: [[UInt8]: Int] = [:]
        places.reserveCapacity(count)
        for (place, member) in slots.enumerated() { if let member { places[member.name] = place } }
        self.places = places
        return places[name]
    }
}

extension JSONMembers: Sequence {
    func makeIterator() -> some IteratorProtocol<JSONValue.Member> { slots.lazy.compactMap(\.self).makeIterator() }
}
