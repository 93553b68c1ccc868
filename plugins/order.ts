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
  const byId = new Map(given.map((each) => [each.id, each]));
  const ordered = new Set<Each>();
  const walk = (each: Each, trail: readonly string[]): void => {
    if (ordered.has(each)) return;
    const at = trail.indexOf(each.id);
    if (at >= 0) {
      const path = [...trail.slice(at), each.id].join(" -> ");
      throw new RoomtapError("dependency_cycle", `plugins depend on each other in a circle: ${path}`);
    }
    for (const [id, range] of Object.entries(each.dependencies)) {
      walk(dependencyOf(each, { id, range, found: byId.get(id) }), [...trail, each.id]);
    }
    ordered.add(each);
  };
  for (const each of given) walk(each, []);
  return [...ordered];
}

function dependencyOf<Each extends Orderable>(
  { id: dependent, version }: Orderable,
  { id, range, found }: { readonly id: string; readonly range: string; readonly found: Each | undefined },
): Each {
  const needs = `plugin ${dependent} ${version} depends on ${id} ${range}`;
  if (found === undefined) throw new RoomtapError("missing_dependency", `${needs}, which is not loaded`);
  if (isInRange(found.version, range)) return found;
  throw new RoomtapError("missing_dependency", `${needs}; loaded is ${found.version}`);
}
