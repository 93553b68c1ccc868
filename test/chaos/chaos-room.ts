import type { Runner, Turn, TurnEnd } from "../../core/index.ts";
import type { MemberDefinition, RoomDefinition } from "../../rooms/index.ts";
import { Dice } from "./dice.ts";
import type { Reach } from "./fault-points.ts";
import { coordinatesOf } from "../support/turn-coordinates.ts";

/** The rooms of every host here. */
export const roomIds = ["r1", "r2"] as const;

/** Threads of a post. */
export const threadIds = ["main", "side"] as const;

/** Each lease is believed in for so long, in ms. */
export const leaseTtlMs = 300;

/** Members; those that are safe may be run again by themselves after a crash. */
const members = [
  { handle: "a", isSafe: true },
  { handle: "b", isSafe: false },
  { handle: "c", isSafe: true },
] as const;

export const memberIds = members.map(({ handle }) => `m-${handle}`);
export const safeMemberIds = members.filter(({ isSafe }) => isSafe).map(({ handle }) => `m-${handle}`);

/** What a turn does; what stands here twice, it does twice as often. */
const conducts = [
  "text",
  "text",
  "text",
  "text",
  "names",
  "pass",
  "fails",
  "throws",
  "refuses",
  "refuses",
  "asks",
  "asks",
  "hangs",
];

export interface ChaosRunners {
  /** Told before the runner does anything. */
  readonly onCall: (turn: Turn) => void;
  /** Absent: every turn answers at once. */
  readonly wild?: { readonly seed: string; readonly reach: Reach } | undefined;
}

/** Both rooms, with members whose conduct follows from the seed, the task and the attempt. */
export function chaosRooms(parts: ChaosRunners): readonly RoomDefinition[] {
  const policy = { maxRounds: 2, maxMemberMessages: 5 };
  const definitions = members.map(({ handle, isSafe }): MemberDefinition => ({
    handle,
    runner: runnerOf(isSafe, parts),
  }));
  return roomIds.map((room_id) => ({ room_id, members: definitions, policy }));
}

function runnerOf(isSafe: boolean, { onCall, wild }: ChaosRunners): Runner {
  return {
    kind: "chaos",
    ...(isSafe ? { rerun: "safe" } : {}),
    async run(turn) {
      wild?.reach("turn.called");
      onCall(turn);
      if (wild === undefined) return { status: "completed", text: `${turn.member.handle} is here` };
      const end = await behave(turn, wild);
      wild.reach("turn.end");
      return end;
    },
    close: async () => undefined,
  };
}

async function behave(turn: Turn, { seed, reach }: NonNullable<ChaosRunners["wild"]>): Promise<TurnEnd> {
  const { task_id, execution_generation } = coordinatesOf(turn);
  const dice = new Dice(`${seed} ${task_id} ${execution_generation}`);
  const conduct = dice.pick(conducts);
  if (conduct === "refuses" && execution_generation === 1) return { status: "failed", reason_code: "not_admitted" };
  turn.emit({ type: "message.delta", payload: { text: `${turn.member.handle} says ` } });
  turn.emit({ type: "tool.start", payload: { tool_id: "t1", name: "read" } });
  reach("turn.middle");
  if (conduct === "asks") {
    reach("turn.asked");
    await turn.ask({ method: "approval", params: { tool_name: "write", command: `rm ${task_id}` } });
    reach("turn.answered");
  }
  turn.emit({ type: "tool.complete", payload: { tool_id: "t1", outcome: "ok" } });
  switch (conduct) {
    case "names":
      return { status: "completed", text: `ask @${dice.pick(members).handle}` };
    case "pass":
      return { status: "passed" };
    case "fails":
      return { status: "failed", reason_code: "provider_rate_limit", error: "later" };
    case "throws":
      throw new Error("broken");
    case "hangs":
      return new Promise(() => undefined);
    default:
      return { status: "completed", text: `${turn.member.handle} says so` };
  }
}
