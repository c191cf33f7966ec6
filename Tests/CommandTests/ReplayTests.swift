import Foundation
import MVI
import Sessions
import TestSupport
import Testing

@testable import MVIServer

/// Tests export --sample and replay with the program and sessions that its server recorded.
@Suite("Replaying recorded sessions", .timeLimit(.minutes(10)))
struct ReplayTests {
    private static let functions = #"""
        set -euo pipefail
        server=
        trap 'kill $server 2>/dev/null || true; wait' EXIT
        # serve FLAG…: a server on a free port.
        serve() {
            # There before the server is, and without the lines of another one.
            : >log
            mvi-server --port 0 --demo-latency 0s "$@" >>log 2>&1 & server=$!
            port=
            until [[ $port ]]; do
                kill -0 $server || { cat log; exit 1; }
                port=$(sed -nE 's/.* address=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' log | head -n 1)
            done
        }
        # record COUNT: so many sessions of a counter and a section view, recorded into the folder data.
        record() {
            mkdir data
            serve --data data --record-turns 50
            for ((each = 0; each < $1; each++)); do
                curl -sf -c jar$each -o /dev/null "127.0.0.1:$port/sessions" -H 'Content-Type: application/json' -d '{"credential":"cookie"}'
                for intent in '{"type":"add","amount":5}' '{"type":"add","amount":-2}' '{"type":"load"}'; do
                    curl -sf -b jar$each -o /dev/null -H 'Prefer: wait=10' "127.0.0.1:$port/features/counter/intents" \
                        -H 'Content-Type: application/json' -d "$intent"
                done
                curl -sf -b jar$each -o /dev/null -H 'Prefer: wait=10' "127.0.0.1:$port/features/user-info/state"
            done
            kill $server
            wait $server || true
            server=
        }
        # fails COMMAND…: with the code 1 and its output in the file out.
        fails() { local code=0; "$@" >out 2>error || code=$?; ((code == 1)) || { cat out error; echo "code $code"; exit 1; }; }
        """#

    private func run(_ script: String) async throws {
        let temporary = try TemporaryFolder()
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(temporary.path)\n\(Self.functions)\n\(script)",
        ])
        #expect(code == 0, "\(text)")
    }

    @Test func `a recorded session goes on from one of its turns in a developer's folder, for its token`() async throws
    {
        try await run(
            #"""
            record 1
            mvi-server export --sample 1 --redacted --into all --data data
            file=$(echo all/*.json)
            grep -q '"receipts":\[\],"credentials":\[\],"reminders":\[\]' "$file"
            mvi-server replay all --require counter
            fails mvi-server import "$file" --at 9999 --data dev
            grep -q "has recorded turns from 1 to " error
            [[ ! -e dev ]]
            token=$(mvi-server import "$file" --at 2 --data dev 2>said)
            grep -q 'counter' said
            serve --data dev
            # After the first intent, which added 5.
            state=$(curl -sf -H "Authorization: Bearer $token" "127.0.0.1:$port/features/counter/state")
            [[ $state == *'"count":5'* ]] || { echo "$state"; exit 1; }
            # It goes on from there.
            curl -sf -H "Authorization: Bearer $token" "127.0.0.1:$port/features/counter/intents" \
                -H 'Content-Type: application/json' -d '{"type":"increment"}' -o /dev/null
            state=$(curl -sf -H "Authorization: Bearer $token" "127.0.0.1:$port/features/counter/state")
            [[ $state == *'"count":6'* ]] || { echo "$state"; exit 1; }
            """#)
    }

    @Test func `the same build finds no difference, and a changed recording is found with its turn`() async throws {
        try await run(
            #"""
            record 3
            mvi-server export --sample 2 --into some --data data
            [[ $(ls some | wc -l) == 2 ]]
            mvi-server export --sample 10 --into all --data data
            [[ $(ls all | wc -l) == 3 && $(stat -c %a all) == 700 ]]
            mvi-server replay all --require counter,user-info >out || { cat out; exit 1; }
            grep -q '"sessions":3,"turns":[1-9][0-9]*,"differences":\[\],"unreadable":\[\],"missing":\[\]' out || { cat out; exit 1; }
            fails mvi-server replay all --require counter,video-list
            grep -q '"missing":\["video-list"\]' out

            # As if the reducer had computed something else in one turn.
            file=$(ls -d all/* | head -n 1)
            turn=$(grep -oE '"sequence":[0-9]+,"feature":"counter".*"count":3,' "$file" | head -n 1 | grep -oE '^"sequence":[0-9]+' | cut -d: -f 2)
            sed -i "/\"sequence\":$turn,\"feature\":\"counter\"/s/\"state\":{\"count\":3,/\"state\":{\"count\":4,/" "$file"
            fails mvi-server replay all
            grep -q "\"feature\":\"counter\",\"turn\":$turn,\"what\":\"state\",\"recorded\":{\"count\":4.*\"replayed\":{\"count\":3.*\"patch\":\[{\"op\":\"replace\",\"path\":\"/count\",\"value\":3}\]" out || { cat out; exit 1; }
            [[ $(grep -c '"what"' out) == 1 ]]
            """#)
    }

    @Test func `a report shows the invisible characters of a file's name and of its ids`() throws {
        let id = "a\u{1B}\u{7F}\u{9B}\u{202E}\u{2028}\u{E0041}b"
        var report = ReplayReport(try FeatureRegistry([]))
        report.add(Array("{}".utf8), id)
        let text = String(decoding: report.document, as: UTF8.self)
        #expect(text.contains(#""file":"a\u001b\u007f\u009b\u202e\u2028\udb40\udc41b""#), "\(text)")
        #expect(!text.unicodeScalars.contains { $0.isInvisible && $0 != "\n" })
        let object = try JSONSerialization.jsonObject(with: Data(report.document)) as? [String: Any]
        #expect((object?["unreadable"] as? [[String: Any]])?.first?["file"] as? String == id)
    }

    @Test(arguments: [
        #""stores":[],"turns":[{"sequence":18446744073709551615,"feature":"a","recording":{}}]"#,
        #""stores":[],"turns":[{"sequence":9223372036854775808,"feature":"a","recording":{}}]"#,
        #""stores":[{"feature":"a","schemaVersion":1,"version":9223372036854775808,"state":{}}],"turns":[]"#,
        #""stores":[{"feature":"a","schemaVersion":1,"version":1,"sequence":9223372036854775808,"state":{}}],"turns":[]"#,
        #""stores":[{"feature":"a","schemaVersion":1,"version":1,"madeSequence":9223372036854775808,"state":{}}],"turns":[]"#,
    ])
    func `a document whose numbers are not below 2^63 is no session`(members: String) throws {
        var report = ReplayReport(try FeatureRegistry([]))
        report.add(Array(#"{"format":"mvi-session/1",\#(members)}"#.utf8), "file")
        let text = String(decoding: report.document, as: UTF8.self)
        #expect(text.contains("numbers of turns and versions are below 2^63"), "\(text)")
    }

    @Test func `a report has a bound, beyond which findings are counted`() throws {
        var report = ReplayReport(try FeatureRegistry([]))
        for line in 1...3_000 { report.add(Array("{}".utf8), "file:\(line)") }
        // The first difference or unreadable file is there whatever its size.
        let text = String(decoding: report.document, as: UTF8.self)
        #expect(report.isFailed && text.split(separator: "\n").count == 1_001)
        #expect(text.contains(#""file":"file:1000""#) && text.hasSuffix(#","omitted":2000}\#n"#), "\(text.suffix(99))")
        var large = ReplayReport(try FeatureRegistry([]))
        for _ in 1...5 { large.add(Array("{}".utf8), String(repeating: "a", count: 9 << 20)) }
        #expect(large.document.count < 10 << 20)
    }

    private func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    @Test func `one document is read at a time, of regular files only`() throws {
        let folder = try TemporaryFolder()
        let lines = "\(folder.path)/b.ndjson"
        let long = String(repeating: "x", count: 70_000)
        try write("one\n\n\(long)\ntwo\nlast", to: lines)
        try write("{\n}\n", to: "\(folder.path)/a.json")
        try write("other", to: "\(folder.path)/text")
        var found: [String] = []
        try Recordings.forEach(at: folder.path) { place, document in
            found.append("\(place.split(separator: "/").last ?? "") \(String(decoding: document, as: UTF8.self))")
        }
        #expect(
            found == ["a.json {\n}\n", "b.ndjson:1 one", "b.ndjson:3 \(long)", "b.ndjson:4 two", "b.ndjson:5 last"])
        // A document is taken before the next one is read.
        var (taken, error): (Int, CommandFailure?) = (0, nil)
        error = #expect(throws: CommandFailure.self) {
            try Recordings.forEach(at: lines, longest: 10) { _, _ in taken += 1 }
        }
        #expect(taken == 1 && error?.description.contains("in line 3 has more than 10 bytes") == true)
        let pipe = "\(folder.path)/pipe.json"
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, folder.path] {
            error = #expect(throws: CommandFailure.self) { try Recordings.forEach(at: path) { _, _ in } }
            #expect(error?.description.contains("pipe.json' is not a regular file") == true)
        }
    }

    @Test func `what cannot be replayed is named, and so is a wrong path`() async throws {
        try await run(
            #"""
            mkdir sessions empty
            echo '{"format":"mvi-session/1","stores":[],"turns":[{"sequence":1,"feature":"gone","recording":{}}]}' >sessions/a.json
            echo '{"format":"other"}' >sessions/b.json
            echo nonsense >sessions/c.ndjson
            fails mvi-server replay sessions
            grep -q 'a.json","feature":"gone","reason":"The program has no feature' out
            grep -q 'b.json","reason":"The file has the format' out
            grep -q 'c.ndjson:1","reason":"The file is not an exported session' out
            fails mvi-server replay empty
            grep -q 'has no .json or .ndjson file' error
            fails mvi-server replay missing.json
            grep -q "'missing.json'.*No such file" error
            """#)
    }
}
