#!/usr/bin/env bash
# As root: install Debian packages so that no service starts, none is enabled, and no PostgreSQL cluster is made.
# usage: dev/apt_install.sh PACKAGE...
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
policy=/usr/sbin/policy-rc.d                        # asked by every package before it starts its service
clusters=/etc/postgresql-common/createcluster.conf  # read by PostgreSQL's packages before they make a cluster
cluster_template=/usr/share/postgresql-common/createcluster.conf
our_policy='' our_clusters=''
units='rabbitmq-server redis-server postgresql'
command -v epmd >/dev/null || units+=' epmd'        # comes with Erlang, on which other programs may rely

restore() {
  if [[ $our_policy ]]; then rm -f "$policy"; fi
  if [[ -e $clusters.mailward ]]; then
    mv "$clusters.mailward" "$clusters"
  elif [[ $our_clusters ]]; then
    rm -f "$clusters.ucf-dist"
    if [[ -e $cluster_template ]]; then cp "$cluster_template" "$clusters"; else rm -f "$clusters"; fi
  fi
}
trap restore EXIT

if [[ ! -e $policy ]]; then
  our_policy=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

if [[ " $* " == *" postgresql "* ]]; then
  mkdir -p "$(dirname "$clusters")"
  if [[ -e $clusters ]]; then cp -p "$clusters" "$clusters.mailward"; fi
  our_clusters=yes
  echo 'create_main_cluster = false' >>"$clusters"
fi

apt-get update -q
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"

# What we start is private, so nothing of this needs to run after the next boot either.
for unit in $units; do
  if [[ " $* epmd " == *" $unit "* ]] && command -v systemctl >/dev/null; then systemctl disable "$unit" || true; fi
done
