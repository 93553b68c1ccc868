import { activityKinds, RoomtapError, type ActivityEvent, type ActivityKind, type EventOf } from "../core/index.ts";

type Family<Kind extends string> = Kind extends `${infer Name}.${string}` ? Name : never;

/** A kind, a family of kinds such as `tool.*`, or `*` for all. */
export type KindPattern = ActivityKind | `${Family<ActivityKind>}.*` | "*";

/** The events that a handler for a pattern gets. A `gap` comes to every handler: it tells what the handler lost. */
export type EventFor<Pattern extends KindPattern> =
  | EventOf<"gap">
  | (Pattern extends "*"
      ? ActivityEvent
      : Pattern extends `${infer Name}.*`
        ? Extract<ActivityEvent, { readonly kind: `${Name}.${string}` }>
        : Pattern extends ActivityKind
          ? Extract<ActivityEvent, { readonly kind: Pattern }>
          : never);

/**
 * The kinds that a pattern names, in the order of the table.
 * @throws RoomtapError `unknown_kind`, which lists the known ones: a registration that could never fire is a fault
 */
export function kindsOf(pattern: string): readonly ActivityKind[] {
  if (pattern === "*") return activityKinds;
  const family = pattern.endsWith(".*") ? pattern.slice(0, -1) : null;
  const kinds = activityKinds.filter((kind) => (family === null ? kind === pattern : kind.startsWith(family)));
  if (kinds.length > 0) return kinds;
  throw new RoomtapError(
    "unknown_kind",
    `no activity kind matches "${pattern}"; known: ${activityKinds.join(", ")}, a family such as tool.*, or *`,
  );
}
