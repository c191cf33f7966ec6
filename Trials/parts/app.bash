# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# A client on a bad network: the driver of the Kotlin client, or that of APP_DRIVER.

trial_app() {
    local driver=("${APP_DRIVER:-$root/Clients/Kotlin/driver}")
    [[ -n ${APP_DRIVER:-} ]] || { "$root/script/bootstrap" kotlin && "$root/Clients/Kotlin/build"; }
    new_server
    "$root/Trials/clients/app.py" "$server" "$data" "$port" "$1" "$seed" "${driver[@]}" || fault "seed $seed"
}
