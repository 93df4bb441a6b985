#!/usr/bin/env bash
# Sets up every engine on a fresh Debian 12 machine: podman as root, podman as a normal user, a docker daemon, bubblewrap.
# Also installs the shells whose completion is tested, the proxy in front of HTTP, the SSH server in front of engines, and the browser
# for the page of `ui`.
# Safe to run again. Usage, as root:
#   .ci/setup-engines.sh start    install missing packages, configure, start a docker daemon if none responds
#   .ci/setup-engines.sh stop     stop the docker daemon if 'start' started it
# 'start' prints the variables to export and writes them to $BRIDGE_CI_DIR/engines.env.
set -euo pipefail

BRIDGE_CI_DIR=${BRIDGE_CI_DIR:-/var/tmp/bridge-ci}
ROOTLESS_USER=bridge-ci
DOCKER_SOCKET=/run/bridge-ci-docker.sock
DOCKER_EXEC_ROOT=/run/bridge-ci-docker
DOCKER_PID_FILE=$BRIDGE_CI_DIR/dockerd.pid
ENV_FILE=$BRIDGE_CI_DIR/engines.env

say() { printf 'setup-engines: %s\n' "$*"; }

install_packages() {
  local wanted=(podman runc conmon uidmap fuse-overlayfs slirp4netns docker.io bubblewrap mmdebstrap nginx-light openssh-server
    python3 zsh fish chromium)
  local missing=()
  for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    say 'all packages are installed'
    return
  fi
  say "installing ${missing[*]}"
  apt-get update -q
  # policy-rc.d stops the package from starting a docker daemon with networking, which this machine may not allow.
  local policy=/usr/sbin/policy-rc.d had_policy=0
  if [[ -e $policy ]]; then had_policy=1; else printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"; fi
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
  if ((had_policy == 0)); then rm -f "$policy"; fi
}

configure_podman() {
  # Debian 12's crun refuses hybrid cgroups; cgroupfs and an events file need no systemd.
  install -d /etc/containers/containers.conf.d
  cat >/etc/containers/containers.conf.d/bridge-ci.conf <<'CONF'
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  say 'podman uses runc'
}

make_rootless_user() {
  id "$ROOTLESS_USER" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$ROOTLESS_USER"
  grep -q "^$ROOTLESS_USER:" /etc/subuid || usermod --add-subuids 200000-265535 --add-subgids 200000-265535 "$ROOTLESS_USER"
  local home uid
  home=$(getent passwd "$ROOTLESS_USER" | cut -d: -f6)
  uid=$(id -u "$ROOTLESS_USER")
  install -d -o "$ROOTLESS_USER" -g "$ROOTLESS_USER" "$home/.config" "$home/.config/containers"
  # The fallback, vfs, copies the whole image at each start (2.7 s instead of 0.2 s).
  printf '[storage]\ndriver = "overlay"\n' >"$home/.config/containers/storage.conf"
  install -d -m 755 /run/user
  install -d -m 700 -o "$ROOTLESS_USER" -g "$ROOTLESS_USER" "/run/user/$uid"
  say "rootless podman runs as $ROOTLESS_USER"
}

start_docker() {
  if docker version --format '{{.Server.Version}}' >/dev/null 2>&1; then
    say 'a docker daemon is already running'
    return
  fi
  export DOCKER_HOST=unix://$DOCKER_SOCKET
  if ! docker version --format '{{.Server.Version}}' >/dev/null 2>&1; then
    rm -f "$DOCKER_PID_FILE"
    setsid dockerd --bridge=none --iptables=false --ip6tables=false \
      --data-root "$BRIDGE_CI_DIR/docker" --exec-root "$DOCKER_EXEC_ROOT" \
      --pidfile "$DOCKER_PID_FILE" --host "$DOCKER_HOST" >"$BRIDGE_CI_DIR/dockerd.log" 2>&1 </dev/null &
    local waited=0
    until docker version --format '{{.Server.Version}}' >/dev/null 2>&1; do
      waited=$((waited + 1))
      if ((waited > 60)); then
        say "dockerd did not start; end of $BRIDGE_CI_DIR/dockerd.log:"
        tail -n 20 "$BRIDGE_CI_DIR/dockerd.log"
        exit 1
      fi
      sleep 0.5
    done
  fi
  printf 'export DOCKER_HOST=%s\n' "$DOCKER_HOST" >>"$ENV_FILE"
  say "a docker daemon listens on $DOCKER_HOST"
}

stop_docker() {
  if [[ ! -s $DOCKER_PID_FILE ]]; then
    say 'this script has no docker daemon running'
    return
  fi
  local pid waited=0
  pid=$(<"$DOCKER_PID_FILE")
  # The PID in a stale file may belong to another process by now.
  if [[ $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) == *"$DOCKER_PID_FILE"* ]]; then
    kill "$pid"
    while [[ -d /proc/$pid ]] && ((waited < 60)); do
      waited=$((waited + 1))
      sleep 0.5
    done
  fi
  rm -f "$DOCKER_PID_FILE" "$DOCKER_SOCKET"
  say "stopped docker daemon $pid"
}

case ${1:-} in
  start)
    install -d -m 755 "$BRIDGE_CI_DIR"
    : >"$ENV_FILE"
    install_packages
    configure_podman
    make_rootless_user
    start_docker
    say "exports are in $ENV_FILE:"
    cat "$ENV_FILE"
    ;;
  stop)
    stop_docker
    ;;
  *)
    printf 'usage: %s start|stop\n' "$0" >&2
    exit 64
    ;;
esac
