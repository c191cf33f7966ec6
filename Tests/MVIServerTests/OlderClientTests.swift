import Foundation
import MVI
import MVITesting
import TestSupport
import Testing

@testable import MVIServer

/// The client of the commit before shared stores, from the repository's history.
@Suite("A client from before shared stores", .timeLimit(.minutes(10)))
struct OlderClientTests {
    private static let root = #filePath.components(separatedBy: "/Tests/")[0]
    private static let commit = "1564fab84434d1b25b66574c7e13b9680790ff6a"

    /// False in a copy without the commit, such as one that was cloned without its history.
    private static func isThere() async throws -> Bool {
        guard Tool("node") != nil else { return false }
        return try await Tool.bash.output(["-c", "git -C \(root) cat-file -e \(commit)"]).code == 0
    }

    private static let script = #"""
        const { createClient } = await import(process.argv[2]);
        let wake = () => {};
        const changed = () => { const woken = wake; wake = () => {}; woken(); };
        const until = async (what, holds) => {
          while (!holds()) {
            console.log(`waiting: ${what}`);
            await new Promise((resolve) => { wake = resolve; });
          }
        };
        function open() {
          const window = new EventTarget();
          const client = createClient({ url: process.argv[3], credential: "bearer", platform: { window } });
          const [board, probe] = [client.store("board"), client.store("probe")];
          const person = { board, probe, labels: [], hellos: [], resets: 0, window };
          for (const store of [board, probe]) store.subscribe(changed);
          board.onLabel((label, { replay }) => { person.labels.push([label.note, replay]); changed(); });
          client.onEvent((event, data) => {
            if (event === "hello") person.hellos.push(data);
            if (event === "reset") person.resets += 1;
            changed();
          });
          return person;
        }
        const notes = (person) => JSON.stringify(person.board.state?.notes);
        const [ann, bob] = [open(), open()];
        await until("both see the board", () => notes(ann) === "[]" && notes(bob) === "[]");
        await ann.board.send({ type: "pin", note: "a" });
        await until("both see a note", () => [ann, bob].every((each) => notes(each) === '["a"]' && each.labels.length === 1));
        ann.window.dispatchEvent(new Event("offline"));
        await bob.board.send({ type: "pin", note: "b" });
        await bob.probe.send({ type: "add", amount: 5 });
        await until("a store of bob's session", () => bob.probe.state.count === 5);
        ann.window.dispatchEvent(new Event("online"));
        await until("what was missed", () => notes(ann) === '["a","b"]' && ann.labels.length === 2);
        const cat = open();
        await until("a newcomer sees the board", () => notes(cat) === '["a","b"]');
        console.log(JSON.stringify({
          ann: ann.labels, bob: bob.labels, cat: cat.labels, count: ann.probe.state.count,
          resumed: ann.hellos.map(({ resumed }) => resumed), resets: ann.resets + bob.resets + cat.resets,
          parts: ann.hellos.map(({ cursor }) => cursor.split("~").length),
        }));
        process.exit(0);
        """#

    @FeatureBuilder
    private static func content(_ gate: Gate) -> ServerContent {
        TestServer.probes(gate)
        Shared { Board() }.allows(.everyone)
    }

    @Test(.enabled("node and the commit are needed") { try await isThere() })
    func `shows a shared store, resumes where it was, and meets no reset`() async throws {
        try await TestServer.run(.socket, content: Self.content) { server in
            let (code, text) = try await Tool.bash.output([
                "-c",
                """
                set -euo pipefail
                folder=$(mktemp -d)
                trap 'rm -rf "$folder"' EXIT
                git -C \(Self.root) archive \(Self.commit) Clients/JavaScript | tar -x -C "$folder"
                cat >"$folder/script.mjs" <<'END'
                \(Self.script)
                END
                timeout 300 node "$folder/script.mjs" "$folder/Clients/JavaScript/mvi-client.js" \
                    http://127.0.0.1:\(server.port)
                """,
            ])
            #expect(code == 0, "\(text)")
            #expect(
                text.split(separator: "\n").last == #"""
                    {"ann":[["a",false],["b",true]],"bob":[["a",false],["b",false]],"cat":[],"count":0,\#
                    "resumed":[false,true],"resets":0,"parts":[2,2]}
                    """#)
        }
    }
}

/// A board that many sessions share.
private struct Board: Feature {
    struct State: Codable, Equatable, Sendable { var notes: [String] = [] }
    enum Intent: Codable, Sendable { case pin(note: String) }
    enum Message: Codable, Sendable { case pinned(String) }
    enum Label: Codable, Equatable, Sendable { case pinned(note: String) }

    static let examples: [Intent] = [.pin(note: "a")]
    static let labelExamples: [Label] = [.pinned(note: "a")]
    static let summary = "Notes."
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .pin(let note) = intent else { return }
        turn.dispatch(.pinned(note))
        turn.publish(.pinned(note: note))
    }
    func reduce(_ state: inout State, _ message: Message) {
        if case .pinned(let note) = message { state.notes.append(note) }
    }
}
