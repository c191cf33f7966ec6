# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# The OpenAPI file that the server hands out as a test of the server: Schemathesis makes requests of it, good and bad
# ones, and holds the answers against it.

# figure PROGRAM: of the report of Schemathesis, as `d`.
figure() {
    "$root/.build-contract/bin/python" -c "import json, sys; d = json.load(open(sys.argv[1])); print($1)" \
        "$work/contract.json"
}

# run_schemathesis ARGUMENT...: adds to the counts; shows what it says only if there were failures.
run_schemathesis() {
    local code=0
    rm -f "$work/contract.json"
    (
        # It keeps notes of its runs where it stands.
        cd "$work"
        CONTRACT_URL=http://127.0.0.1:$port PYTHONPATH=$root/Trials/contract PYTHONDONTWRITEBYTECODE=yes \
            timeout 600 "$root/.build-contract/bin/schemathesis" \
            --config-file "$root/Trials/contract/schemathesis.toml" run "$work/openapi.yaml" \
            --url "http://127.0.0.1:$port" --seed "$seed" --no-color --report json --report-json-path "$work/contract.json" "$@"
    ) >"$work/contract.out" 2>&1 || code=$?
    if [[ ! -s $work/contract.json ]]; then
        cat "$work/contract.out"
        fault "Schemathesis could not finish (code $code; its words are above)"
        return
    fi
    operations="$(figure 'd["operations"]["tested"]') of $(figure 'd["operations"]["total"]')"
    cases=$((cases + $(figure 'd["test_cases"]["generated"]')))
    failures=$((failures + $(figure 'd["test_cases"]["unique_failures"] + len(d["errors"])')))
    ((code == 0)) && return
    sed -n '/= FAILURES =\|= ERRORS =/,$p' "$work/contract.out"
    fault "Schemathesis ended with code $code (what it found is above)"
}

# The document with the features' own paths and types, which no server hands out, is checked as a document.
check_made_document() {
    "$server" schema --openapi >"$work/made.yaml" || fault "'schema --openapi' failed"
    "$root/.build-contract/bin/python" "$root/Trials/contract/valid.py" <"$work/made.yaml" \
        || fault "what 'schema --openapi' prints is not OpenAPI 3.1 (the errors are above)"
}

# trial_contract CASES SCENARIOS: so many random cases an operation, and scenarios of linked requests.
trial_contract() {
    local operations=none cases=0 failures=0
    echo "seed                     $seed"
    "$root/script/bootstrap" contract
    check_made_document
    # Nothing depends on how long a wait is. hooks.py signs in with JWTs of its own.
    export CONTRACT_ISSUER=https://login.example.com/ CONTRACT_AUDIENCE=contract
    export CONTRACT_SECRET=a-secret-of-this-trial-and-of-nothing-else
    start_server --demo-latency 20ms --max-wait-seconds 1s --log-level warning --jwt-issuer "$CONTRACT_ISSUER" \
        --jwt-audience "$CONTRACT_AUDIENCE" --jwt-secret "$CONTRACT_SECRET"
    curl --silent --fail --max-time 10 --output "$work/openapi.yaml" "http://127.0.0.1:$port/openapi.yaml" \
        || die "the server hands out no openapi.yaml"
    # The cookie of a port that is not the default.
    sed -i "s/name: mvi_session\$/name: mvi_session_$port/" "$work/openapi.yaml"
    run_schemathesis --phases examples,coverage,fuzzing --max-examples "$1"
    echo "operations               $operations"
    run_schemathesis --phases stateful --max-examples "$2"
    echo "cases                    $cases"
    echo "failures                 $failures"
    is_ready || fault "the server does not answer after this; its last lines: $(tail -n 5 "$work/server.log")"
    stop_server
}
