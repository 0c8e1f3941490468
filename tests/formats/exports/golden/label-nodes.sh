#!/bin/sh
# Labels for plan mixed of sliceplan. Not tried on a cluster.
set -eu
kubectl label node mig-node --overwrite \
  nvidia.com/mig.config=mixed-mig-node \
  nvidia.com/device-plugin.config=mig
