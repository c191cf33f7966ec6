# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/bench share their variables
# A database for a server, new each time, so that none pays for what another left.

postgres_pid=''
trap 'stop_postgres; clean_up' EXIT

# start_postgres: PostgreSQL as it is by default, on a socket only; sets `database` to its URL.
start_postgres() {
    local folder=$work/postgres programs as=()
    stop_postgres
    # Debian has the programs outside the path.
    programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    [[ -n $programs ]] || programs=$(dirname "$(command -v initdb)")
    rm -rf "$folder"
    mkdir "$folder"
    # PostgreSQL does not run as root.
    if ((EUID == 0)); then
        as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
        chmod go+x "$work"
        chown nobody "$folder"
    fi
    (cd / && "${as[@]}" "$programs/initdb" -D "$folder/data" -U mvi -A trust -E UTF8 --locale=C) >"$work/postgres.log" 2>&1 \
        || die "initdb failed: $(tail -n 3 "$work/postgres.log")"
    "${on_server_core[@]}" "${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \
        >>"$work/postgres.log" 2>&1 &
    postgres_pid=$!
    for _ in {1..400}; do
        "$programs/pg_isready" --quiet --host "$folder" && break
        kill -0 "$postgres_pid" 2>/dev/null || die "PostgreSQL ended at its start: $(tail -n 3 "$work/postgres.log")"
        sleep 0.05
    done
    database="postgres://mvi@/postgres?host=$folder"
}

stop_postgres() {
    [[ -n $postgres_pid ]] || return 0
    kill -INT "$postgres_pid" 2>/dev/null || true
    wait "$postgres_pid" 2>/dev/null || true
    postgres_pid=
}
