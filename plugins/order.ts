import { RoomtapError } from "../core/index.ts";
import { isInRange } from "./versions.ts";

/** What of a plugin decides when it is set up. */
export interface Orderable {
  readonly id: string;
  readonly version: string;
  /** Ranges of versions by id. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * Plugins in the order in which they are set up: each behind those it depends on, else as they were given. Pure.
 * @throws RoomtapError `missing_dependency`, naming both plugins, the range and the version found; `dependency_cycle`,
 * whose message is the circle: `a -> b -> a`
 */
export function loadOrder<Each extends Orderable>(given: readonly Each[]): readonly Each[] {
  return ordered(given, dependencyOf);
}

/** The same the other way round: each before those it depends on. What they depend on may have gone. Pure. */
export function unloadOrder<Each extends Orderable>(given: readonly Each[]): readonly Each[] {
  return ordered(given, (_, { found }) => found).toReversed();
}

interface Need<Each> {
  readonly id: string;
  readonly range: string;
  readonly found: Each | undefined;
}

/** @param resolve gives what to walk first for a dependency; undefined: nothing */
function ordered<Each extends Orderable>(
  given: readonly Each[],
  resolve: (dependent: Each, need: Need<Each>) => Each | undefined,
): readonly Each[] {
  const byId = new Map(given.map((each) => [each.id, each]));
  const done = new Set<Each>();
  const walk = (each: Each, trail: readonly string[]): void => {
    if (done.has(each)) return;
    const at = trail.indexOf(each.id);
    if (at >= 0) {
      const path = [...trail.slice(at), each.id].join(" -> ");
      throw new RoomtapError("dependency_cycle", `plugins depend on each other in a circle: ${path}`);
    }
    for (const [id, range] of Object.entries(each.dependencies)) {
      const first = resolve(each, { id, range, found: byId.get(id) });
      if (first !== undefined) walk(first, [...trail, each.id]);
    }
    done.add(each);
  };
  for (const each of given) walk(each, []);
  return [...done];
}

function dependencyOf<Each extends Orderable>(
  { id: dependent, version }: Orderable,
  { id, range, found }: Need<Each>,
): Each {
  const needs = `plugin ${dependent} ${version} depends on ${id} ${range}`;
  if (found === undefined) throw new RoomtapError("missing_dependency", `${needs}, which is not loaded`);
  if (isInRange(found.version, range)) return found;
  throw new RoomtapError("missing_dependency", `${needs}; loaded is ${found.version}`);
}
