# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts of script/trial share their variables
# The Debian package of a release on a clean system: installed, run as its unit runs it, upgraded, removed, purged. As root.

# inside COMMAND...: in the clean system.
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$system" "$@"; }

# expect TEXT COMMAND...: a fault unless the command succeeds.
expect() {
    local text=$1
    shift
    "$@" >>"$work/package.log" 2>&1 || fault "$text"
}
absent() { [[ ! -e $system/$1 ]]; }

# serve_package: the unit's command with its settings, by a user without rights, in a folder that systemd would make.
serve_package() {
    local unit=$system/usr/lib/systemd/system/mvi-server.service settings
    mapfile -t settings < <(sed -n 's/^Environment=//p' "$unit" | tr ' ' '\n' | sed 's#%S#/var/lib#')
    mapfile -t -O "${#settings[@]}" settings < <(grep '^MVI_' "$system/etc/mvi-server/environment" || true)
    install -d -o 65534 -g 65534 -m 0700 "$system/var/lib/mvi-server"
    # shellcheck disable=SC2046  # the command's words
    launch env -i PATH="$PATH" "${settings[@]}" MVI_PORT="$port" MVI_ADMIN_PORT=0 \
        chroot --userspec=65534:65534 "$system" $(sed -n 's/^ExecStart=//p' "$unit")
    await_ready
}

# count_on: adds five to the counter of the session in a jar of cookies; its new state.
count_on() {
    curl -s -b "$work/jar" -H 'Prefer: return=representation' --json '{"type":"add","amount":5}' \
        "http://127.0.0.1:$port/features/counter/intents" | sed -nE 's/.*"count":([0-9]+).*/\1/p'
}

# trial_package FILE SUITE
trial_package() {
    local package=$1 suite=$2 base=$root/.build-package/$2 system=$work/system newer=$work/newer count version
    ((EUID == 0)) || die "a clean system is made by root"
    [[ -f $package ]] || die "no package: --package FILE names one that script/release made"
    "$root/script/bootstrap" package
    [[ -d $base ]] || {
        mkdir -p "$(dirname "$base")"
        debootstrap --variant=minbase "$suite" "$base.new" >&2
        mv "$base.new" "$base"
    }
    cp -a --reflink=auto "$base" "$system"
    mount --bind /proc "$system/proc"
    mounted=$system/proc
    cp "$package" "$system/package.deb"
    new_server

    expect "apt-get cannot update" inside apt-get update
    # With systemd, so that enabling is real. It is not running: nothing may be started.
    expect "it cannot be installed" inside apt-get install -y --no-install-recommends systemd /package.deb
    expect "its service is not enabled" inside systemctl is-enabled mvi-server.service
    expect "its unit is wrong" inside systemd-analyze verify mvi-server.service
    expect "others read its settings" [ "$(stat -c %a "$system/etc/mvi-server/environment")" = 600 ]
    serve_package
    curl -s -c "$work/jar" -o /dev/null --json '{"credential":"cookie"}' "http://127.0.0.1:$port/sessions"
    count=$(count_on)
    [[ $count == 5 ]] || fault "the counter is '$count', not 5"
    expect "mvi-tools does not run" inside mvi-server doctor --help
    end_server TERM || fault "the server did not end with 0"

    # The next version, and settings that an operator has changed.
    echo 'MVI_LOG_LEVEL=debug' >>"$system/etc/mvi-server/environment"
    dpkg-deb -R "$package" "$newer"
    version=$(dpkg-deb -f "$package" Version)
    sed -i "s/^Version: .*/Version: $version.1/" "$newer/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$newer" "$system/newer.deb" >>"$work/package.log"
    expect "it cannot be upgraded" inside apt-get install -y --no-install-recommends /newer.deb
    expect "the changed settings are lost" grep -q '^MVI_LOG_LEVEL=debug' "$system/etc/mvi-server/environment"
    serve_package
    count=$(count_on)
    [[ $count == 10 ]] || fault "after the upgrade the counter is '$count', not 10"
    end_server TERM || fault "the upgraded server did not end with 0"
    expect "it cannot be taken back" inside apt-get install -y --no-install-recommends --allow-downgrades /package.deb

    expect "it cannot be removed" inside apt-get remove -y mvi-server
    expect "the program is still there" absent usr/bin/mvi-server
    expect "a removal took the data" [ -f "$system/var/lib/mvi-server/journal.sqlite" ]
    expect "it cannot be purged" inside apt-get purge -y mvi-server
    expect "a purge left settings" absent etc/mvi-server
    expect "a purge left data" absent var/lib/mvi-server
    expect "a purge left the service's state" absent var/lib/systemd/deb-systemd-helper-enabled/mvi-server.service.dsh-also
    ((faults == 0)) || tail -n 40 "$work/package.log"
    echo "package: $(sed -n 's/^PRETTY_NAME=//p' "$system/etc/os-release"), $(dpkg-deb -f "$package" Version)"
    umount "$mounted"
    mounted=
}
