import { findPlugin } from "../../plugin-source.ts";
import type { Isolation } from "../../plugin-control.ts";
import { eventChecks } from "./event-checks.ts";
import { lifecycleChecks } from "./lifecycle-checks.ts";
import { loadChecks } from "./load-checks.ts";
import type { ConformanceCheck, ConformanceOptions } from "./options.ts";

/**
 * What every plugin must survive, check by check: gaps, doubled, late and unknown events, floods, secrets, and coming and going
 * at any moment. Each runs in a host of its own, on a clock of its own: in well under a second, or in the few that it takes to start
 * workers. A plugin at a path is checked in each isolation that its package's manifest allows, or in the one that is named.
 *
 * `for (const { name, run } of conformanceChecks({ plugin })) it(name, run);`
 * @throws RoomtapError `invalid_plugin` for a path at which there is none
 */
export function conformanceChecks(options: ConformanceOptions): readonly ConformanceCheck[] {
  const isolations = isolationsOf(options);
  return isolations.flatMap((isolation) =>
    [...eventChecks, ...loadChecks, ...lifecycleChecks].map(({ name, run }) => ({
      name: "path" in options ? `${name} (${isolation})` : name,
      isolation,
      run: () => run({ options, isolation }),
    })),
  );
}

function isolationsOf(options: ConformanceOptions): readonly Isolation[] {
  if (!("path" in options)) return ["inline"];
  if (options.isolation !== undefined) return [options.isolation];
  const { manifest } = findPlugin(options.path);
  const { isolation = "any" } = manifest ?? {};
  return isolation === "any" ? ["inline", "worker"] : [isolation];
}
