import { turnsOfLoop } from "../waiting.ts";

/** What keeps the process alive or is called by it, by name. */
export type Resources = ReadonlyMap<string, number>;

/** What there is now: timers, sockets, threads and the like, and listeners of the process. */
export function resources(): Resources {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const name of process.eventNames()) counts.set(`listener of ${String(name)}`, process.listenerCount(name));
  return counts;
}

/**
 * What has grown by at least `most` since `before`, in words; null when nothing has. What is being closed is given some time.
 */
export async function grown(before: Resources, most: number): Promise<string | null> {
  let found: string | null = null;
  for (let look = 0; look < 20; look++) {
    await turnsOfLoop(5);
    const more = [...resources()].filter(([name, count]) => count - (before.get(name) ?? 0) >= most);
    if (more.length === 0) return null;
    found = more.map(([name, count]) => `${count - (before.get(name) ?? 0)} more ${name}`).join(", ");
  }
  return found;
}
