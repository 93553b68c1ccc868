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

/** What a pattern may be, for messages. */
export const knownPatterns = `${activityKinds.join(", ")}, a family such as tool.*, or *`;

/** The kinds that a pattern names, in the order of the table; none for one that names none. */
export function kindsNamed(pattern: string): readonly ActivityKind[] {
  if (pattern === "*") return activityKinds;
  const family = pattern.endsWith(".*") ? pattern.slice(0, -1) : null;
  return activityKinds.filter((kind) => (family === null ? kind === pattern : kind.startsWith(family)));
}

/**
 * The kinds that a pattern names, or each of a list, in the order of the table.
 * @throws RoomtapError `unknown_kind`, which lists the known ones: a registration that could never fire is a fault
 */
export function kindsOf(pattern: string | readonly string[]): readonly ActivityKind[] {
  const patterns = typeof pattern === "string" ? [pattern] : pattern;
  const unknown = patterns.find((each) => kindsNamed(each).length === 0);
  if (unknown !== undefined || patterns.length === 0) {
    throw new RoomtapError("unknown_kind", `no activity kind matches "${unknown ?? ""}"; known: ${knownPatterns}`);
  }
  const named = new Set(patterns.flatMap(kindsNamed));
  return activityKinds.filter((kind) => named.has(kind));
}
