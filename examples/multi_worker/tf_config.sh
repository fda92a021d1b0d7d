#!/usr/bin/env bash
# Two machines by hand. Run this on each of them, with its number: `./tf_config.sh 0` on the first, `./tf_config.sh 1` on
# the second. The same commands resume a run that was stopped, or whose machine failed.
set -euo pipefail

hosts='["first.example.org:2222", "second.example.org:2222"]' # each is reachable from the other at this port
export TF_CONFIG="{\"cluster\": {\"worker\": $hosts}, \"task\": {\"type\": \"worker\", \"index\": ${1:?the number of this machine}}}"

# The recipe, the corpora and the version of tfsum must be the same on both. `train.folder` is used on the first alone;
# `data.records` may be a shared folder, or a folder of each machine, which then prepares its own.
tfsum train bert_sum_ext_news \
  --set data.train=train.jsonl --set data.validation=validation.jsonl \
  --set data.records=records/mine --set train.folder=runs/mine
