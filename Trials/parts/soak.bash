# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# Mixed load for an hour over restarts, and then half of it without one: nothing lost, and nothing that grows.

# trial_soak SECONDS RATE: so many intents a second by the load tool; its samples and plots are left in `results`.
trial_soak() {
    local code=0 folder=${results:-$root/.build-soak}
    "$root/script/bootstrap" plots
    need_files 2000
    mkdir -p "$folder" "$work/soak"
    rm -f "$folder"/*.png
    PYTHONDONTWRITEBYTECODE=1 python3 "$root/Trials/soak/main.py" --server "$server" --loadgen "$work/loadgen" \
        --folder "$work/soak" --results "$folder" --seconds "$1" --rate "$2" --seed "$seed" \
        --leak "${leak:-0}" || code=$?
    if [[ -s $folder/restarts.json ]]; then
        "$root/.build-plots/bin/python" -B "$root/Trials/soak/plots.py" "$folder" \
            || fault "the plots could not be drawn"
    fi
    case $code in
    0) ;;
    1) fault "the server does not stand long use (the lines above say what)" ;;
    *) fault "the trial could not be run (code $code)" ;;
    esac
}
