import CoreMetrics
import Locking

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The resources of the process, with the metric names of Prometheus' own libraries
/// (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics). Memory, files and threads are
/// measured on Linux only.
final class ProcessMetrics: Sendable {
    private let cpu: FloatingPointCounter
    private let lastCPU = Lock(0.0)
    private let resident: Meter
    private let virtual: Meter
    private let openFiles: Meter
    private let maxFiles: Meter
    private let threads: Meter

    init(_ factory: any MetricsFactory) {
        cpu = FloatingPointCounter(label: "process_cpu_seconds_total", factory: factory)
        resident = Meter(label: "process_resident_memory_bytes", factory: factory)
        virtual = Meter(label: "process_virtual_memory_bytes", factory: factory)
        openFiles = Meter(label: "process_open_fds", factory: factory)
        maxFiles = Meter(label: "process_max_fds", factory: factory)
        threads = Meter(label: "process_threads", factory: factory)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        Meter(label: "process_start_time_seconds", factory: factory).set(
            Double(now.tv_sec) + Double(now.tv_nsec) / 1e9)
    }

    /// Sets all metrics.
    func update() {
        var usage = rusage()
        if getrusage(Self.own, &usage) == 0 {
            let now = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
            let grown = lastCPU.withLock { last in
                defer { last = max(last, now) }
                return now - last
            }
            if grown > 0 { cpu.increment(by: grown) }
        }
        maxFiles.set(OpenFiles.limit)
        if let count = Self.countOfOpenFiles() { openFiles.set(count) }
        guard let fields = Self.statistics(), fields.count > 21 else { return }
        threads.set(fields[17])
        virtual.set(fields[20])
        resident.set(fields[21] * Int64(sysconf(Int32(_SC_PAGESIZE))))
    }

    #if canImport(Glibc)
        private static let own = __rusage_who_t(RUSAGE_SELF.rawValue)
    #else
        private static let own = RUSAGE_SELF
    #endif

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    private static func countOfOpenFiles() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // `.`, `..` and the folder itself.
        return max(0, count - 3)
    }

    /// The fields after the program's name in `/proc/self/stat` (proc(5)) as numbers; the first is the process's state.
    private static func statistics() -> [Int64]? {
        let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 2_048) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        // The name may contain any character, including a bracket.
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        return bytes[(end + 1)...].split(separator: UInt8(ascii: " ")).map { field in
            Int64(String(decoding: field, as: UTF8.self)) ?? 0
        }
    }
}
