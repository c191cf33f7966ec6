# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # the parts of script/trial share their variables; awk has its own
# The server is stopped, or killed, and started again while streams are open: they come back as an EventSource does,
# straight or through nginx, and nothing that was acknowledged is lost or doubled.

# The page's configuration with the ports of this run, without TLS, and with every file in a folder of its own.
write_proxy_settings() {
    awk '
        # The server that leads to https has no place here.
        /^    server \{$/ { held = $0; holding = 1; next }
        holding { held = held "\n" $0 }
        holding && /^    }$/ { if (held !~ /return 308/) print held; holding = 0; next }
        !holding { print }' "$root/deploy/proxies/nginx.conf" \
        | sed -E -e "s|listen 443 ssl http2;|listen 127.0.0.1:$proxy_port;|" -e '/listen \[::\]|ssl_/d' \
            -e "s|server 127.0.0.1:8080;|server 127.0.0.1:$port;|" \
            -e "s|/run/nginx.pid|$work/proxy/pid|; s|/var/log/nginx|$work/proxy|" \
            -e "s|^http \{|&\n    client_body_temp_path $work/proxy/body; proxy_temp_path $work/proxy/proxied;|" \
            -e "s|^    client_body_temp_path.*|& fastcgi_temp_path $work/proxy/f;|" \
            -e "s|^    client_body_temp_path.*|& uwsgi_temp_path $work/proxy/u; scgi_temp_path $work/proxy/s;|" \
            >"$work/proxy/nginx.conf"
    ((EUID == 0)) || sed -i '/^user /d' "$work/proxy/nginx.conf"
}

start_proxy() {
    local nginx
    "$root/script/bootstrap" proxy
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || die "no 'nginx' on the PATH"
    free_port proxy_port
    mkdir "$work/proxy"
    # nginx's own processes may have another user.
    chmod 711 "$work" "$work/proxy"
    write_proxy_settings
    "$nginx" -p "$work/proxy" -c "$work/proxy/nginx.conf" -e "$work/proxy/error.log" -g 'daemon off;' \
        >"$work/proxy/out" 2>&1 &
    proxy_pid=$!
    for _ in {1..100}; do
        (: <"/dev/tcp/127.0.0.1/$proxy_port") 2>/dev/null && return
        sleep 0.05
    done
    cat "$work/proxy/out" "$work/proxy/error.log" >&2
    die "nginx does not listen (its words are above)"
}

# hold_requests PART: a few requests that do not end, straight to the server.
hold_requests() {
    : >"$work/held"
    "$work/loadgen" hold --parts "$1" --clients 4 --sessions 4 --connections 1 --rate 5 --port "$port" \
        >/dev/null 2>"$work/held" &
    holder_pid=$!
    for _ in {1..200}; do
        grep -q 'are held' "$work/held" && return
        sleep 0.05
    done
    die "nothing is held: $(cat "$work/held")"
}

# restart_once KILL | TERM: until every stream is back.
restart_once() {
    local code=0 began took
    restarts=$((restarts + 1))
    [[ -z $parts ]] || hold_requests "$parts"
    kill -USR1 "$clients_pid"
    began=$(now_ms)
    end_server "$1" || code=$?
    took=$(($(now_ms) - began))
    echo "- $([[ $1 == TERM ]] && echo "stopped by SIGTERM: code $code after $took ms" || echo 'killed by SIGKILL')"
    if [[ $1 == TERM ]]; then
        ((code == 0)) || fault "the server ended with code $code after SIGTERM; its last lines: $(tail -n 5 "$work/server.log")"
        ((took <= 10000)) || fault "the server was not gone within its grace of 10 s"
    fi
    if [[ -n $holder_pid ]]; then
        kill -KILL "$holder_pid"
        wait "$holder_pid" 2>/dev/null || true
        holder_pid=
    fi
    ((away == 0)) || sleep "$away"
    run_server "${server_flags[@]}"
    await_ready
    kill -USR2 "$clients_pid"
    for _ in {1..900}; do
        grep -q "round $restarts is over" "$work/clients.log" && break
        clients_live || break
        sleep 0.1
    done
    cat "$work/clients.out"
    if ! grep -q "round $restarts is over" "$work/clients.log"; then
        fault "after 90 s streams are neither back nor refused"
    elif [[ $1 == TERM ]] && ! grep -qE '^ends .* 0 without$' "$work/clients.out"; then
        fault "streams were cut off without a goaway"
    fi
    : >"$work/clients.out"
}

# restart_through NAME STREAMS: straight, or with nginx in front.
restart_through() {
    local restarts=0 server_flags=(--log-level warning) client_flags=(--streams "$2" --rate 500)
    echo "--- $2 streams, $1"
    new_server
    if [[ $1 == nginx ]]; then
        start_proxy
        server_flags+=(--trusted-proxy 127.0.0.1)
        client_flags+=(--port "$proxy_port" --proxied)
    fi
    run_server "${server_flags[@]}"
    await_ready
    start_clients --seed "$seed" "${client_flags[@]}"
    sleep 3
    restart_once TERM
    sleep 3
    restart_once KILL
    sleep 3
    finish_clients
    stop_server
    stop_proxy
}

# trial_restart STREAMS AWAY: the server stays away for so many seconds.
trial_restart() {
    local away=$2
    need_files $(($1 + 600))
    restart_through direct "$1"
    [[ -z $nginx ]] || restart_through nginx "$1"
}
