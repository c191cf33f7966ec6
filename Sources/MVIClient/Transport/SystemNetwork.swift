#if canImport(Network)
    import Network
#endif

/// The system's view of the network.
enum SystemNetwork {
    /// Returns true if there is a network, as that changes; nil where the system does not say, such as on Linux.
    static func changes() -> AsyncStream<Bool>? {
        #if canImport(Network)
            let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
            continuation.onTermination = { _ in monitor.cancel() }
            monitor.start(queue: .global(qos: .utility))
            return stream
        #else
            return nil
        #endif
    }
}
