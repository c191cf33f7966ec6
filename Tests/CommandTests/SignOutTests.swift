import MVI
import SQLiteJournal
import SessionJournal
import TestSupport
import Testing

@testable import MVIServer

/// Tests sign-out, restore --sign-out and rotate-key with the program and a server that it stops and restarts.
@Suite("Signing everybody out, and another key", .timeLimit(.minutes(10)))
struct SignOutTests {
    /// Shell functions: a server on a free port and a folder, JWTs, sessions and the statuses of their tokens.
    private static let functions = #"""
        set -euo pipefail
        export MVI_JWT_SECRET=0123456789abcdef0123456789abcdef MVI_JWT_ISSUER=i MVI_JWT_AUDIENCE=a
        server=
        trap 'kill $server 2>/dev/null || true; wait' EXIT
        start() {
            rm -f "$1.log"
            touch "$1.log"
            mvi-server --port 0 --data "$@" >>"$1.log" 2>&1 & server=$!
            port=
            until [[ $port ]]; do
                kill -0 $server || { cat "$1.log"; exit 1; }
                port=$(sed -nE 's/.* address=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' "$1.log" | head -n 1)
            done
        }
        stop() { kill $server; wait $server || true; server=; }
        jwt() {
            /usr/bin/python3 -c 'import jwt, sys, time; print(jwt.encode({"iss": "i", "aud": "a", "sub": sys.argv[1],
                "exp": int(time.time()) + 600}, "'$MVI_JWT_SECRET'", "HS256"))' "$1"
        }
        # made BODY: the token of a new session.
        made() {
            curl -sf "127.0.0.1:$port/sessions" -H 'Content-Type: application/json' -d "$1" | sed -E 's/.*"token":"([^"]*)".*/\1/'
        }
        # ask TOKEN METHOD PATH [curl's…]: status and body.
        ask() {
            curl -s "127.0.0.1:$port$3" -X "$2" -H "Authorization: Bearer $1" -w ' %{http_code}' "${@:4}"
        }
        add() { ask "$1" POST /features/counter/intents -H 'Content-Type: application/json' -d '{"type":"add","amount":7}' >/dev/null; }
        # refused COMMAND…: its error is in the file error.
        refused() { if "$@" 2>error; then echo "$* succeeded"; exit 1; fi; }
        # is TOKEN STATUS [TYPE]
        is() {
            local answer
            answer=$(ask "$1" GET /sessions/current)
            [[ $answer == *" $2" && $answer == *"${3-}"* ]] || { echo "expected $2 ${3-}, not $answer"; exit 1; }
        }
        """#

    private func run(_ script: String) async throws {
        let temporary = try TemporaryFolder()
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(temporary.path)\n\(Self.functions)\n\(script)",
        ])
        #expect(code == 0, "\(text)")
    }

    /// Sessions of each kind, which are ended after a backup.
    private static let sessions = #"""
        mkdir data
        start data
        empty=$(made '{}') anonymous=$(made '{}')
        add "$anonymous"
        own=$(made "{\"identity\":\"$(jwt ann)\"}")
        phone=$(made "{\"identity\":\"$(jwt bob)\",\"shared\":true}")
        tablet=$(made "{\"identity\":\"$(jwt bob)\",\"shared\":true}")
        for token in "$own" "$phone"; do add "$token"; done
        all=("$empty" "$anonymous" "$own" "$phone" "$tablet")
        for token in "${all[@]}"; do is "$token" 200; done

        """#

    @Test func `a restored backup restores sign-ins that were ended later, unless --sign-out is given`()
        async throws
    {
        try await run(
            Self.sessions + #"""
                mvi-server backup backup --data data
                for token in "$empty" "$anonymous" "$own" "$phone"; do ask "$token" DELETE /sessions/current >/dev/null; done
                ask "$tablet" DELETE '/sessions/current?everywhere=true' >/dev/null
                for token in "${all[@]}"; do is "$token" 404 session-ended; done
                stop
                mvi-server restore backup --data again
                start again
                for token in "${all[@]}"; do is "$token" 200; done
                stop

                mvi-server restore backup --data clean --sign-out
                start clean
                for token in "${all[@]}"; do is "$token" 404 session-not-found; done
                is "${empty:0:43}" 404 session-not-found
                back=$(made "{\"identity\":\"$(jwt bob)\",\"shared\":true}")
                [[ $(ask "$back" GET /features/counter/state) == *'"count":7'* ]]
                """#)
    }

    @Test func `sign-out ends all sign-ins of a journal that no server uses`() async throws {
        try await run(
            Self.sessions + #"""
                refused mvi-server sign-out --data data
                grep -q 'Another server uses the journal' error
                for token in "${all[@]}"; do is "$token" 200; done
                stop
                mvi-server sign-out --data data | grep -q ': all signed out, 3 sessions'
                start data
                for token in "${all[@]}"; do is "$token" 404 session-not-found; done
                back=$(made "{\"identity\":\"$(jwt bob)\",\"shared\":true}")
                [[ $(ask "$back" GET /features/counter/state) == *'"count":7'* ]]
                """#)
    }

    @Test func `forget deletes a subject's sessions of a running server, also again, and nobody else's`() async throws {
        try await run(
            #"""
            mkdir data
            admin=$((RANDOM % 10000 + 20000))
            export MVI_ADMIN_TOKEN=An-admin-token-012345
            refused mvi-server forget ann --issuer i --admin-port $admin
            grep -q "nothing listens on 127.0.0.1 port $admin" error
            refused mvi-server forget ann --issuer i
            grep -q 'admin-port' error
            start data --admin-port $admin
            ann=$(made "{\"identity\":\"$(jwt ann)\"}") bob=$(made "{\"identity\":\"$(jwt bob)\"}")
            for token in "$ann" "$bob"; do add "$token"; done
            mvi-server forget ann --admin-port $admin | grep -qx 'ann of i: 1 sessions with 1 stores deleted'
            is "$ann" 404 session-ended
            code=0
            mvi-server forget ann --issuer i --admin-port $admin 2>error || code=$?
            ((code == 2))
            grep -q 'ann of i: no session found' error
            is "$bob" 200
            [[ $(ask "$bob" GET /features/counter/state) == *'"count":7'* ]]
            [[ $(wc -l <data/forgotten.jsonl) == 2 && $(stat -c %a data/forgotten.jsonl) == 600 ]]
            """#)
    }

    @Test func `all tokens stay valid after the key was replaced`() async throws {
        try await run(
            Self.sessions + #"""
                refused mvi-server rotate-key --data data
                grep -q 'The key was not replaced.*Another server uses' error
                stop
                for count in 1 2; do
                    mvi-server rotate-key --data data
                    start data
                    all+=("$(made '{}')")
                    for token in "${all[@]}"; do is "$token" 200; done
                    stop
                done
                mvi-server sign-out --data data
                start data
                for token in "${all[@]}"; do is "$token" 404 session-not-found; done
                """#)
    }

    @Test func `a folder without a journal is an error, and none is created`() async throws {
        try await run(
            #"""
            mkdir data
            for command in sign-out rotate-key; do
                refused mvi-server $command --data data
                grep -q 'There is no journal in' error
            done
            [[ ! $(ls -A data) ]]
            """#)
    }
}
