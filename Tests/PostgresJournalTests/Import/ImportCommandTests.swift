import TestSupport
import Testing

/// The program itself, with curl as a client that is unaware of the move.
@Suite("mvi-server import", .timeLimit(.minutes(10)))
struct ImportCommandTests {
    /// Functions for the script: a server on a free port, requests, and the beginning of a stream.
    private static let functions = #"""
        set -euo pipefail
        server=
        trap 'kill $server 2>/dev/null || true; wait' EXIT
        # start FLAGS…: a server on a free port.
        start() {
            : >log
            mvi-server --port 0 "$@" >>log 2>&1 & server=$!
            port=
            until [[ $port ]]; do
                kill -0 $server || { cat log; exit 1; }
                port=$(sed -nE 's/.* address=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' log | head -n 1)
            done
            until curl -sf "127.0.0.1:$port/health/ready" >/dev/null; do kill -0 $server; done
        }
        stop() { kill $server; wait $server || true; server=; }
        # ask TOKEN PATH [curl's…]: status, fields and body, without what each answer has of its own.
        ask() { curl -si "127.0.0.1:$port$2" -H "Authorization: Bearer $1" "${@:3}" | tr -d '\r' | grep -vi '^date:'; }
        add() {
            ask "$1" /features/counter/intents -H 'Content-Type: application/json' -H "Idempotency-Key: \"$2\"" \
                -d '{"type":"add","amount":7}'
        }
        # stream TOKEN [curl's…]: what it begins with, to its first state.
        stream() {
            local line state=
            coproc { exec curl -sN "127.0.0.1:$port/events?feature=counter" -H "Authorization: Bearer $1" "${@:2}"; }
            while IFS= read -r line <&"${COPROC[0]}"; do
                echo "$line"
                if [[ $line == 'event: state' ]]; then state=yes; fi
                if [[ $state && ! $line ]]; then break; fi
            done
            # A test's threads block other signals, and what they start does.
            kill -9 "$COPROC_PID"
            wait "$COPROC_PID" || true
        }
        refused() { if mvi-server import "$@" 2>error; then echo "an import with $* succeeded"; exit 1; fi; }
        said() { grep -q -- "$1" error || { cat error; exit 1; }; }
        """#

    @Test func `clients go on after the move where they were before it`() async throws {
        let cluster = try await Cluster.shared.value
        let schema = "moved_\(UInt64.random(in: 0 ... .max))"
        let source = try SourceFolder()
        let (code, text) = try await Tool.bash.output([
            "-c",
            #"""
            PATH=\#(Tool.folder):$PATH
            cd \#(source.path)
            \#(Self.functions)
            mkdir data
            database=(--journal '\#(cluster.url())' --journal-schema \#(schema))
            start --data data
            empty=$(curl -sf "127.0.0.1:$port/sessions" -X POST | sed -E 's/.*"token":"([^"]*)".*/\1/')
            token=$(curl -sf "127.0.0.1:$port/sessions" -X POST | sed -E 's/.*"token":"([^"]*)".*/\1/')
            curl -sf -c jar "127.0.0.1:$port/sessions" -H 'Content-Type: application/json' -d '{"credential":"cookie"}' >/dev/null
            curl -sf -b jar "127.0.0.1:$port/features/counter/intents" -H 'Content-Type: application/json' \
                -H "Origin: http://127.0.0.1:$port" -d '{"type":"add","amount":3}' >/dev/null
            answer=$(add "$token" one)
            state=$(ask "$token" /features/counter/state)
            cursor=$(stream "$token" | sed -n 's/^id: //p' | tail -n 1)
            [[ $state == *'"count":7'* && $cursor ]]
            refused --data data "${database[@]}"
            said 'nothing was imported. Another server uses the journal'
            stop

            refused --data data
            said 'An import needs a PostgreSQL database. Name it with --journal'
            mvi-server import --data data "${database[@]}" | tee report
            grep -q ': 2 sessions, 2 stores, 0 credentials, .* 1 receipts' report

            former=$port
            start --data data "${database[@]}"
            # The cookie's name had the port.
            sed -i "s/$former/$port/" jar
            [[ $(ask "$token" /features/counter/state) == "$state" ]]
            etag=$(sed -n 's/^etag: //Ip' <<<"$state")
            [[ $(ask "$token" /features/counter/state -H "If-None-Match: $etag") == 'HTTP/1.1 304 '* ]]
            again=$(add "$token" one)
            [[ $again == *'Idempotency-Replayed: true'* && ${again##*$'\n'} == "${answer##*$'\n'}" ]]
            [[ $(ask "$token" /features/counter/state) == "$state" ]]
            stream "$token" -H "Last-Event-ID: $cursor" >resumed
            grep -q '"resumed":true' resumed && ! grep -q '^event: reset' resumed
            [[ $(ask "$empty" /sessions/current) == 'HTTP/1.1 200 '* ]]
            [[ $(curl -sf -b jar "127.0.0.1:$port/features/counter/state") == *'"count":3'* ]]
            [[ $(add "$token" two) == 'HTTP/1.1 20'* && $(ask "$token" /features/counter/state) == *'"count":14'* ]]
            refused --data data "${database[@]}"
            said 'A server used the journal in .* Stop all of them first'
            stop
            refused --data data "${database[@]}"
            said 'nothing was imported. The journal in .* has sessions'
            """#,
        ])
        #expect(code == 0, "\(text)")
    }
}
