#!/usr/bin/env bash
# Four machines with a task each: `sbatch slurm.sh`. tfsum finds the workers by TensorFlow's SlurmClusterResolver.
# SLURM sends SIGTERM two minutes before the time is over: the state is saved, and `sbatch slurm.sh` resumes.
#SBATCH --job-name=tfsum
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@120
set -euo pipefail

srun tfsum train bert_sum_ext_news \
  --set data.train=train.jsonl --set data.validation=validation.jsonl \
  --set data.records="$SCRATCH/records" --set train.folder="$SCRATCH/run"
