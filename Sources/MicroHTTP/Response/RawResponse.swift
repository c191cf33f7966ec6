import CMicroHTTPD
import Glibc

/// Serializes a response where libmicrohttpd can no longer send one: while a body is arriving, and after a timeout.
enum RawResponse {
    /// Returns the whole message, with `Connection: close`.
    static func bytes(_ response: Response, time: time_t = Glibc.time(nil)) -> [UInt8] {
        var body: [UInt8] = []
        if case .bytes(let bytes) = response.body { body = bytes }
        let reason = String(cString: MHD_get_reason_phrase_for(UInt32(response.status)))
        var head = "HTTP/1.1 \(response.status) \(reason)\r\nDate: \(date(time))\r\nConnection: close\r\n"
        for field in response.fields where field.standing == .sent {
            head += "\(field.name): \(field.value)\r\n"
        }
        return Array((head + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    /// Formats a date as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), independently of the locale.
    static func date(_ time: time_t) -> String {
        var time = time
        var parts = tm()
        gmtime_r(&time, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
            + "\(parts.tm_year + 1900) \(clock) GMT"
    }
}
