import SessionJournal

/// Sessions by the hashes of their tokens. Unlike a dictionary it copies no hashes, so that a place has eight bytes.
///
/// A hash table with linear probing, at most three quarters full.
struct SessionsByToken {
    private var places: [Session?] = []
    private(set) var count = 0

    /// All sessions, in no order.
    var all: [Session] { places.compactMap { $0 } }

    /// The session of a token. Only one of that token, or nil, can be set.
    subscript(hash: TokenHash) -> Session? {
        get { places.isEmpty ? nil : places[place(of: hash)] }
        set {
            guard let newValue else { return remove(hash) }
            if 4 * (count + 1) > 3 * places.count { resize(to: max(4, 2 * places.count)) }
            let place = place(of: hash)
            if places[place] == nil { count += 1 }
            places[place] = newValue
        }
    }

    /// The place where the session of a token is, or belongs.
    private func place(of hash: TokenHash) -> Int {
        var place = hash.hashValue & (places.count - 1)
        while let session = places[place], session.tokenHash != hash { place = (place + 1) & (places.count - 1) }
        return place
    }

    private mutating func remove(_ hash: TokenHash) {
        guard !places.isEmpty else { return }
        var place = place(of: hash)
        guard places[place] != nil else { return }
        count -= 1
        places[place] = nil
        // Those behind it may belong farther ahead.
        while let moved = places[(place + 1) & (places.count - 1)] {
            place = (place + 1) & (places.count - 1)
            places[place] = nil
            places[self.place(of: moved.tokenHash)] = moved
        }
        if places.count > 64, 8 * count < places.count { resize(to: places.count / 2) }
    }

    private mutating func resize(to size: Int) {
        let sessions = all
        places = Array(repeating: nil, count: size)
        for session in sessions { places[place(of: session.tokenHash)] = session }
    }
}
