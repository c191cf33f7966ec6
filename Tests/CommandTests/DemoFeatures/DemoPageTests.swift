import MVI
import Testing
import WireJSON

@testable import DemoFeatures

@Suite struct DemoPageTests {
    private func text(_ path: String) throws -> String {
        let file = try #require(Demo.page.first { $0.path == path })
        return String(decoding: file.bytes, as: UTF8.self)
    }

    @Test func `the page's files are there, with their types`() throws {
        #expect(Demo.page.map(\.path) == ["/", "/style.css", "/app.js", "/icon.svg"])
        #expect(try text("/").hasPrefix("<!doctype html>"))
        #expect(try text("/app.js").hasSuffix("cards.forEach(watch);\n"))
        #expect(Demo.page.allSatisfy { !$0.bytes.contains(0) })
    }

    @Test func `the page requests only its own files`() throws {
        let page = try text("/")
        let known = Set(Demo.page.map(\.path))
        for match in page.matches(of: /(?:src|href)="([^"]*)"/) {
            let target = String(match.1)
            #expect(target.hasPrefix("#") || known.contains(target), "\(target) is not served")
        }
        #expect(try text("/style.css").firstMatch(of: /url\(|@import/) == nil)
        // The server's own file.
        let imports = try text("/app.js").matches(of: /import [^"]*"([^"]*)"/).map { String($0.1) }
        #expect(imports == ["/mvi-client.js"])
    }

    // https://www.w3.org/TR/CSP3/: a policy without 'unsafe-inline' refuses all of these.
    @Test func `nothing is inline, so that a strict policy works`() throws {
        let page = try text("/")
        #expect(page.firstMatch(of: /<style|\sstyle=|\son[a-z]+=|javascript:/) == nil)
        #expect(page.matches(of: /<script/).count == 1)
        #expect(page.contains(#"<script type="module" src="/app.js"></script>"#))
        #expect(try text("/app.js").firstMatch(of: /innerHTML|outerHTML|eval\(|new Function|\.style\b/) == nil)
    }

    @Test func `every button's intent is one of its feature`() throws {
        var found: [String: Set<String>] = [:]
        let page = try text("/")
        for card in page.split(separator: "<article").dropFirst() {
            let name = String(try #require(card.firstMatch(of: /data-feature="([^"]*)"/)).1)
            for match in card.matches(of: /<button[^>]*data-intent='([^']*)'/) {
                let bytes = Array(match.1.utf8)
                found[name, default: []].insert(String(match.1))
                switch name {
                case "counter": _ = try WireJSON.decode(Counter.Intent.self, from: bytes)
                case "video-list": _ = try WireJSON.decode(VideoList.Intent.self, from: bytes)
                case "user-info": _ = try WireJSON.decode(UserInfo.Intent.self, from: bytes)
                case "lesson-detail": _ = try WireJSON.decode(LessonDetail.Intent.self, from: bytes)
                case "order-detail": _ = try WireJSON.decode(OrderDetail.Intent.self, from: bytes)
                case "checklist": _ = try WireJSON.decode(Checklist.Intent.self, from: bytes)
                default: Issue.record("the page shows \(name), which is not a feature of the demo")
                }
            }
        }
        #expect(found.count == 6)
        #expect(found["lesson-detail"]?.count == LessonDetail.examples.count)
        #expect(found["counter"]?.count == 3)
    }

    @Test func `the page handles every label`() throws {
        let script = try text("/app.js")
        let labels: [any Encodable] =
            Counter.labelExamples + VideoList.labelExamples + UserInfo.labelExamples + LessonDetail.labelExamples
            + OrderDetail.labelExamples + Checklist.labelExamples
        for label in labels {
            let json = String(decoding: try WireJSON.encode(label), as: UTF8.self)
            let type = try #require(json.firstMatch(of: /"type":"([^"]*)"/)).1
            #expect(script.contains("  \(type): (label) =>"), "no text for the label \(type)")
        }
    }

    @Test func `the choices are existing lessons and orders, and a missing one`() throws {
        let demo = try Demo(databasePath: nil, logger: LogRecorder().logger)
        let page = try text("/")
        let keys = page.matches(of: /<option value="([^"]*)"/).map { String($0.1) }
        #expect(keys.filter { demo.lessonDetail($0) != nil } == ["7", "8", "9", "10"])
        #expect(keys.filter { demo.orderDetail($0) != nil } == ["42", "43", "44", "45"])
        #expect(keys.filter { $0 == "99" }.count == 2)
    }
}
