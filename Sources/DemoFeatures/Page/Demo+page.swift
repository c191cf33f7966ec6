import CResources
import MVIServer

extension Demo {
    /// A page with a small working view of every feature, built into the program.
    package static let page = [
        PageResource(path: "/", contentType: "text/html; charset=utf-8", bytes: bytes(of: cresources_index_html())),
        PageResource(
            path: "/style.css", contentType: "text/css; charset=utf-8", bytes: bytes(of: cresources_style_css())),
        PageResource(
            path: "/app.js", contentType: "text/javascript; charset=utf-8", bytes: bytes(of: cresources_app_js())),
        PageResource(path: "/icon.svg", contentType: "image/svg+xml", bytes: bytes(of: cresources_icon_svg())),
    ]

    /// Returns a copy of the program's read-only data.
    private static func bytes(of file: cresources_file) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}
