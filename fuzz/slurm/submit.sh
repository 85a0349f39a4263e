#!/usr/bin/env bash
# Submits a campaign: an array with a task for each target, and a merge that depends on it. Prints both job ids.
#
#   fuzz/slurm/submit.sh --shared DIR --hours H [--build DIR] [--cpus N] [--at-once N] [--targets "remap tiling"] [-- SBATCH-OPTION...]
#
# --shared and the build must lie on a file system that every node sees. The same command goes on with the same corpora: a task that
# was killed resumes, one whose hours are spent begins a further campaign.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
SLOTPROOF_SOURCE="$(cd "$here/../.." && pwd)"
SLOTPROOF_BUILD="$SLOTPROOF_SOURCE/build/fuzz"
SLOTPROOF_SHARED="" SLOTPROOF_HOURS="" cpus=1 at_once=""
SLOTPROOF_TARGETS="$(python3 -c "import sys; sys.path.insert(0, '$here/..'); import engine; print(*engine.TARGETS)")"
while [[ $# -gt 0 ]]; do
  case "$1" in
    --shared) SLOTPROOF_SHARED="$(mkdir -p "$2" && cd "$2" && pwd)" ;;
    --hours) SLOTPROOF_HOURS="$2" ;;
    --build) SLOTPROOF_BUILD="$(cd "$2" && pwd)" ;;
    --cpus) cpus="$2" ;;
    --at-once) at_once="%$2" ;;
    --targets) SLOTPROOF_TARGETS="$2" ;;
    --)
      shift
      break
      ;;
    *)
      sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done
if [[ -z "$SLOTPROOF_SHARED" || -z "$SLOTPROOF_HOURS" ]]; then
  echo "submit.sh: --shared and --hours are needed" >&2
  exit 2
fi
export SLOTPROOF_SOURCE SLOTPROOF_BUILD SLOTPROOF_SHARED SLOTPROOF_HOURS SLOTPROOF_TARGETS
read -ra targets <<<"$SLOTPROOF_TARGETS"
mkdir -p "$SLOTPROOF_SHARED/logs"
array="$(sbatch --parsable --export=ALL --array="0-$((${#targets[@]} - 1))$at_once" --cpus-per-task="$cpus" --requeue \
  --output="$SLOTPROOF_SHARED/logs/%x-%A_%a.log" "$@" "$here/campaign.sbatch")"
merge="$(sbatch --parsable --export=ALL --dependency="afterany:$array" --output="$SLOTPROOF_SHARED/logs/%x-%j.log" "$@" "$here/merge.sbatch")"
echo "array $array"
echo "merge $merge"
