#if canImport(Network)
    import Network
#endif

/// The network's availability according to the system.
enum SystemNetwork {
    /// The changes of the network's availability; nil if the system does not report them, such as on Linux.
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
