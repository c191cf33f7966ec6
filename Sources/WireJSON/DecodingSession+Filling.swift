/// Members that a stored value lacks come from the same place of another text.
extension DecodingSession {
    /// The counterpart of an object that is asked for with such keys; nil if it has none or is no struct.
    ///
    /// A dictionary's members have no fixed places, and a case's members belong to that case alone. Keys that take any
    /// name are a dictionary's too.
    func fill<Key: CodingKey>(of node: Int, keyedBy keys: Key.Type, owner: any Any.Type) -> Int? {
        guard let fill = fills[node], !EnumShape.isEnum(owner), EnumShape.isClosed(keys),
            !EnumShape.areCaseKeys(keys)
        else { return nil }
        return fill
    }

    /// The value of a member, the counterpart's where the object has none.
    func value(of object: Int, filledFrom fill: Int, named name: String) -> Int? {
        let other = value(of: fill, named: name)
        guard let own = value(of: object, named: name) else { return other }
        if let other { note(other, asFillOf: own) }
        return own
    }

    /// Pairs two objects.
    func note(_ fill: Int, asFillOf node: Int) {
        if kind(node) == .object, kind(fill) == .object { fills[node] = fill }
    }
}
