# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# /metrics beside the load tool's own counts, read by a Prometheus; and the dashboard, drawn from what it read.

# trial_metrics SECONDS PICTURE: the picture's file; empty for none. For a picture the sessions are in PostgreSQL, since a
# server that shares its journal has more metrics.
trial_metrics() {
    local length=$1 picture=$2 admin prometheus_port prometheus_pid='' ended code=0 database='' database_input='' journal=()
    "$root/script/bootstrap" metrics
    free_port admin
    free_port prometheus_port
    if [[ -n $picture ]]; then
        : >"$work/database"
        # It ends when its input does, with this script at the latest.
        exec {database_input}> >(PYTHONDONTWRITEBYTECODE=1 exec python3 "$root/Trials/metrics/database.py" >"$work/database")
        for _ in {1..600}; do
            read -r database <"$work/database" && break
            sleep 0.1
        done
        [[ -n $database ]] || die "PostgreSQL did not start within a minute (its words are above)"
        journal=(--journal "$database")
    fi
    start_server --admin-port "$admin" "${journal[@]}"
    mkdir -p "$work/prometheus"
    cat >"$work/prometheus.yml" <<YAML
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: mvi
    static_configs: [{targets: ["127.0.0.1:$admin"]}]
YAML
    prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" \
        --web.listen-address="127.0.0.1:$prometheus_port" >"$work/prometheus.log" 2>&1 &
    prometheus_pid=$!
    "$work/loadgen" load --port "$port" --streams "$(or "$streams" 1000 100)" --connections 16 --rate "${rate:-2000}" \
        --seconds "$length" --pid "$server_pid" --may-conflate --json "$work/load.json" >"$work/load.txt" 2>&1 &
    clients_pid=$!
    sleep "$((length / 2 + 1))"
    # Under load: as an operator asks.
    curl --silent --fail "http://127.0.0.1:$admin/metrics" >"$work/under-load.txt" || fault "/metrics does not answer under load"
    wait "$clients_pid" || fault "the load found faults: $(tail -n 5 "$work/load.txt")"
    clients_pid=
    # What comes next may take its time on a busy machine.
    ended=$((EPOCHSECONDS + 1))
    curl --silent --fail "http://127.0.0.1:$admin/metrics" >"$work/metrics.txt"
    promtool check metrics <"$work/metrics.txt" || fault "promtool check metrics is not content (its words are above)"
    "$root/.build-plots/bin/python" "$root/Trials/metrics/compare.py" "$work/load.json" "$work/metrics.txt" \
        "$work/under-load.txt" || fault "the counts differ (the lines above have them)"
    if [[ -n $picture ]]; then
        "$root/.build-plots/bin/python" "$root/Trials/metrics/draw.py" "$root/deploy/grafana.json" \
            "http://127.0.0.1:$prometheus_port" "$length" "$ended" "$picture" || code=$?
        ((code == 0)) || fault "the dashboard could not be drawn, or asks for what is not there"
    fi
    kill "$prometheus_pid" 2>/dev/null || true
    wait "$prometheus_pid" 2>/dev/null || true
    stop_server
    [[ -z $picture ]] || exec {database_input}>&-
}
