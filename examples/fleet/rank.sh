# Which of the job's tasks this is, from 0, whatever started it. Sourced by the scripts beside it.
#
# A Kubernetes Indexed Job and a Slurm array number their pods and tasks; srun numbers the
# processes of one task. In an array SLURM_PROCID is set as well, but is 0 in every task, hence the
# order.
rank=${JOB_COMPLETION_INDEX:-${SLURM_ARRAY_TASK_ID:-${SLURM_PROCID:?"no rank: run by a Kubernetes Indexed Job, a Slurm array or srun"}}}

# The command line: `ENGRAM="deno run -A /opt/engram/cli/main.ts"` where it is not installed.
engram=${ENGRAM:-engram}
