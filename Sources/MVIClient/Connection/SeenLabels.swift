/// The ids of the labels that were delivered last, to detect repetitions.
struct SeenLabels: Sendable {
    static let limit = 1_000
    private var ids: Set<String> = []
    /// A ring buffer. If it is full, the oldest id is at `oldest`.
    private var order: [String] = []
    private var oldest = 0

    /// Adds an id. Returns false if it is present already.
    mutating func insert(_ id: String) -> Bool {
        guard ids.insert(id).inserted else { return false }
        if order.count < Self.limit {
            order.append(id)
        } else {
            ids.remove(order[oldest])
            order[oldest] = id
            oldest = (oldest + 1) % Self.limit
        }
        return true
    }
}
