# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# mvi-server doctor through nginx, HAProxy and Apache, with right and with wrong settings: what it must find, and no more.

# trial_doctor PROXIES: the proxies' names with commas, or none for all.
trial_doctor() {
    local code=0 proxies=${1:-nginx,haproxy,apache}
    "$root/script/bootstrap" proxies
    # The server starts it, from its own folder.
    [[ -n ${MVI_SERVER:-} ]] || swift build --package-path "$root" -c "$configuration" --product mvi-tools >&2
    mkdir "$work/doctor"
    # The proxies' own processes may have another user.
    chmod 711 "$work"
    # shellcheck disable=SC2086  # the names are words of their own
    PYTHONDONTWRITEBYTECODE=1 "$root/.build-browsers/bin/python" "$root/Trials/proxies/doctor.py" ${proxies//,/ } \
        --server "$server" --folder "$work/doctor" || code=$?
    case $code in
    0) ;;
    1) fault "doctor did not say what it had to (the lines above have it)" ;;
    *) fault "doctor could not be tried (code $code)" ;;
    esac
}
