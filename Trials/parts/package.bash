# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# The Debian package of a release on a clean system with systemd: installed, started at boot, upgraded, taken back, removed,
# purged. As root.

# inside COMMAND...: in the clean system, which runs if it has a leader.
inside() {
    local enter=(chroot "$system")
    [[ -z $leader ]] || enter=(nsenter --target "$leader" --mount --uts --ipc --pid)
    "${enter[@]}" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

# expect TEXT COMMAND...: a fault with the command's last lines unless it succeeds.
expect() {
    local text=$1
    shift
    "$@" >"$work/package.log" 2>&1 || fault "$text: $(tail -n 40 "$work/package.log")"
}
# ready: the service answers; if it does not, its journal tells why.
ready() {
    local code=0
    (await_ready) || code=$?
    [[ -n $leader ]] || leader=$(pgrep -P "$server_pid") || true
    ((code == 0)) && return
    inside journalctl --unit mvi-server --no-pager --lines 40 >&2 || true
    exit "$code"
}
absent() { [[ ! -e $system/$1 && ! -L $system/$1 ]]; }

# expect_count NUMBER: adds five to the counter of the session in a jar of cookies.
expect_count() {
    local found
    ready
    found=$(curl -s -b "$work/jar" -H 'Prefer: return=representation' --json '{"type":"add","amount":5}' \
        "http://127.0.0.1:$port/features/counter/intents" | sed -nE 's/.*"count":([0-9]+).*/\1/p')
    [[ $found == "$1" ]] || fault "the counter is '$found', not $1"
}

# trial_package FILE SUITE
trial_package() {
    local package=$1 suite=$2 base=$root/.build-package/$2 system=$work/system newer=$work/newer leader='' version before each
    ((EUID == 0)) || die "a clean system is made by root"
    [[ -f $package ]] || die "no package: --package FILE names one that script/release made"
    "$root/script/bootstrap" package
    [[ -d $base ]] || {
        mkdir -p "$(dirname "$base")"
        debootstrap --variant=minbase "$suite" "$base.new" >&2
        mv "$base.new" "$base"
    }
    cp -a --reflink=auto "$base" "$system"
    cp "$package" "$system/package.deb"
    version=$(dpkg-deb -f "$package" Version)
    dpkg-deb -R "$package" "$newer"
    sed -i "s/^Version: .*/Version: $version.1/" "$newer/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$newer" "$system/newer.deb" >/dev/null
    new_server

    expect "apt-get cannot update" inside apt-get update
    expect "systemd cannot be installed" inside apt-get install -y --no-install-recommends systemd systemd-sysv dbus
    expect "it cannot be installed" inside apt-get install -y --no-install-recommends /package.deb
    expect "its unit is wrong" inside systemd-analyze verify mvi-server.service
    expect "others read its settings" [ "$(stat -c %a "$system/etc/mvi-server/environment")" = 600 ]
    printf 'MVI_PORT=%s\nMVI_ADMIN_PORT=\n' "$port" >>"$system/etc/mvi-server/environment"
    # With the network of this machine: its ports are ours.
    launch systemd-nspawn --quiet --directory "$system" --boot --register=no --keep-unit --console=pipe </dev/null
    ready

    curl -s -c "$work/jar" -o /dev/null --json '{"credential":"cookie"}' "http://127.0.0.1:$port/sessions"
    expect_count 5
    expect "systemd does not know that it serves" grep -q "Serving on" \
        <(inside systemctl show --property StatusText --value mvi-server)
    expect "it cannot be restarted" inside systemctl restart mvi-server
    expect_count 10
    expect "mvi-tools does not run" inside mvi-server doctor --help
    before=$(inside systemctl show --property MainPID --value mvi-server)
    expect "it cannot be upgraded" inside dpkg --install /newer.deb
    expect_count 15
    [[ $(inside systemctl show --property MainPID --value mvi-server) != "$before" ]] || fault "an upgrade did not restart it"
    expect "an upgrade lost the changed settings" grep -q "^MVI_PORT=$port" "$system/etc/mvi-server/environment"
    expect "it cannot be taken back" inside dpkg --install /package.deb
    expect_count 20
    expect "it cannot be stopped" inside systemctl stop mvi-server
    expect "it did not end with 0" [ "$(inside systemctl show --property Result --value mvi-server)" = success ]
    expect "it cannot be started" inside systemctl start mvi-server
    expect_count 25

    expect "it cannot be removed" inside dpkg --remove mvi-server
    ! is_ready || fault "it serves without its package"
    expect "a removal took the data" [ -f "$system/var/lib/private/mvi-server/journal.sqlite" ]
    expect "it cannot be purged" inside dpkg --purge mvi-server
    for each in usr/bin/mvi-server etc/mvi-server var/lib/mvi-server var/lib/private/mvi-server \
        etc/systemd/system/multi-user.target.wants/mvi-server.service; do
        absent "$each" || fault "a purge left /$each"
    done
    echo "package: $(sed -n 's/^PRETTY_NAME=//p' "$system/etc/os-release"), $version"
    end_server TERM || true
}
