#!/bin/sh
# Plan demo of sliceplan, node n1. Not tried on hardware.
set -eu

# ranker "'写真' "{ { .Values.x }}" { % y %} $ {HOME} $ (id) %n < %= z %> \" on 4 cores of CPU 0, from its core 0 on
docker run --detach --name sliceplan-ranker-1 --cpuset-cpus 0-3,192-195 --cpuset-mems 0 --env SLICEPLAN_BATCH_SIZE=1 --env OMP_NUM_THREADS=4 --env TVM_NUM_THREADS=4 --env SLICEPLAN_THREADS=4 'registry.example/${TAG}/{{ .Values.image }}'

# ranker "'写真' "{ { .Values.x }}" { % y %} $ {HOME} $ (id) %n < %= z %> \" on 4 cores of CPU 0, from its core 4 on
docker run --detach --name sliceplan-ranker-2 --cpuset-cpus 4-7,196-199 --cpuset-mems 0 --env SLICEPLAN_BATCH_SIZE=1 --env OMP_NUM_THREADS=4 --env TVM_NUM_THREADS=4 --env SLICEPLAN_THREADS=4 'registry.example/${TAG}/{{ .Values.image }}'

# Avatars on 16 cores of CPU 0, from its core 8 on, one of 2 processes there
docker run --detach --name sliceplan-avatars-fedfdc14-1 --cpuset-cpus 8-23,200-215 --cpuset-mems 0 --env SLICEPLAN_BATCH_SIZE=1 --env OMP_NUM_THREADS=8 --env TVM_NUM_THREADS=8 --env SLICEPLAN_THREADS=8 'registry.example/${TAG}/{{ .Values.image }}'

# Avatars on 16 cores of CPU 0, from its core 8 on, one of 2 processes there
docker run --detach --name sliceplan-avatars-fedfdc14-2 --cpuset-cpus 8-23,200-215 --cpuset-mems 0 --env SLICEPLAN_BATCH_SIZE=1 --env OMP_NUM_THREADS=8 --env TVM_NUM_THREADS=8 --env SLICEPLAN_THREADS=8 'registry.example/${TAG}/{{ .Values.image }}'

# spam on 2 cores of CPU 1, from its core 24 on
docker run --detach --name sliceplan-spam-1 --cpuset-cpus 120-121,312-313 --cpuset-mems 1 --env SLICEPLAN_BATCH_SIZE=1 --env OMP_NUM_THREADS=2 --env TVM_NUM_THREADS=2 --env SLICEPLAN_THREADS=2 'registry.example/${TAG}/{{ .Values.image }}'
