# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# nginx, HAProxy and Apache with the settings of docs/proxies.md in front of the server: how much later events come,
# whether streams resume, stay and end, and how many a browser may have.

# trial_proxies INTENTS PROXIES: so many intents on each way; the proxies' names with commas, or none for all.
trial_proxies() {
    local code=0 proxies=${2:-nginx,haproxy,apache}
    "$root/script/bootstrap" proxies
    mkdir "$work/proxies"
    # The proxies' own processes may have another user.
    chmod 711 "$work"
    # shellcheck disable=SC2086  # the names are words of their own
    PYTHONDONTWRITEBYTECODE=1 "$root/.build-browsers/bin/python" "$root/Trials/proxies/main.py" ${proxies//,/ } \
        --server "$server" --folder "$work/proxies" --intents "$1" || code=$?
    case $code in
    0) ;;
    1) fault "a proxy does not do what docs/proxies.md says (the lines above have it)" ;;
    *) fault "the proxies could not be tried (code $code)" ;;
    esac
}
