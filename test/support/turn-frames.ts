import type { CameParams, HostClient } from "./host-client.ts";

/** Events of one turn as a client got them, from `message.start` to `message.complete`. @param nth 0 is the first turn */
export function turnFrames(client: HostClient, nth = 0): readonly CameParams[] {
  const events = client.events();
  const at = (type: string): number => placeOf(events, type, nth);
  const [start, end] = [at("message.start"), at("message.complete")];
  return start === -1 || end === -1 ? [] : events.slice(start, end + 1);
}

/** The origins that events name, each once, in order; null for those that name none. */
export function originsOf(events: readonly CameParams[]): readonly (string | null)[] {
  return [...new Set(events.map(({ origin }) => origin ?? null))];
}

/** The type, and the words where it has some: `message.delta hello`. */
export function wordsOf({ type, payload }: CameParams): string {
  const text = payload?.["text"];
  return typeof text === "string" ? `${type} ${text}` : String(type);
}

function placeOf(events: readonly CameParams[], type: string, nth: number): number {
  let left = nth;
  return events.findIndex((event) => event.type === type && left-- === 0);
}
