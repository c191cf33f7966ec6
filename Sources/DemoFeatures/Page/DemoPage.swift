import CResources

/// The page that shows every demo feature as a small working view: a few files, built into the program.
public enum DemoPage {
    /// A file of the page.
    public struct File: Sendable {
        /// Where the server has it.
        public let path: String
        /// Its media type.
        public let contentType: String
        /// What is in it.
        public let bytes: [UInt8]
    }

    /// All of them.
    public static let files = [
        File(path: "/", contentType: "text/html; charset=utf-8", bytes: bytes(of: cresources_index_html())),
        File(path: "/style.css", contentType: "text/css; charset=utf-8", bytes: bytes(of: cresources_style_css())),
        File(path: "/app.js", contentType: "text/javascript; charset=utf-8", bytes: bytes(of: cresources_app_js())),
        File(path: "/icon.svg", contentType: "image/svg+xml", bytes: bytes(of: cresources_icon_svg())),
    ]

    /// A copy: the pointer is to the program's read-only data, and ends its way here.
    private static func bytes(of file: cresources_file) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}
