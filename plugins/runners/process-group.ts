import type { ChildProcess } from "node:child_process";

/** What `spawn` is told so that a child leads a process group of its own. */
export const ownGroup = { detached: process.platform !== "win32", windowsHide: true } as const;

/** Those that run now. */
const leaders = new Set<ChildProcess>();
const watchers = new Set<(pids: readonly number[]) => void>();

/**
 * Has a child that leads a group watched: it is killed with all it started when this process exits, and what it leaves is
 * killed when it exits itself.
 */
export function keepGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (leaders.size === 0) process.on("exit", killAll);
  leaders.add(child);
  tellWatchers();
  child.once("exit", () => {
    killGroup(child.pid, "SIGKILL");
    leaders.delete(child);
    tellWatchers();
    if (leaders.size === 0) process.off("exit", killAll);
  });
}

/** Tells of the groups that stand, by the ids of their leaders, each time when one comes or goes. */
export function watchGroups(onChange: (pids: readonly number[]) => void): void {
  watchers.add(onChange);
}

/** Sends a signal to the leader of a group and to all it started. Without effect when nothing of it is left. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(ownGroup.detached ? -pid : pid, signal);
  } catch {
    // Nothing of the group is left.
  }
}

function tellWatchers(): void {
  const pids = [...leaders].flatMap(({ pid }) => pid ?? []);
  for (const tell of watchers) tell(pids);
}

function killAll(): void {
  for (const { pid } of leaders) killGroup(pid, "SIGKILL");
}
