#!/usr/bin/env bash
# Runs tests on a real cluster of one node, as root. MCP_BRIDGE_TEST_KUBE names the folder with its scripts, `start.sh
# NAME=ROOTFS.tar`, which prints the path of a kubeconfig last, and `stop.sh`; ../shared/kube by default. Without it, the tests are
# not covered.
# Docker must have the default image of sandboxes.
set -euo pipefail
cd "$(dirname "$0")/.."

MCP_BRIDGE_TEST_KUBE=${MCP_BRIDGE_TEST_KUBE:-$PWD/../shared/kube}
if [[ ! -x $MCP_BRIDGE_TEST_KUBE/start.sh ]]; then
  echo "Not covered: Kubernetes: there is no $MCP_BRIDGE_TEST_KUBE/start.sh"
  exit 0
fi
export KUBE_DIR=${KUBE_DIR:-/var/tmp/bridge-kube}
rootfs=$(mktemp)
trap 'rm -f "$rootfs"; "$MCP_BRIDGE_TEST_KUBE/stop.sh"' EXIT
container=$(docker create python:3.14-slim true)
docker export --output "$rootfs" "$container"
docker rm "$container" >/dev/null
KUBECONFIG=$("$MCP_BRIDGE_TEST_KUBE/start.sh" "docker.io/library/python:3.14-slim=$rootfs" | tail -n 1)
export KUBECONFIG PATH="$KUBE_DIR/bin:$PATH" MCP_BRIDGE_TEST_ENGINES=kubernetes MCP_BRIDGE_TEST_REQUIRE_ENGINES=1

failed=0
# What the kernel of Python does is the same everywhere. These groups are about pipes, ends and limits.
MCP_BRIDGE_TEST_TAGS=cluster npm test -- integration -- \
  -t 'loss|hostile frames|sandbox of a session' || failed=1
MCP_BRIDGE_TEST_TAGS=cluster npm test -- attacks || failed=1
# The last, because it kills parts of the cluster, which ends Pods while it recovers. Not kubernetes-deploy.test, which needs the
# cluster for itself; it is run by hand.
MCP_BRIDGE_TEST_TAGS=cluster-last npm test -- integration || failed=1
exit $failed
