#!/usr/bin/env bash
# A Ceph of one monitor, one OSD and one RADOS gateway on the loopback, for the tests of stores; no manager and no authentication.
# Needs Debian's packages radosgw, ceph-mon and ceph-osd, and curl.
#
#   ceph.sh up FOLDER PORT BUCKET     makes it below FOLDER, with the gateway at PORT, user and secret `test`, and a bucket
#   ceph.sh down FOLDER
set -euo pipefail

folder="${2:?usage: ceph.sh up FOLDER PORT BUCKET | down FOLDER}"

down() {
    local name pid
    for name in client.rgw osd.0 mon.a; do
        pid="$(cat "$folder/run/$name.pid" 2>/dev/null)" || continue
        kill "$pid" 2>/dev/null || continue
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$pid" 2>/dev/null || true
    done
}

configure() {
    cat >"$CEPH_CONF" <<CONF
[global]
fsid = $1
mon initial members = a
mon host = [v2:127.0.0.1:$((port + 2)),v1:127.0.0.1:$((port + 1))]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
keyring = $folder/keyring
run dir = $folder/run
pid file = $folder/run/\$name.pid
admin socket = $folder/run/\$name.asok
log file = $folder/log/\$name.log
mon cluster log file = $folder/log/cluster.log
mon data = $folder/mon
mon allow pool size one = true
mon max pg per osd = 1000
auth allow insecure global id reclaim = false
osd data = $folder/osd
osd objectstore = bluestore
bluestore block size = 10737418240
osd memory target = 939524096
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
[client.rgw]
# Without tcp_nodelay each read takes 44 ms.
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw dynamic resharding = false
CONF
}

key() {
    ceph-authtool "$folder/keyring" --gen-key -n "$@"
}

up() {
    local fsid
    fsid="$(cat /proc/sys/kernel/random/uuid)"
    mkdir -p "$folder"/{mon,osd,run,log}
    configure "$fsid"
    ceph-authtool --create-keyring "$folder/keyring" --gen-key -n mon. --cap mon 'allow *'
    key client.admin --cap mon 'allow *' --cap osd 'allow *'
    key osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
    key client.rgw --cap mon 'allow *' --cap osd 'allow *'
    monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$((port + 2)),v1:127.0.0.1:$((port + 1))]" "$folder/monmap"
    ceph-mon --mkfs -i a --monmap "$folder/monmap" --keyring "$folder/keyring"
    ceph-mon -i a
    local osd
    osd="$(cat /proc/sys/kernel/random/uuid)"
    ceph osd new "$osd"
    ceph-osd -i 0 --mkfs --osd-uuid "$osd" --keyring "$folder/keyring"
    ceph-osd -i 0 --keyring "$folder/keyring"
    radosgw -n client.rgw --keyring "$folder/keyring"
    for _ in $(seq 600); do
        curl -s -o /dev/null "http://127.0.0.1:$port/" && break
        sleep 0.1
    done
    radosgw-admin user create --uid=test --display-name=test --access-key=test --secret=test
    curl -sf --aws-sigv4 aws:amz:us-east-1:s3 --user test:test -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
        -X PUT "http://127.0.0.1:$port/$bucket"
}

export CEPH_CONF="$folder/ceph.conf"
case "$1" in
up)
    port="${3:?a port}"
    bucket="${4:?a bucket}"
    up >"$folder.log" 2>&1 || {
        tail -n 20 "$folder.log" >&2
        down
        exit 1
    }
    ;;
down) down ;;
*) exit 2 ;;
esac
