import { memberIds, roomIds, threadIds } from "./chaos-room.ts";
import type { Dice } from "./dice.ts";
import type { Need, PointName } from "./fault-points.ts";

/** What a process is to do in a room, one thing after the other. */
export type Action =
  | { readonly do: "rest"; readonly ms: number }
  | (InRoom & {
      readonly do: "post";
      readonly post: { readonly text: string; readonly thread_id: string; readonly event_id: string };
    })
  | (InRoom & { readonly do: "stop" | "resume" | "retry" | "cancel" })
  | (InRoom & { readonly do: "pause"; readonly member_id: string });

interface InRoom {
  readonly room_id: string;
  /** Tried again until this process may do it and there is something to be done. */
  readonly isNeeded?: boolean | undefined;
}

/** All that a process is told, in one line. */
export interface Order {
  readonly name: string;
  readonly file: string;
  readonly journal: string;
  /** Of what the process throws for by itself. */
  readonly seed: string;
  /** Of how members behave: the same for all processes of a round. */
  readonly conductSeed: string;
  /** Where it kills itself, and at which visit; null: nowhere. */
  readonly fatal: { readonly point: PointName; readonly visit: number } | null;
  readonly actions: readonly Action[];
}

const texts = ["hello", "@a what is new", "@b and @c: look", "see @nobody", "`@a` is no name", "@all: over to you"];

/** A post with an event id of its own. */
export function postOf(dice: Dice, event_id: string): { text: string; thread_id: string; event_id: string } {
  return { text: dice.pick(texts), thread_id: dice.pick(threadIds), event_id };
}

/** 4 to 10 things to do; among them what the process needs to come to its point. */
export function actionsOf(dice: Dice, name: string, need: Need | undefined): readonly Action[] {
  const actions: Action[] = [];
  const count = dice.between(4, 10);
  for (let index = 0; index < count; index++) actions.push(...someAction(dice, `${name}-${index}`));
  actions.push(...neededActions(dice, need));
  return actions;
}

function someAction(dice: Dice, event_id: string): readonly Action[] {
  const room_id = dice.pick(roomIds);
  const throwOf = dice.below(20);
  if (throwOf < 10) {
    const post: Action = { do: "post", room_id, post: postOf(dice, event_id) };
    // Some are posted twice under one event id.
    return dice.oneIn(6) ? [post, post] : [post];
  }
  if (throwOf < 15) return [{ do: "rest", ms: dice.between(1, 25) }];
  if (throwOf < 16) return [{ do: "stop", room_id }];
  if (throwOf < 17) return [{ do: "pause", room_id, member_id: dice.pick(memberIds) }];
  if (throwOf < 18) return [{ do: "resume", room_id }];
  if (throwOf < 19) return [{ do: "retry", room_id }];
  return [{ do: "cancel", room_id }];
}

function neededActions(dice: Dice, need: Need | undefined): readonly Action[] {
  const room_id = dice.pick(roomIds);
  switch (need) {
    case "stop":
    case "retry":
    case "cancel":
      // Time for what follows from it.
      return [
        { do: need, room_id, isNeeded: true },
        { do: "rest", ms: 120 },
      ];
    case "pause":
      return [{ do: need, room_id, member_id: dice.pick(memberIds), isNeeded: true }];
    case "rest":
    case "crash_before":
      return [{ do: "rest", ms: 350 }];
    default:
      return [{ do: "rest", ms: dice.between(5, 60) }];
  }
}
